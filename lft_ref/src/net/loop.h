/* The gateway's event loop: one thread, one epoll set, one callback per descriptor. The clock is read once or twice per
 * turn and passed on. Invariant: the owner of a descriptor in the epoll set is freed by loop_later_… only, at the end
 * of a turn, so that no event of the same batch refers to freed memory. */
#ifndef LFT_LOOP_H
#define LFT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;

/* One descriptor. Its memory must outlive the turn in which the owner closes it. */
struct loop_source {
    int fd; /* -1: not in use */
    void (*ready)(void *owner, uint32_t events);
    void *owner;
    struct loop_source *next_at_rest; /* the loop's */
};

struct loop *loop_create(void); /* NULL with errno */
void loop_destroy(struct loop *loop);
int loop_add(struct loop *loop, struct loop_source *source, uint32_t events); /* 0, or -1 with errno */
void loop_change(struct loop *loop, struct loop_source *source, uint32_t events);
/* Closes the descriptor. */
void loop_close(struct loop *loop, struct loop_source *source);
/* Call it with the error of accept(). When no descriptor or no memory was left, the listener stays readable, and a loop
 * that tried again at once would never sleep. So the listener is ignored until loop_close has closed a descriptor, for
 * 100 ms at most; meanwhile the clients wait in the kernel's queue. Returns whether it is ignored.
 * Rejected: a spare descriptor to accept and close with; it turns clients away that could be served a moment later. */
bool loop_rest(struct loop *loop, struct loop_source *listener, int error);
/* Calls free(memory) or nc_slots_give(object) at the end of the turn. */
void loop_later_free(struct loop *loop, void *memory);
void loop_later_give(struct loop *loop, void *object);
void loop_bury(struct loop *loop); /* makes the deferred calls now; must not be called inside a turn */

/* Waits until a descriptor is ready or until `until_ns` (CLOCK_MONOTONIC), runs the callbacks, then frees. Returns the
 * number of callbacks. */
int loop_turn(struct loop *loop, uint64_t now_ns, uint64_t until_ns);
/* The time of this turn. */
uint64_t loop_now_ns(const struct loop *loop);

#endif
