/* Threads that share the parts of one piece of work. They are started once, stay until the process ends, and touch neither
 * Python nor its lock. Between two pieces of work they wait in a loop for some microseconds, so that short commands can be
 * shared, too; then they sleep. */

/* One of ``parts`` parts of some work. */
typedef void (*Task)(void *of, int64_t part, int64_t parts);

#define MOST_MEMBERS 8    /* threads, with the one that asks */
#define MOST_PARTS 32     /* parts of one piece of work */
#define PARTS_OF_MEMBER 3 /* of long work for each thread, so that none waits long for one that the system holds up */
#define LONG_PARTS 32     /* times what is worth a part: so much is long */

/* How many threads there are to be, and how much work is worth a part: products, or what takes as long. */
static struct {
    int members;
    int64_t worth;
} team_size = {1, (int64_t)1 << 18};

#if HAS_TEAM
#define WAITING 4000 /* rounds of a loop before a thread sleeps, about 50 us */

/* ``shares``: of each thread (number of the work, part after its last one, its next one), 32 and twice 16 bits: who takes
 * a part compares all of it, so that no part of a work that is over can be taken. Threads begin with their own share, so
 * that what one of them has written is read by the same one again, and then help the others. */
static struct {
    volatile int64_t shares[MOST_MEMBERS], done, busy, open;
    int64_t parts;
    uint64_t number;
    Task task;
    void *of;
    int started;
    struct {
        PyThread_type_lock lock;
        volatile int64_t sleeps;
    } members[MOST_MEMBERS];
} team;

static int64_t end_in(int64_t share) { return share >> 16 & 0xffff; }
static int64_t next_in(int64_t share) { return share & 0xffff; }

/* Works on parts until all are taken. */
static void work_on_parts(int own)
{
    for (int i = 0; i < MOST_MEMBERS; i++) {
        volatile int64_t *share = &team.shares[(own + i) % MOST_MEMBERS];
        for (int64_t seen = LOADED(share); next_in(seen) < end_in(seen); seen = LOADED(share))
            if (replaced(share, seen, seen + 1)) {
                team.task(team.of, next_in(seen), team.parts);
                ADDED_TO(&team.done, 1);
            }
    }
}

static int has_work(int own)
{
    for (int i = 0; i < MOST_MEMBERS; i++) {
        const int64_t seen = LOADED(&team.shares[(own + i) % MOST_MEMBERS]);
        if (next_in(seen) < end_in(seen))
            return 1;
    }
    return 0;
}

static void be_member(void *number)
{
    const int own = (int)(intptr_t)number;
    for (;;) {
        work_on_parts(own + 1);
        for (int round = 0; round < WAITING && LOADED(&team.open) && !has_work(own + 1); round++)
            PAUSE();
        if (has_work(own + 1))
            continue;
        STORED(&team.members[own].sleeps, 1);
        if (has_work(own + 1) && EXCHANGED(&team.members[own].sleeps, 0))
            continue;
        PyThread_acquire_lock(team.members[own].lock, WAIT_LOCK); /* until it is woken */
    }
}

/* Starts the threads that are not there yet; who holds the lock of the interpreter. */
static void start_members(void)
{
    while (team.started + 1 < team_size.members && team.started + 1 < MOST_MEMBERS) {
        const int own = team.started;
        if (!team.members[own].lock)
            team.members[own].lock = PyThread_allocate_lock();
        if (!team.members[own].lock)
            return;
        PyThread_acquire_lock(team.members[own].lock, WAIT_LOCK);
        team.members[own].sleeps = 0;
        if (PyThread_start_new_thread(be_member, (void *)(intptr_t)own) == (unsigned long)-1) {
            PyThread_release_lock(team.members[own].lock);
            return;
        }
        team.started++;
    }
}
#endif

/* Whether the caller has the threads until ``leave_team``; they wait for its work. Another one works alone meanwhile. */
static int join_team(void)
{
#if HAS_TEAM
    if (team_size.members < 2 || EXCHANGED(&team.busy, 1))
        return 0;
    start_members();
    STORED(&team.open, 1);
    return 1;
#else
    return 0;
#endif
}

static void leave_team(int joined)
{
#if HAS_TEAM
    if (joined) {
        STORED(&team.open, 0);
        STORED(&team.busy, 0);
    }
#else
    (void)joined;
#endif
}

/* A copy of this process has none of its threads. */
static void forget_team(void)
{
#if HAS_TEAM
    memset(&team, 0, sizeof team); /* locks that a thread may have held are not used again */
#endif
}

/* Parts that work of this ``amount`` is cut into, at most ``most``. */
static int64_t parts_of(int joined, int64_t amount, int64_t most)
{
    int64_t parts = joined ? amount / team_size.worth : 1;
    const int64_t wanted = team_size.members * (parts >= LONG_PARTS * team_size.members ? PARTS_OF_MEMBER : 1);
    parts = parts < most ? parts : most;
    parts = parts < wanted ? parts : wanted;
    return parts < 1 ? 1 : parts < MOST_PARTS ? parts : MOST_PARTS;
}

/* Threads that share the work of a caller. */
static int64_t threads_of(int joined)
{
#if HAS_TEAM
    return joined ? team.started + 1 : 1;
#else
    (void)joined;
    return 1;
#endif
}

/* All parts of some work, whose order does not matter; those who ``joined`` the team share it. */
static void together(int joined, int64_t parts, Task task, void *of)
{
#if HAS_TEAM
    if (joined && parts > 1 && team.started) {
        const int64_t members = team.started + 1 < parts ? team.started + 1 : parts;
        team.number++;
        team.task = task;
        team.of = of;
        team.parts = parts;
        STORED(&team.done, 0);
        for (int64_t i = members - 1; i >= 0; i--) {
            const uint64_t first = (uint64_t)(parts * i / members), end = (uint64_t)(parts * (i + 1) / members);
            STORED(&team.shares[i], (int64_t)(team.number << 32 | end << 16 | first));
        }
        for (int i = 0; i < members - 1; i++)
            if (LOADED(&team.members[i].sleeps) && EXCHANGED(&team.members[i].sleeps, 0))
                PyThread_release_lock(team.members[i].lock);
        work_on_parts(0);
        for (int round = 0; LOADED(&team.done) < parts; round++)
            if (round < WAITING)
                PAUSE();
            else
                GIVE_WAY();
        return;
    }
#endif
    (void)joined;
    for (int64_t part = 0; part < parts; part++)
        task(of, part, parts);
}
