/* The gateway's event loop: one thread, one epoll, a callback a descriptor, work lists for what did not finish in its turn.
 * Invariant: an object whose descriptor is in the epoll set is freed only by loop_later_free, at the end of a turn, so that no
 * event of the same batch meets freed memory. The clock is read once or twice a turn and handed down. */
#ifndef LFT_LOOP_H
#define LFT_LOOP_H

#include <stdint.h>

struct loop;

/* One descriptor. The owner keeps it in memory that outlives the turn in which it closes the descriptor. */
struct loop_source {
    int fd; /* -1: not in use */
    void (*ready)(void *owner, uint32_t events);
    void *owner;
};

struct loop *loop_create(void); /* NULL with errno */
void loop_destroy(struct loop *loop);
int loop_add(struct loop *loop, struct loop_source *source, uint32_t events); /* 0, or -1 with errno */
void loop_change(struct loop *loop, struct loop_source *source, uint32_t events);
/* Closes the descriptor. */
void loop_close(struct loop *loop, struct loop_source *source);
/* free(memory) when the turn is over. */
void loop_later_free(struct loop *loop, void *memory);

/* Waits until a descriptor is ready or `until_ns` (CLOCK_MONOTONIC) and runs the callbacks; then frees. Returns how many ran. */
int loop_turn(struct loop *loop, uint64_t now_ns, uint64_t until_ns);
/* The time of this turn. */
uint64_t loop_now_ns(const struct loop *loop);

#endif
