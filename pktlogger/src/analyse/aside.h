/* What the walk tells limits and rates, which answer nothing: a thread of its own works on it, so that the two take
 * less time than one behind the other. Where no thread can be had, it is worked on at once.
 * Invariant: all is told in the order in which the walk said it, so that tables have the same rows with and without the
 * thread; a block is the walk's until it is counted in `filled`, and then the thread's until it is in `taken`. */
#ifndef PL_ASIDE_H
#define PL_ASIDE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "limits.h"
#include "rates.h"

enum pl_tell {
    PL_TELL_LIMITS_SEND,
    PL_TELL_LIMITS_ACK,
    PL_TELL_RATES_SEND,
    PL_TELL_RATES_ARRIVAL,
    PL_TELL_RATES_ACK,
    PL_TELL_END, /* nothing more comes from who said it */
};

struct pl_told {
    enum pl_tell kind;
    union {
        struct pl_limits *limits;
        struct pl_rates *rates;
        void *ended;
    } of;
    union {
        struct pl_limits_send limits_send;
        struct pl_limits_ack limits_ack;
        struct pl_rates_send rates_send;
        struct {
            int64_t t_ns;
            uint32_t bytes;
        } arrival;
        struct {
            int64_t t_ns, rtt_ns;
            uint64_t bytes;
            uint32_t window;
        } rates_ack;
        void (*release)(void *ended);
    } what;
};

enum { PL_ASIDE_BLOCKS = 8, PL_ASIDE_TOLD = 256 };

struct pl_aside_block {
    struct pl_told told[PL_ASIDE_TOLD];
    size_t n;
};

struct pl_aside {
    struct pl_aside_block *blocks; /* PL_ASIDE_BLOCKS */
    struct pl_aside_block *block;  /* the walk's */
    bool running;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t room,
        more; /* what the walk waits for, and the thread, until half of the blocks are free, or filled */
    bool walk_waits, thread_waits, ending;
    bool failed; /* without memory; the thread's while it runs, and read at the end */
    uint64_t filled, taken;
};

/* Returns 0, or -1 without memory. pl_aside_close is allowed after either. */
int pl_aside_open(struct pl_aside *aside);

/* What is told next: to be filled in, and then told. */
static inline struct pl_told *pl_aside_next(struct pl_aside *aside, enum pl_tell kind)
{
    struct pl_told *told = &aside->block->told[aside->block->n];
    told->kind = kind;
    return told;
}

/* Returns 0, or -1 without memory. */
int pl_aside_turn(struct pl_aside *aside);
static inline int pl_aside_tell(struct pl_aside *aside)
{
    return ++aside->block->n == PL_ASIDE_TOLD || !aside->running ? pl_aside_turn(aside) : 0;
}

/* Waits until all is worked on. Returns 0, or -1 where memory was short. */
int pl_aside_close(struct pl_aside *aside);

#endif
