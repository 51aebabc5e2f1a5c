/* Faults of the recorder's own making, and everybody else's: what the program does about SIGSEGV stays in force. */
#include "recorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static struct sigaction theirs;
static bool ours;
static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);
static int (*real_sigmask)(int, const sigset_t *, sigset_t *);

static void find_real(void) {
    void *found = loaded_symbol(RTLD_NEXT, "sigaction");
    memcpy(&real_sigaction, &found, sizeof found);
    found = loaded_symbol(RTLD_NEXT, "pthread_sigmask");
    memcpy(&real_sigmask, &found, sizeof found);
}

/* As the kernel would have it without us. */
static void pass_on(int number, siginfo_t *info, void *context) {
    struct sigaction action = theirs;
    if (action.sa_flags & SA_RESETHAND)
        theirs = (struct sigaction){.sa_handler = SIG_DFL};
    bool sent = info->si_code <= 0;
    if (!(action.sa_flags & SA_SIGINFO) && (action.sa_handler == SIG_DFL || (action.sa_handler == SIG_IGN && !sent))) {
        struct sigaction plain = {.sa_handler = SIG_DFL};
        real_sigaction(number, &plain, NULL); /* the instruction is tried again, and ends the process */
        if (sent)
            raise(number);
        return;
    }
    if (!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN)
        return;
    sigset_t before, blocked = action.sa_mask;
    if (!(action.sa_flags & SA_NODEFER))
        sigaddset(&blocked, number);
    const sigset_t *interrupted = &((ucontext_t *)context)->uc_sigmask;
    for (int k = 1; k < 65; k++)
        if (sigismember(interrupted, k) == 1)
            sigaddset(&blocked, k);
    real_sigmask(SIG_SETMASK, &blocked, &before);
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(number, info, context);
    else
        action.sa_handler(number);
    real_sigmask(SIG_SETMASK, &before, NULL);
}

static void handler(int number, siginfo_t *info, void *context) {
    int error = errno;
    bool is_write = ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2;
    if (info->si_code <= 0 || locked_here() || !first_touch(info->si_addr, is_write))
        pass_on(number, info, context);
    errno = error;
}

void faults_init(void) {
    find_real();
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    ours = !real_sigaction(SIGSEGV, &action, &theirs);
}

INTERPOSED int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict before) {
    if (!real_sigaction)
        find_real();
    if (number != SIGSEGV || !ours)
        return real_sigaction(number, action, before);
    struct sigaction now = theirs;
    if (action)
        theirs = *action;
    if (before)
        *before = now;
    return 0;
}

INTERPOSED sighandler_t signal(int number, sighandler_t function) {
    struct sigaction action = {.sa_handler = function, .sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    if (number == SIGSEGV && ours) {
        sigaction(number, &action, &before);
        return before.sa_handler;
    }
    if (!real_sigaction)
        find_real();
    return real_sigaction(number, &action, &before) ? SIG_ERR : before.sa_handler;
}

static bool may_record(void) {
    static int may;
    if (!may)
        may = getenv("TDB_DAP_RECORDING") ? 1 : -1;
    return may > 0;
}

/* A thread that blocks SIGSEGV would be ended by the first touch of a closed block: from the start, none does. */
INTERPOSED int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict before) {
    if (!real_sigmask)
        find_real();
    if (set && how != SIG_UNBLOCK && sigismember(set, SIGSEGV) == 1 && may_record()) {
        sigset_t open = *set;
        sigdelset(&open, SIGSEGV);
        return real_sigmask(how, &open, before);
    }
    return real_sigmask(how, set, before);
}

INTERPOSED int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict before) {
    int error = pthread_sigmask(how, set, before);
    if (error)
        errno = error;
    return error ? -1 : 0;
}
