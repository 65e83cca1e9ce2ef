#include "schedule.h"

#include <assert.h>
#include <stdlib.h>

#include "nc_log.h"

enum { RING_FIRST = 8192, HEAP_FIRST = 256 };

/* A run out of order, in the heap. Runs that are due at the same time leave in the order in which they were added. */
struct late_due {
    struct due due;
    uint64_t order;
};

void schedule_init(struct schedule *s)
{
    *s = (struct schedule){.ring = malloc(RING_FIRST * sizeof *s->ring), .mask = RING_FIRST - 1};
    if (!s->ring)
        nc_die(NC_EXIT_MISSING, "out of memory for the schedule");
}

void schedule_free(struct schedule *s)
{
    free(s->ring);
    free(s->heap);
    s->ring = NULL;
    s->heap = NULL;
}

static bool grow_ring(struct schedule *s)
{
    uint64_t size = (s->mask + 1) * 2;
    struct due *ring = malloc(size * sizeof *ring);
    if (!ring)
        return false;
    for (uint64_t i = s->tail; i != s->head; i++)
        ring[i & (size - 1)] = s->ring[i & s->mask];
    free(s->ring);
    s->ring = ring;
    s->mask = size - 1;
    return true;
}

static bool before(const struct late_due *a, const struct late_due *b)
{
    return a->due.time_ns != b->due.time_ns ? a->due.time_ns < b->due.time_ns : a->order < b->order;
}

static bool heap_push(struct schedule *s, const struct due *due)
{
    if (s->heap_n == s->heap_size) {
        uint64_t size = s->heap_size ? s->heap_size * 2 : HEAP_FIRST;
        struct late_due *heap = realloc(s->heap, size * sizeof *heap);
        if (!heap)
            return false;
        s->heap = heap;
        s->heap_size = size;
    }
    struct late_due item = {*due, s->heap_pushes++};
    uint64_t at = s->heap_n++;
    for (uint64_t up; at > 0 && before(&item, &s->heap[up = (at - 1) / 2]); at = up)
        s->heap[at] = s->heap[up];
    s->heap[at] = item;
    return true;
}

static void heap_pop(struct schedule *s)
{
    struct late_due item = s->heap[--s->heap_n];
    uint64_t at = 0;
    for (;;) {
        uint64_t down = 2 * at + 1;
        if (down >= s->heap_n)
            break;
        if (down + 1 < s->heap_n && before(&s->heap[down + 1], &s->heap[down]))
            down++;
        if (!before(&s->heap[down], &item))
            break;
        s->heap[at] = s->heap[down];
        at = down;
    }
    s->heap[at] = item;
}

/* Whether the packet is the next part of the last run and near enough in time. */
static bool extends(const struct schedule *s, const struct wire_packet *packet, uint64_t granularity_ns)
{
    if (s->head == s->tail || packet->edits)
        return false;
    const struct due *last = &s->ring[(s->head - 1) & s->mask];
    return last->buffer == packet->buffer && last->first + last->parts == packet->part && !last->edits &&
           packet->time_ns >= last->time_ns && packet->time_ns - s->run_start_ns <= granularity_ns;
}

bool schedule_add(struct schedule *s, const struct wire_packet *packet, uint64_t granularity_ns)
{
    struct due *last = &s->ring[(s->head - 1) & s->mask];
    if (extends(s, packet, granularity_ns)) {
        last->parts++;
        last->time_ns = packet->time_ns;
        return true;
    }
    struct due due = {packet->time_ns, packet->number, packet->buffer, packet->part, 1, packet->edits};
    if (s->head != s->tail && packet->time_ns < last->time_ns)
        return heap_push(s, &due);
    if (s->head - s->tail > s->mask && !grow_ring(s))
        return false;
    s->ring[s->head++ & s->mask] = due;
    s->run_start_ns = packet->time_ns;
    return true;
}

static bool heap_is_first(const struct schedule *s)
{
    return s->heap_n && (s->head == s->tail || s->heap[0].due.time_ns < s->ring[s->tail & s->mask].time_ns);
}

struct due *schedule_first(struct schedule *s)
{
    if (heap_is_first(s))
        return &s->heap[0].due;
    return s->head == s->tail ? NULL : &s->ring[s->tail & s->mask];
}

void schedule_pop(struct schedule *s)
{
    if (heap_is_first(s))
        heap_pop(s);
    else {
        assert(s->head != s->tail);
        s->tail++;
    }
}
