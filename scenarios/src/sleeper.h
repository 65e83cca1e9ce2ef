/* A thread that sleeps from one full period to the next and notes how late it wakes up.
 *
 * Invariant: every period counts once, also those that pass during one late wake-up. So percentiles are over moments at
 * which a packet could have been due, like the lateness that the delay box reports for its packets.
 * Rejected: one value a wake-up, as cyclictest counts: a stop of 40 ms is then one value among thousands. */
#ifndef WITNESS_SLEEPER_H
#define WITNESS_SLEEPER_H

#include <pthread.h>
#include <stdatomic.h>

#include "nc_spread.h"

struct sleeper {
    uint64_t period_ns, priority; /* priority: SCHED_RR, 0 for none; after sleeper_start: what it got */
    pthread_t thread;
    atomic_bool over;
    struct nc_spread late;
};

/* Counts the periods that have passed: `due_ns` is when the first of them was to end. Returns when the next one
 * ends. */
uint64_t sleeper_note(struct nc_spread *late, uint64_t due_ns, uint64_t now_ns, uint64_t period_ns);

/* Starts the thread, at its priority where the system allows that, else without. Returns 0, or an errno if there is no
 * thread. */
int sleeper_start(struct sleeper *sleeper);

/* Ends the thread, within a period. Its figures are complete then. */
void sleeper_stop(struct sleeper *sleeper);

#endif
