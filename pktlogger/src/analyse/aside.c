/* Implements aside.h. */
#include "aside.h"

#include <stdlib.h>

static int work_on(const struct pl_told *told)
{
    switch (told->kind) {
    case PL_TELL_LIMITS_SEND:
        return pl_limits_send(told->of.limits, &told->what.limits_send.gap, &told->what.limits_send.sent);
    case PL_TELL_LIMITS_END:
        pl_limits_end(told->of.limits, &told->what.limits_send.gap);
        return 0;
    case PL_TELL_RATES_SEND:
        return pl_rates_send(told->of.rates, &told->what.rates_send);
    case PL_TELL_RATES_ARRIVAL:
        return pl_rates_arrival(told->of.rates, told->what.arrival.t_ns, told->what.arrival.bytes);
    case PL_TELL_RATES_ACK:
        return pl_rates_ack(told->of.rates, told->what.rates_ack.t_ns, told->what.rates_ack.bytes,
                            told->what.rates_ack.window, told->what.rates_ack.rtt_ns);
    default:
        told->what.release(told->of.ended);
        return 0;
    }
}

static void work_on_all(struct pl_aside *aside, struct pl_aside_block *block)
{
    for (size_t i = 0; i < block->n; i++)
        if (work_on(&block->told[i]) < 0)
            aside->failed = true;
    block->n = 0;
}

static void *run_thread(void *context)
{
    struct pl_aside *aside = context;
    pthread_mutex_lock(&aside->lock);
    for (;;) {
        aside->thread_waits = aside->taken == aside->filled && !aside->ending;
        while (aside->thread_waits)
            pthread_cond_wait(&aside->more, &aside->lock);
        if (aside->taken == aside->filled)
            break;
        pthread_mutex_unlock(&aside->lock);
        work_on_all(aside, &aside->blocks[aside->taken % PL_ASIDE_BLOCKS]);
        pthread_mutex_lock(&aside->lock);
        aside->taken++;
        if (aside->walk_waits && aside->filled - aside->taken <= PL_ASIDE_BLOCKS / 2) {
            aside->walk_waits = false;
            pthread_cond_signal(&aside->room);
        }
    }
    pthread_mutex_unlock(&aside->lock);
    return NULL;
}

int pl_aside_open(struct pl_aside *aside)
{
    *aside = (struct pl_aside){.blocks = calloc(PL_ASIDE_BLOCKS, sizeof *aside->blocks)};
    pthread_mutex_init(&aside->lock, NULL);
    pthread_cond_init(&aside->room, NULL);
    pthread_cond_init(&aside->more, NULL);
    aside->block = aside->blocks;
    aside->running = aside->blocks && pthread_create(&aside->thread, NULL, run_thread, aside) == 0;
    return aside->blocks ? 0 : -1;
}

/* Hands the block to the thread. The lock is held. */
static void hand_over(struct pl_aside *aside)
{
    aside->filled++;
    if (aside->thread_waits && (aside->ending || aside->filled - aside->taken >= PL_ASIDE_BLOCKS / 2)) {
        aside->thread_waits = false;
        pthread_cond_signal(&aside->more);
    }
}

int pl_aside_turn(struct pl_aside *aside)
{
    if (!aside->running) {
        work_on_all(aside, aside->block);
        return aside->failed ? -1 : 0;
    }
    pthread_mutex_lock(&aside->lock);
    hand_over(aside);
    aside->walk_waits = aside->filled - aside->taken == PL_ASIDE_BLOCKS;
    while (aside->walk_waits)
        pthread_cond_wait(&aside->room, &aside->lock);
    pthread_mutex_unlock(&aside->lock);
    aside->block = &aside->blocks[aside->filled % PL_ASIDE_BLOCKS];
    return 0;
}

int pl_aside_close(struct pl_aside *aside)
{
    if (aside->running) {
        pthread_mutex_lock(&aside->lock);
        aside->ending = true;
        hand_over(aside);
        pthread_mutex_unlock(&aside->lock);
        pthread_join(aside->thread, NULL);
    }
    pthread_mutex_destroy(&aside->lock);
    pthread_cond_destroy(&aside->room);
    pthread_cond_destroy(&aside->more);
    free(aside->blocks);
    return aside->failed ? -1 : 0;
}
