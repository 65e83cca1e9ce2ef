#include "lane.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "nc_clock.h"
#include "nc_log.h"

/* Packets moved at one port before the other gets its turn. Reading is bounded by it and sending what is due is not:
 * under overload packets wait in the port's ring, unread, instead of in the box, late. */
enum { BATCH = 32 };

/* A wake-up that takes longer is not latency but a lack of CPU time. */
#define LATENCY_MAX_NS (200 * NC_NS_PER_US)

/* A task of real-time priority that leaves a processor's other tasks less than 5 % of it is stopped for them, for 50 ms in
 * every second (the kernel's fair server, or real-time throttling before it): packets would leave that late. So a lane
 * rests for a fifteenth of the time it works, in pieces of REST_NS, which is no more than the lateness of `poll`. */
#define REST_NS (50 * NC_NS_PER_US)
enum { REST_SHARE = 15 };

/* Load is judged over this time. A lane that is busy for more of it than BUSY lets others do the hosts' work, until for
 * CALM_WINDOWS in a row it was busy for less than CALM and then has written nothing for QUIET_NS: those others, which may
 * have to wait for a processor, must have nothing left either, or what the lane writes itself would overtake it. */
#define WINDOW_NS (10 * NC_NS_PER_MS)
#define QUIET_NS NC_NS_PER_MS
enum { CALM_WINDOWS = 50 };
#define BUSY(window_ns) ((window_ns) / 4 * 3)
#define CALM(window_ns) ((window_ns) / 5)

static int init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    int failed = pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return failed;
}

int lane_init(struct lane *lane, const struct lane_settings *settings, struct port *ports, struct direction *directions,
              unsigned first, unsigned n)
{
    memset(lane, 0, sizeof *lane);
    lane->settings = *settings;
    lane->ports = ports;
    lane->directions = directions;
    lane->first = first;
    lane->n = n;
    lane->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (lane->kick < 0)
        return -1;
    errno = init_lock(&lane->gate);
    if (errno == 0)
        errno = init_lock(&lane->work);
    return errno ? -1 : 0;
}

void lane_free(struct lane *lane)
{
    pthread_mutex_destroy(&lane->gate);
    pthread_mutex_destroy(&lane->work);
    close(lane->kick);
}

static void sleep_until(uint64_t time_ns)
{
    struct timespec ts = {(time_t)(time_ns / NC_NS_PER_S), (long)(time_ns % NC_NS_PER_S)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/* Waking up takes time: tens of µs on a virtual machine whose processor had gone idle. The lane measures it on its own
 * timer, as a running median, and uses it twice: it gets up that much before a departure, and takes a packet that
 * woke it to have come that much earlier. */
static void learn_latency(struct lane *lane, uint64_t now_ns)
{
    uint64_t step_ns = lane->wake_latency_ns / 32 + 100;
    if (!lane->timer_ns)
        return;
    if (now_ns > lane->timer_ns + lane->wake_latency_ns)
        lane->wake_latency_ns += lane->wake_latency_ns + step_ns < LATENCY_MAX_NS ? step_ns : 0;
    else
        lane->wake_latency_ns -= lane->wake_latency_ns < step_ns ? lane->wake_latency_ns : step_ns;
}

/* Sleeps as long as those between the packets of an idle path. */
void lane_calibrate(struct lane *lane)
{
    enum { SLEEPS = 40 };
    lane->wake_latency_ns = 50 * NC_NS_PER_US;
    for (int i = 0; i < SLEEPS; i++) {
        lane->timer_ns = nc_now_ns() + 2 * NC_NS_PER_MS;
        sleep_until(lane->timer_ns);
        learn_latency(lane, nc_now_ns());
    }
    lane->timer_ns = 0;
}

/* Reads up to a batch from the direction's port. Returns how many packets came. */
static unsigned receive(struct lane *lane, unsigned d, uint64_t came_ns)
{
    struct direction *direction = &lane->directions[d];
    const struct port *port = &lane->ports[d];
    unsigned n = 0;
    for (; n < BATCH; n++) {
        struct stored *packet = direction_reserve(direction);
        ssize_t len = port_read(port, packet ? packet->data : lane->spare, NC_VNET_LEN + DIRECTION_FRAME_MAX);
        if (len < 0)
            lane->gone[d] = true;
        if (len <= 0)
            break;
        if (packet)
            direction_take(direction, packet, (uint32_t)len, came_ns);
        else
            direction_refuse(direction, lane->spare, (uint32_t)len, came_ns);
    }
    lane->more |= n == BATCH;
    return n;
}

/* Sends a batch of what is due at the direction's far port. Returns how many runs. */
static unsigned send_due(struct lane *lane, unsigned d, uint64_t now_ns)
{
    struct direction *direction = &lane->directions[d];
    struct nc_run run;
    unsigned n = 0;
    for (; n < BATCH && direction_due(direction, now_ns, &run); n++)
        direction_sent(direction, now_ns, port_write(&lane->ports[!d], &run, lane->defer));
    if (n)
        lane->written_ns = now_ns;
    return n;
}

/* When a packet that is found now came, as far as can be told. */
static uint64_t arrival_ns(const struct lane *lane, uint64_t now_ns)
{
    if (!lane->armed_ns)
        return now_ns;
    uint64_t back_ns = now_ns - lane->wake_latency_ns;
    return back_ns > lane->armed_ns ? back_ns : lane->armed_ns;
}

/* Reads and sends once. Returns whether anything moved. */
static bool pass(struct lane *lane, uint64_t came_ns, uint64_t now_ns)
{
    unsigned moved = 0, sent, end = lane->first + lane->n;
    for (unsigned d = lane->first; d < end; d++)
        moved += receive(lane, d, came_ns);
    do {
        sent = 0;
        for (unsigned d = lane->first; d < end; d++)
            sent += send_due(lane, d, now_ns);
        moved += sent;
    } while (sent);
    return moved > 0;
}

/* All that can be done now. A second pass follows one that moved something: a packet that is delivered is often answered
 * within the very system call that delivers it, and the answer must not be dated after the next sleep. A third would
 * be polling without pause under load. Returns whether anything moved. */
static bool turn(struct lane *lane, uint64_t now_ns)
{
    learn_latency(lane, now_ns);
    uint64_t came_ns = arrival_ns(lane, now_ns);
    lane->timer_ns = lane->armed_ns = 0;
    lane->more = false;
    if (!pass(lane, came_ns, now_ns))
        return false;
    now_ns = nc_now_ns();
    pass(lane, now_ns, now_ns);
    return true;
}

/* Takes note of `busy_ns` more of work until now, and decides who runs the hosts' stacks. */
static void judge_load(struct lane *lane, uint64_t now_ns, uint64_t busy_ns)
{
    if (lane->defer && lane->calm_windows >= CALM_WINDOWS && now_ns > lane->written_ns + QUIET_NS)
        lane->defer = false;
    lane->busy_ns += busy_ns;
    uint64_t window_ns = now_ns - lane->window_ns;
    if (window_ns < WINDOW_NS)
        return;
    lane->defer |= lane->busy_ns > BUSY(window_ns);
    lane->calm_windows = lane->busy_ns < CALM(window_ns) ? lane->calm_windows + 1 : 0;
    lane->window_ns = now_ns;
    lane->busy_ns = 0;
}

/* When the lane next has something to send or to decide. */
static uint64_t next_ns(const struct lane *lane)
{
    uint64_t next = UINT64_MAX;
    for (unsigned d = lane->first; d < lane->first + lane->n; d++) {
        uint64_t time_ns = direction_next_ns(&lane->directions[d]);
        if (time_ns < next)
            next = time_ns;
    }
    return next;
}

/* Waits until a port has something, somebody kicks or `until_ns` has come. */
static void wait_all(struct lane *lane, uint64_t now_ns, uint64_t until_ns)
{
    struct pollfd fds[PORTS + 1];
    nfds_t n = 0;
    for (unsigned d = lane->first; d < lane->first + lane->n; d++)
        fds[n++] = (struct pollfd){lane->gone[d] ? -1 : lane->ports[d].fd, POLLIN, 0};
    fds[n] = (struct pollfd){lane->kick, POLLIN, 0};
    uint64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec timeout = {(time_t)(wait_ns / NC_NS_PER_S), (long)(wait_ns % NC_NS_PER_S)};
    int ready = ppoll(fds, n + 1, &timeout, NULL);
    if (ready == 0 && wait_ns)
        lane->timer_ns = until_ns;
    if (ready <= 0)
        return;
    uint64_t kicks;
    bool kicked = fds[n].revents && read(lane->kick, &kicks, sizeof kicks) > 0;
    if (wait_ns && ready > (kicked ? 1 : 0))
        lane->armed_ns = now_ns;
}

/* Between two turns: how to wait for `next`, the next thing to do (see lane.h). Returns whether it gave up the processor. */
static bool wait_turn(struct lane *lane, uint64_t now_ns, bool worked, uint64_t next)
{
    const struct lane_settings *s = &lane->settings;
    if (s->priority && lane->owed_ns >= REST_NS) {
        sleep_until(now_ns + REST_NS);
        return true;
    }
    if (lane->more)
        return false; /* behind: sleeping would only let the port's ring run over */
    if (worked && s->poll_ns) {
        sleep_until(now_ns + s->poll_ns);
        return true;
    }
    uint64_t early_ns = s->spin_ns ? s->spin_ns + lane->wake_latency_ns : 0;
    if (next != UINT64_MAX && next <= now_ns + early_ns)
        return false; /* due, or near enough to spin for */
    wait_all(lane, now_ns, next == UINT64_MAX ? now_ns + NC_NS_PER_S : next - early_ns);
    return true;
}

static void lane_lock(struct lane *lane)
{
    pthread_mutex_lock(&lane->gate); /* whoever wants to pause the lane goes first */
    pthread_mutex_unlock(&lane->gate);
    pthread_mutex_lock(&lane->work);
}

void lane_raise_priority(int level)
{
    struct sched_param priority = {.sched_priority = level};
    int failed = level ? pthread_setschedparam(pthread_self(), SCHED_RR, &priority) : 0;
    if (failed)
        nc_log("--priority %d: %s; going on without, look at the lateness", level, strerror(failed));
}

/* The time since the last call was a wait, which pays back what is owed, or work (spinning too), which owes more. */
static void account_rest(struct lane *lane, uint64_t now_ns, bool waited)
{
    uint64_t time_ns = now_ns - lane->accounted_ns;
    lane->accounted_ns = now_ns;
    if (!waited)
        lane->owed_ns += time_ns / REST_SHARE;
    else
        lane->owed_ns -= time_ns < lane->owed_ns ? time_ns : lane->owed_ns;
}

static void *lane_main(void *argument)
{
    struct lane *lane = argument;
    bool waited = false;
    lane_raise_priority((int)lane->settings.priority);
    lane->accounted_ns = nc_now_ns();
    while (!atomic_load_explicit(&lane->stop, memory_order_relaxed)) {
        lane_lock(lane);
        uint64_t began_ns = nc_now_ns();
        account_rest(lane, began_ns, waited);
        bool worked = turn(lane, began_ns);
        uint64_t now_ns = worked ? nc_now_ns() : began_ns, next = next_ns(lane);
        judge_load(lane, now_ns, now_ns - began_ns);
        account_rest(lane, now_ns, false);
        pthread_mutex_unlock(&lane->work);
        waited = wait_turn(lane, now_ns, worked, next);
    }
    return NULL;
}

int lane_start(struct lane *lane)
{
    int failed = pthread_create(&lane->thread, NULL, lane_main, lane);
    lane->running = !failed;
    if (lane->running)
        pthread_setname_np(lane->thread, lane->n == PORTS ? "comet-lane" : lane->first ? "comet-lane-ba" : "comet-lane-ab");
    return failed;
}

static void kick(struct lane *lane)
{
    uint64_t one = 1;
    ssize_t n = write(lane->kick, &one, sizeof one);
    (void)n; /* full: kicked already */
}

void lane_stop(struct lane *lane)
{
    if (!lane->running)
        return;
    atomic_store(&lane->stop, true);
    kick(lane);
    pthread_join(lane->thread, NULL);
    lane->running = false;
}

void lane_pause(struct lane *lane)
{
    pthread_mutex_lock(&lane->gate);
    pthread_mutex_lock(&lane->work);
}

void lane_resume(struct lane *lane)
{
    pthread_mutex_unlock(&lane->work);
    pthread_mutex_unlock(&lane->gate);
    kick(lane); /* what it waits for may have changed */
}
