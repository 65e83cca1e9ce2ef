/* Implements pusher.h. The clock is read once per batch and passed down. */
#include "pusher.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "nc_clock.h"
#include "nc_range.h"

enum { ENDS = 3, END_GAP_MS = 100, SIGNAL_EVERY = 256 };
#define WAIT_MAX_NS (100 * NC_NS_PER_MS)

/* A session of sending, with its start time on both clocks. */
struct run {
    struct pl_pusher *pusher;
    struct nc_clock_pair start;
    int signal_fd;
    unsigned rounds;
};

/* Waits at most `ns` for a signal. */
static bool signalled(const struct run *run, uint64_t ns)
{
    struct pollfd fd = {.fd = run->signal_fd, .events = POLLIN};
    struct timespec wait = {(time_t)(ns / NC_NS_PER_S), (long)(ns % NC_NS_PER_S)};
    return ppoll(&fd, 1, &wait, NULL) > 0;
}

/* Waits until a due time. Returns false if a signal came first. */
static bool wait_for(const struct run *run, uint64_t due_ns)
{
    uint64_t spin_ns = run->pusher->spin_ns;
    for (uint64_t now; (now = nc_now_ns()) < due_ns;) {
        uint64_t left = due_ns - now;
        if (left > spin_ns && signalled(run, nc_min(left - spin_ns, WAIT_MAX_NS)))
            return false;
    }
    return true;
}

static struct pl_departure next_departure(struct pl_pusher *pusher, uint64_t due_ns, uint64_t sent_ns)
{
    uint64_t number = pusher->schedule.number;
    uint16_t flow = (uint16_t)(number % pusher->port->flows);
    struct pl_departure departure = {.number = number, .due_ns = due_ns, .sent_ns = sent_ns, .flow = flow};
    if (pusher->replayed) {
        departure.size = pusher->replayed->at[number].wire;
    } else {
        departure.size = pl_sizes_next(&pusher->sizes);
        departure.sequence = pusher->sequences[flow]++;
    }
    return departure;
}

/* Sends the packets that are due at `now`, at most a batch. */
static int send_due(const struct run *run, uint64_t now, struct nc_error *error)
{
    struct pl_pusher *pusher = run->pusher;
    struct pl_departure batch[PL_BATCH_MAX];
    size_t n = 0;
    uint64_t start = run->start.monotonic_ns, realtime = run->start.realtime_ns - start;
    for (uint64_t due_ns; n < pusher->port->batch_max && (due_ns = pl_schedule_due(&pusher->schedule)) != PL_NEVER;
         n++) {
        if (start + due_ns > now + pusher->lead_ns)
            break;
        uint64_t leaves = pusher->lead_ns ? start + due_ns : now;
        batch[n] = next_departure(pusher, start + due_ns, leaves + realtime);
        pusher->bytes += batch[n].size;
        pl_punctuality_add(&pusher->punctuality, start + due_ns, leaves);
        pl_schedule_advance(&pusher->schedule);
    }
    return pusher->port->ops->send(pusher->port, batch, n, error);
}

/* For a schedule without times: sends a batch at `now`, of as many packets as the machine can send. */
static int send_most(const struct run *run, uint64_t now, struct nc_error *error)
{
    struct pl_pusher *pusher = run->pusher;
    struct pl_departure batch[PL_BATCH_MAX];
    struct pl_schedule *schedule = &pusher->schedule;
    uint64_t sent_ns = now + run->start.realtime_ns - run->start.monotonic_ns;
    uint64_t left = schedule->packets ? schedule->packets - schedule->number : UINT64_MAX;
    bool flood = pusher->port->flood_max && pusher->port->flows == 1 && pusher->sizes.n == 1;
    size_t n = nc_min(left, flood ? pusher->port->flood_max : pusher->port->batch_max);
    pl_punctuality_add_untimed(&pusher->punctuality, now, n);
    if (flood) {
        struct pl_departure first = {.number = schedule->number,
                                     .sequence = pusher->sequences[0],
                                     .sent_ns = sent_ns,
                                     .size = pl_sizes_next(&pusher->sizes)};
        schedule->number += n;
        pusher->sequences[0] += n;
        pusher->bytes += n * first.size;
        return pusher->port->ops->flood(pusher->port, &first, n, error);
    }
    unsigned flow = (unsigned)(schedule->number % pusher->port->flows);
    for (size_t i = 0; i < n; i++, flow = flow + 1 == pusher->port->flows ? 0 : flow + 1) {
        batch[i] = (struct pl_departure){.number = schedule->number + i,
                                         .sequence = pusher->sequences[flow]++,
                                         .sent_ns = sent_ns,
                                         .size = pl_sizes_next(&pusher->sizes),
                                         .flow = (uint16_t)flow};
        pusher->bytes += batch[i].size;
    }
    schedule->number += n;
    return pusher->port->ops->send(pusher->port, batch, n, error);
}

/* Sends batch after batch. One clock reading serves as the end of a batch and for the time stamps of the next. */
static int push_most(struct run *run, struct nc_error *error)
{
    struct pl_pusher *pusher = run->pusher;
    const struct pl_schedule *schedule = &pusher->schedule;
    uint64_t end = schedule->duration_ns ? run->start.monotonic_ns + schedule->duration_ns : UINT64_MAX;
    for (uint64_t now = nc_now_ns(); now < end && !(schedule->packets && schedule->number >= schedule->packets);
         now = nc_now_ns()) {
        if (++run->rounds % SIGNAL_EVERY == 0 && signalled(run, 0)) {
            pusher->interrupted = true;
            return 0;
        }
        if (send_most(run, now, error) < 0)
            return -1;
    }
    return 0;
}

/* Reports to the sink how many packets each flow had. Sends these end packets several times, because they may be lost,
 * too. */
static int send_ends(const struct run *run, struct nc_error *error)
{
    struct pl_pusher *pusher = run->pusher;
    for (int round = 0; round < ENDS; round++) {
        if (round && signalled(run, END_GAP_MS * NC_NS_PER_MS))
            return 0;
        for (unsigned flow = 0; flow < pusher->port->flows; flow++) {
            struct nc_clock_pair now = nc_clock_pair_read();
            struct pl_departure end = {.sequence = pusher->sequences[flow],
                                       .due_ns = now.monotonic_ns,
                                       .sent_ns = now.realtime_ns,
                                       .size = pl_sizes_largest(&pusher->sizes),
                                       .flow = (uint16_t)flow,
                                       .end = true};
            if (pusher->port->ops->send(pusher->port, &end, 1, error) < 0)
                return -1;
        }
    }
    return 0;
}

/* Sends every packet at its time. */
static int push_timed(struct run *run, struct nc_error *error)
{
    struct pl_pusher *pusher = run->pusher;
    for (uint64_t due_ns; (due_ns = pl_schedule_due(&pusher->schedule)) != PL_NEVER;) {
        bool go_on = wait_for(run, run->start.monotonic_ns + due_ns - nc_min(pusher->lead_ns, due_ns));
        if (!go_on || (++run->rounds % SIGNAL_EVERY == 0 && signalled(run, 0))) {
            pusher->interrupted = true;
            return 0;
        }
        uint64_t now = nc_now_ns();
        if (!pusher->punctuality.timed && pusher->schedule.duration_ns &&
            now >= run->start.monotonic_ns + pusher->schedule.duration_ns)
            return 0;
        if (send_due(run, now, error) < 0)
            return -1;
    }
    return 0;
}

int pl_pusher_run(struct pl_pusher *pusher, int signal_fd, struct nc_error *error)
{
    struct run run = {.pusher = pusher, .signal_fd = signal_fd};
    const struct sched_param priority = {.sched_priority = pusher->priority};
    prctl(PR_SET_TIMERSLACK, 1);
    if (pusher->priority && sched_setscheduler(0, SCHED_RR, &priority) < 0)
        return nc_fail(error, NC_EXIT_MISSING, "--priority %d: %s; run as root or give CAP_SYS_NICE", pusher->priority,
                       strerror(errno));
    pl_schedule_start(&pusher->schedule);
    pusher->punctuality.timed = pusher->schedule.pps || pusher->schedule.kind == PL_SCHEDULE_TRACE;
    run.start = nc_clock_pair_read();
    run.start.monotonic_ns += NC_NS_PER_MS; /* starts in the future, so that the first packet is on time, too */
    run.start.realtime_ns += NC_NS_PER_MS;
    bool most = !pusher->punctuality.timed && !pusher->replayed;
    if ((most ? push_most(&run, error) : push_timed(&run, error)) < 0)
        return -1;
    return pusher->replayed ? 0 : send_ends(&run, error);
}
