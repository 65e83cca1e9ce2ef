/* Implements handing.h. */
#include "handing.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ring.h"

struct pl_handing {
    struct pl_point *points;
    struct pl_ring *ring; /* NULL: the capturing thread writes */
    int wake_fd;          /* eventfd: the ring has new entries, or there are no more */
    pthread_t writer;
    bool writer_runs;
    atomic_bool ended;      /* set by the capturing thread after its last entry */
    atomic_int write_error; /* set by the thread that writes */
};

static void write_entry(struct pl_handing *h, const struct pl_entry *entry, const void *data)
{
    struct pl_output *output = &h->points[entry->point].output;
    if (entry->kind == PL_ENTRY_ROTATION)
        pl_output_rotate(output, entry->t_ns, data);
    else if (entry->kind == PL_ENTRY_COMMENT)
        pl_output_comment(output, entry->t_ns, data);
    else
        pl_output_packet(output, entry->t_ns, data, entry->captured, entry->wire);
    if (output->writer.error)
        atomic_store(&h->write_error, output->writer.error);
}

static void *writer_main(void *argument)
{
    struct pl_handing *h = argument;
    for (bool last = false; !last;) {
        uint64_t ignored;
        size_t len;
        if (read(h->wake_fd, &ignored, sizeof ignored) < 0 && errno != EINTR)
            break;
        last = atomic_load(&h->ended); /* read before the ring is emptied: if it is true, the ring already holds the
                                        * last entry */
        for (const struct pl_entry *entry; (entry = pl_ring_peek(h->ring, &len)); pl_ring_release(h->ring))
            write_entry(h, entry, entry + 1);
    }
    return NULL;
}

static bool begin_writer(struct pl_handing *h, uint64_t ring_bytes, struct nc_error *error)
{
    uint64_t capacity = 1 << 20;
    while (capacity < ring_bytes)
        capacity *= 2;
    h->wake_fd = eventfd(0, EFD_CLOEXEC);
    h->ring = pl_ring_create(capacity);
    if (h->ring && h->wake_fd >= 0)
        h->writer_runs = pthread_create(&h->writer, NULL, writer_main, h) == 0;
    if (!h->writer_runs)
        nc_fail(error, NC_EXIT_MISSING, "cannot set up the ring of %llu bytes: %s; see --ring",
                (unsigned long long)capacity, strerror(errno));
    return h->writer_runs;
}

struct pl_handing *pl_handing_new(struct pl_point *points, uint64_t ring_bytes, struct nc_error *error)
{
    struct pl_handing *h = calloc(1, sizeof *h);
    if (!h) {
        nc_fail(error, NC_EXIT_MISSING, "out of memory");
        return NULL;
    }
    h->points = points;
    h->wake_fd = -1;
    if (ring_bytes == 0 || begin_writer(h, ring_bytes, error))
        return h;
    pl_handing_free(h);
    return NULL;
}

bool pl_handing_take(struct pl_handing *h, const struct pl_entry *entry, const void *data, size_t len)
{
    if (!h->ring) {
        write_entry(h, entry, data);
        return true;
    }
    struct pl_entry *place = pl_ring_reserve(h->ring, sizeof *place + len);
    if (!place)
        return false;
    *place = *entry;
    memcpy(place + 1, data, len);
    pl_ring_commit(h->ring, sizeof *place + len);
    return true;
}

void pl_handing_wake(struct pl_handing *h)
{
    uint64_t one = 1;
    if (h->writer_runs && write(h->wake_fd, &one, sizeof one) < 0)
        return; /* the counter is at its limit, so the writer is awake anyway */
}

int pl_handing_error(const struct pl_handing *h)
{
    return atomic_load(&h->write_error);
}

void pl_handing_end(struct pl_handing *h)
{
    if (!h->writer_runs)
        return;
    atomic_store(&h->ended, true);
    pl_handing_wake(h);
    pthread_join(h->writer, NULL);
    h->writer_runs = false;
}

void pl_handing_free(struct pl_handing *h)
{
    if (!h)
        return;
    pl_handing_end(h);
    if (h->ring)
        pl_ring_destroy(h->ring);
    if (h->wake_fd >= 0)
        close(h->wake_fd);
    free(h);
}
