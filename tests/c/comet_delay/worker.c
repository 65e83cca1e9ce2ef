/* A worker is delayed between reading the clock and reading or writing packets. Even then, a packet must never spend
 * less time in the box than its delay, and the delay of a departure must be included in the packet's lateness. */
#include "worker.h"

#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "nc_clock.h"
#include "packets.h"
#include "port_kind.h"
#include "ready.h"

#define DELAY_NS (60 * NC_NS_PER_MS)
#define HELD_UP_NS (20 * NC_NS_PER_MS)
enum { PACKETS = 2, PAYLOAD = 1000 };

/* What the two ends of the path saw. It is global, so that the ports can find it by name (see port_of). */
static struct ends {
    struct port ports[PORTS];
    uint64_t came_ns[PACKETS], left_ns[PACKETS]; /* when the packet became readable, and when it was written */
    int came, left;
    bool slow_read, slow_write;
} ends;

static void hold_up(void)
{
    struct timespec time = {0, (long)HELD_UP_NS};
    nanosleep(&time, NULL);
}

/* The worker's first read takes long, and the packets arrive at its end. */
static ssize_t read_packet(const struct port *port, void *buf, size_t size)
{
    uint64_t ready;
    (void)size;
    if (port != &ends.ports[0] || ends.came == PACKETS || (!ends.came && read(port->fd, &ready, sizeof ready) < 0))
        return 0;
    if (ends.slow_read && !ends.came)
        hold_up();
    ends.came_ns[ends.came++] = nc_now_ns();
    return make_tcp4(buf, 0, PAYLOAD, 0);
}

/* The worker's first write takes long. */
static bool write_packet(const struct port *port, const struct nc_run *run, bool defer)
{
    (void)run, (void)defer;
    CHECK(port == &ends.ports[1] && ends.left < PACKETS);
    ends.left_ns[ends.left++] = nc_now_ns();
    if (ends.slow_write && ends.left == 1)
        hold_up();
    return true;
}

static const struct port_kind held_up = {.prefix = "held-up:", .read = read_packet, .write = write_packet};

/* Sends both packets through a worker. Returns the lateness of the later one, as the direction counted it. */
static uint64_t through(void)
{
    struct direction directions[PORTS];
    struct worker *worker = calloc(1, sizeof *worker);
    CHECK(worker);
    for (unsigned i = 0; i < PORTS; i++) {
        ends.ports[i] = (struct port){.kind = &held_up, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
        direction_ready(&directions[i], (struct params){.delay_ns = DELAY_NS}, 0);
    }
    const struct worker_settings settings = {.poll_ns = 50 * NC_NS_PER_US, .spin_ns = 20 * NC_NS_PER_US};
    CHECK_EQ(worker_init(worker, &settings, ends.ports, directions, 0, PORTS), 0);
    worker_calibrate(worker);
    CHECK_EQ(worker_start(worker), 0);
    uint64_t one = 1;
    CHECK_EQ(write(ends.ports[0].fd, &one, sizeof one), sizeof one);
    for (int i = 0; i < 1000 && ends.left < PACKETS; i++)
        nanosleep(&(struct timespec){0, 10 * (long)NC_NS_PER_MS}, NULL);
    worker_stop(worker);
    CHECK_EQ(ends.left, PACKETS);
    uint64_t late_ns = directions[0].stats.lateness.max;
    for (unsigned i = 0; i < PORTS; i++) {
        direction_free(&directions[i]);
        close(ends.ports[i].fd);
    }
    worker_free(worker);
    free(worker);
    return late_ns;
}

/* An arrival is dated back by READING_NS of worker.c, 100 µs. A wake-up is dated back by the latency that the worker
 * has estimated, at most 200 µs. */
static void no_packet_leaves_before_its_delay_is_over(void)
{
    ends = (struct ends){.slow_read = true};
    through();
    for (int i = 0; i < PACKETS; i++)
        CHECK(ends.left_ns[i] - ends.came_ns[i] >= DELAY_NS - 300 * NC_NS_PER_US);
}

static void a_departure_that_was_held_up_is_late(void)
{
    ends = (struct ends){.slow_write = true};
    CHECK(through() >= HELD_UP_NS - NC_NS_PER_MS);
}

int main(void)
{
    RUN(no_packet_leaves_before_its_delay_is_over);
    RUN(a_departure_that_was_held_up_is_late);
    return 0;
}
