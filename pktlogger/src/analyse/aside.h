/* Moves the work of limits and rates, which return nothing to the walk (walk.h), to a thread of its own, by a queue of
 * messages. If no thread can be started, each message is handled at once.
 * Invariant: messages are handled in the order of the walk, so tables have the same rows with and without the thread. A
 * block belongs to the walk until `filled` counts it, and then to the thread until `taken` counts it. */
#ifndef PL_ASIDE_H
#define PL_ASIDE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "limits.h"
#include "rates.h"

enum pl_tell {
    PL_TELL_LIMITS_SEND,
    PL_TELL_LIMITS_END,
    PL_TELL_RATES_SEND,
    PL_TELL_RATES_ARRIVAL,
    PL_TELL_RATES_ACK,
    PL_TELL_END, /* the object that sent messages has ended: calls `release` */
};

struct pl_told {
    enum pl_tell kind;
    union {
        struct pl_limits *limits;
        struct pl_rates *rates;
        void *ended;
    } of;
    union {
        struct {
            struct pl_gap gap;
            struct pl_sent sent;
        } limits_send; /* PL_TELL_LIMITS_END: `gap` alone */
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
        more; /* the walk waits for `room` until half of the blocks are free, the thread for `more` until half are
                 filled */
    bool walk_waits, thread_waits, ending;
    bool failed; /* out of memory; belongs to the thread while it runs, and is read at the end */
    uint64_t filled, taken;
};

/* Returns 0, or -1 without memory. pl_aside_close is allowed after either. */
int pl_aside_open(struct pl_aside *aside);

/* The next message, which the caller fills in and then passes on by pl_aside_tell. */
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

/* Waits until all messages are handled. Returns 0, or -1 where memory was short. */
int pl_aside_close(struct pl_aside *aside);

#endif
