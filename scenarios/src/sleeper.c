#include "sleeper.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <time.h>

#include "nc_clock.h"

uint64_t sleeper_note(struct nc_spread *late, uint64_t due_ns, uint64_t now_ns, uint64_t period_ns)
{
    for (; due_ns <= now_ns; due_ns += period_ns)
        nc_spread_add(late, now_ns - due_ns);
    return due_ns;
}

static void *sleep_and_note(void *argument)
{
    struct sleeper *sleeper = argument;
    prctl(PR_SET_TIMERSLACK, 1); /* timers of this thread; the default is 50 us without real-time priority */
    uint64_t due_ns = nc_now_ns() + sleeper->period_ns;
    while (!atomic_load_explicit(&sleeper->over, memory_order_relaxed)) {
        const struct timespec until = {(time_t)(due_ns / NC_NS_PER_S), (long)(due_ns % NC_NS_PER_S)};
        if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0)
            due_ns = sleeper_note(&sleeper->late, due_ns, nc_now_ns(), sleeper->period_ns);
    }
    return NULL;
}

static int create(struct sleeper *sleeper, const pthread_attr_t *attributes)
{
    return pthread_create(&sleeper->thread, attributes, sleep_and_note, sleeper);
}

int sleeper_start(struct sleeper *sleeper)
{
    if (!sleeper->priority)
        return create(sleeper, NULL);
    const struct sched_param priority = {.sched_priority = (int)sleeper->priority};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_RR);
    pthread_attr_setschedparam(&attributes, &priority);
    int failed = create(sleeper, &attributes);
    pthread_attr_destroy(&attributes);
    if (failed != EPERM)
        return failed;
    sleeper->priority = 0;
    return create(sleeper, NULL);
}

void sleeper_stop(struct sleeper *sleeper)
{
    atomic_store(&sleeper->over, true);
    pthread_join(sleeper->thread, NULL);
}
