/* What threads of the kernel tell each other, for the compilers that it is built with; HAS_TEAM: whether there are any. */

#if defined(__GNUC__) && UINTPTR_MAX > UINT32_MAX
#define HAS_TEAM 1
#define LOADED(at) __atomic_load_n(at, __ATOMIC_SEQ_CST)
#define STORED(at, number) __atomic_store_n(at, number, __ATOMIC_SEQ_CST)
#define ADDED_TO(at, number) __atomic_fetch_add(at, number, __ATOMIC_SEQ_CST)
#define EXCHANGED(at, number) __atomic_exchange_n(at, number, __ATOMIC_SEQ_CST)

static inline int replaced(volatile int64_t *at, int64_t before, int64_t after)
{
    return __atomic_compare_exchange_n(at, &before, after, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
#elif defined(_MSC_VER) && defined(_WIN64)
#include <intrin.h>
#define HAS_TEAM 1
#define LOADED(at) _InterlockedOr64(at, 0)
#define STORED(at, number) ((void)_InterlockedExchange64(at, number))
#define ADDED_TO(at, number) _InterlockedExchangeAdd64(at, number)
#define EXCHANGED(at, number) _InterlockedExchange64(at, number)
#define replaced(at, before, after) (_InterlockedCompareExchange64(at, after, before) == (before))
#else
#define HAS_TEAM 0
#define STORED(at, number) ((void)(*(at) = (number)))
#endif

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#define PAUSE() __builtin_ia32_pause()
#elif defined(__GNUC__) && defined(__aarch64__)
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE() ((void)0)
#endif

#if defined(_WIN32)
__declspec(dllimport) int __stdcall SwitchToThread(void);
#define GIVE_WAY() ((void)SwitchToThread())
#else
#include <sched.h>
#define GIVE_WAY() ((void)sched_yield())
#endif
