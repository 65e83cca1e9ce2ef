#include "worker.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "nc_clock.h"
#include "nc_log.h"

/* Packets moved at one port before the other port's turn. This bounds reading, but not the sending of due packets:
 * under overload packets wait unread in the port's ring, instead of leaving the box late. */
enum { BATCH = 32 };

/* When a task of real-time priority leaves the other tasks of its processor less than 5 %, the kernel stops it for 50
 * ms in every second (fair server, formerly real-time throttling). Packets would leave late by that time. So a worker
 * rests for a fifteenth of its working time, in pieces of REST_NS, which is at most the lateness that `poll` causes. */
#define REST_NS (50 * NC_NS_PER_US)
enum { REST_SHARE = 15 };

/* Reading a batch takes up to this time, and the arrival time of its packets is the beginning of the reading. A worker
 * that was stopped for longer does not know when packets arrived. Their arrival time is then this long before they were
 * read: an earlier time could let a packet leave before its delay is over, so that the path would seem shorter than it
 * is. */
#define READING_NS (100 * NC_NS_PER_US)

/* Load is measured over windows of this time. A worker that is busy for more than BUSY of a window lets other
 * processors run the hosts' receiving stacks. It runs them itself again when it was busy for less than CALM in
 * CALM_WINDOWS consecutive windows and then has written nothing for QUIET_NS. During QUIET_NS the other processors
 * empty their queues; otherwise the worker's own writes would overtake packets there. */
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

int worker_init(struct worker *worker, const struct worker_settings *settings, struct port *ports,
                struct direction *directions, unsigned first, unsigned n)
{
    memset(worker, 0, sizeof *worker);
    worker->settings = *settings;
    worker->ports = ports;
    worker->directions = directions;
    worker->first = first;
    worker->n = n;
    worker->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (worker->kick < 0)
        return -1;
    errno = init_lock(&worker->gate);
    if (errno == 0)
        errno = init_lock(&worker->work);
    return errno ? -1 : 0;
}

void worker_free(struct worker *worker)
{
    pthread_mutex_destroy(&worker->gate);
    pthread_mutex_destroy(&worker->work);
    close(worker->kick);
}

static void sleep_until(uint64_t time_ns)
{
    struct timespec ts = {(time_t)(time_ns / NC_NS_PER_S), (long)(time_ns % NC_NS_PER_S)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/* Learns the wake-up latency, but only from a wait that its timer ended. */
static void learn_latency(struct worker *worker, uint64_t now_ns)
{
    if (worker->timer_ns)
        wake_latency_learn(&worker->latency, now_ns > worker->timer_ns ? now_ns - worker->timer_ns : 0);
}

/* Measures the wake-up latency by sleeps as long as between two packets of a nearly idle path. */
void worker_calibrate(struct worker *worker)
{
    enum { SLEEPS = 40 };
    wake_latency_init(&worker->latency, 50 * NC_NS_PER_US);
    for (int i = 0; i < SLEEPS; i++) {
        worker->timer_ns = nc_now_ns() + 2 * NC_NS_PER_MS;
        sleep_until(worker->timer_ns);
        learn_latency(worker, nc_now_ns());
    }
    worker->timer_ns = 0;
}

/* Reads one packet, then the clock. */
static ssize_t read_packet(struct worker *worker, const struct port *port, struct packet_buffer *packet)
{
    ssize_t len = port_read(port, packet ? packet->data : worker->spare, NC_VNET_LEN + DIRECTION_FRAME_MAX);
    if (len > 0)
        worker->looked_ns = nc_now_ns();
    return len;
}

/* Reads up to a batch from the direction's port. Packets that were already there at `now_ns` have the arrival time
 * `came_ns`. Returns the number of packets. */
static unsigned receive(struct worker *worker, unsigned d, uint64_t came_ns, uint64_t now_ns)
{
    struct direction *direction = &worker->directions[d];
    const struct port *port = &worker->ports[d];
    unsigned n = 0;
    for (; n < BATCH; n++) {
        struct packet_buffer *packet = direction_reserve(direction);
        ssize_t len = read_packet(worker, port, packet);
        if (len < 0)
            worker->gone[d] = true;
        if (len <= 0)
            break;
        uint64_t read_for_ns = worker->looked_ns - now_ns;
        uint64_t at_ns = came_ns + (read_for_ns > READING_NS ? read_for_ns - READING_NS : 0);
        if (packet)
            direction_take(direction, packet, (uint32_t)len, at_ns);
        else
            direction_refuse(direction, worker->spare, (uint32_t)len, at_ns);
    }
    worker->more |= n == BATCH;
    return n;
}

/* Sends up to a batch of due runs to the direction's outgoing port. The lateness of each run is computed from the last
 * reading of the clock, so it includes time in which the worker was stopped. Returns the number of runs. */
static unsigned send_due(struct worker *worker, unsigned d, uint64_t now_ns)
{
    struct direction *direction = &worker->directions[d];
    struct nc_run run;
    unsigned n = 0;
    for (; n < BATCH && direction_due(direction, now_ns, &run); n++) {
        direction_sent(direction, worker->looked_ns, port_write(&worker->ports[!d], &run, worker->defer));
        worker->looked_ns = nc_now_ns();
    }
    if (n)
        worker->written_ns = worker->looked_ns;
    return n;
}

/* The estimated arrival time of a packet that is found now. */
static uint64_t arrival_ns(const struct worker *worker, uint64_t now_ns)
{
    if (!worker->armed_ns)
        return now_ns;
    uint64_t back_ns = now_ns - worker->latency.least_ns;
    return back_ns > worker->armed_ns ? back_ns : worker->armed_ns;
}

/* Reads and sends once. Returns whether anything moved. */
static bool pass(struct worker *worker, uint64_t came_ns, uint64_t now_ns)
{
    unsigned moved = 0, sent, end = worker->first + worker->n;
    for (unsigned d = worker->first; d < end; d++)
        moved += receive(worker, d, came_ns, now_ns);
    do {
        sent = 0;
        for (unsigned d = worker->first; d < end; d++)
            sent += send_due(worker, d, now_ns);
        moved += sent;
    } while (sent);
    return moved > 0;
}

/* Does everything that can be done now. After a pass that moved something a second pass follows, because a packet is
 * often answered within the system call that delivers it, and without this pass the answer's arrival time would be
 * after the next sleep. A third pass would amount to polling without pause under load. Returns whether anything
 * moved. */
static bool turn(struct worker *worker, uint64_t now_ns)
{
    learn_latency(worker, now_ns);
    uint64_t came_ns = arrival_ns(worker, now_ns);
    worker->timer_ns = worker->armed_ns = 0;
    worker->more = false;
    worker->looked_ns = now_ns;
    if (!pass(worker, came_ns, now_ns))
        return false;
    now_ns = worker->looked_ns;
    pass(worker, now_ns, now_ns);
    return true;
}

/* Adds `busy_ns` of work until now, and decides whether other processors run the hosts' stacks. */
static void judge_load(struct worker *worker, uint64_t now_ns, uint64_t busy_ns)
{
    if (worker->defer && worker->calm_windows >= CALM_WINDOWS && now_ns > worker->written_ns + QUIET_NS)
        worker->defer = false;
    worker->busy_ns += busy_ns;
    uint64_t window_ns = now_ns - worker->window_ns;
    if (window_ns < WINDOW_NS)
        return;
    worker->defer |= worker->busy_ns > BUSY(window_ns);
    worker->calm_windows = worker->busy_ns < CALM(window_ns) ? worker->calm_windows + 1 : 0;
    worker->window_ns = now_ns;
    worker->busy_ns = 0;
}

/* The next time at which the worker has something to send or to decide. */
static uint64_t next_ns(const struct worker *worker)
{
    uint64_t next = UINT64_MAX;
    for (unsigned d = worker->first; d < worker->first + worker->n; d++) {
        uint64_t time_ns = direction_next_ns(&worker->directions[d]);
        if (time_ns < next)
            next = time_ns;
    }
    return next;
}

/* Waits until a port is readable, kick() is called, or `until_ns` is reached. */
static void wait_all(struct worker *worker, uint64_t now_ns, uint64_t until_ns)
{
    struct pollfd fds[PORTS + 1];
    nfds_t n = 0;
    for (unsigned d = worker->first; d < worker->first + worker->n; d++)
        fds[n++] = (struct pollfd){worker->gone[d] ? -1 : worker->ports[d].fd, POLLIN, 0};
    fds[n] = (struct pollfd){worker->kick, POLLIN, 0};
    uint64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec timeout = {(time_t)(wait_ns / NC_NS_PER_S), (long)(wait_ns % NC_NS_PER_S)};
    int ready = ppoll(fds, n + 1, &timeout, NULL);
    if (ready == 0 && wait_ns)
        worker->timer_ns = until_ns;
    if (ready <= 0)
        return;
    uint64_t kicks;
    bool kicked = fds[n].revents && read(worker->kick, &kicks, sizeof kicks) > 0;
    if (wait_ns && ready > (kicked ? 1 : 0))
        worker->armed_ns = now_ns;
}

/* Waits between two turns (see worker.h). `next`: when there is next something to do. Returns whether the worker
 * slept. */
static bool wait_turn(struct worker *worker, uint64_t now_ns, bool worked, uint64_t next)
{
    const struct worker_settings *s = &worker->settings;
    if (s->priority && worker->owed_ns >= REST_NS) {
        sleep_until(now_ns + REST_NS);
        return true;
    }
    if (worker->more)
        return false; /* sleeping now would let the port's ring overflow */
    if (worked && s->poll_ns) {
        sleep_until(now_ns + s->poll_ns);
        return true;
    }
    uint64_t early_ns = s->spin_ns ? s->spin_ns + worker->latency.median_ns : 0;
    if (next != UINT64_MAX && next <= now_ns + early_ns)
        return false; /* due, or so near that the worker spins */
    wait_all(worker, now_ns, next == UINT64_MAX ? now_ns + NC_NS_PER_S : next - early_ns);
    return true;
}

static void worker_lock(struct worker *worker)
{
    pthread_mutex_lock(&worker->gate); /* a thread that pauses the worker has priority */
    pthread_mutex_unlock(&worker->gate);
    pthread_mutex_lock(&worker->work);
}

void worker_raise_priority(int level)
{
    struct sched_param priority = {.sched_priority = level};
    int failed = level ? pthread_setschedparam(pthread_self(), SCHED_RR, &priority) : 0;
    if (failed)
        nc_log("--priority %d: %s; going on without, look at the lateness", level, strerror(failed));
}

/* Accounts for the time since the last call: working and spinning increase the rest that the worker owes to other
 * tasks, waiting reduces it. */
static void account_rest(struct worker *worker, uint64_t now_ns, bool waited)
{
    uint64_t time_ns = now_ns - worker->accounted_ns;
    worker->accounted_ns = now_ns;
    if (!waited)
        worker->owed_ns += time_ns / REST_SHARE;
    else
        worker->owed_ns -= time_ns < worker->owed_ns ? time_ns : worker->owed_ns;
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    bool waited = false;
    worker_raise_priority((int)worker->settings.priority);
    worker->accounted_ns = nc_now_ns();
    while (!atomic_load_explicit(&worker->stop, memory_order_relaxed)) {
        worker_lock(worker);
        uint64_t began_ns = nc_now_ns();
        account_rest(worker, began_ns, waited);
        bool worked = turn(worker, began_ns);
        uint64_t now_ns = worked ? nc_now_ns() : began_ns, next = next_ns(worker);
        judge_load(worker, now_ns, now_ns - began_ns);
        account_rest(worker, now_ns, false);
        pthread_mutex_unlock(&worker->work);
        waited = wait_turn(worker, now_ns, worked, next);
    }
    return NULL;
}

int worker_start(struct worker *worker)
{
    int failed = pthread_create(&worker->thread, NULL, worker_main, worker);
    worker->running = !failed;
    if (worker->running)
        pthread_setname_np(worker->thread, worker->n == PORTS ? "comet-worker"
                                           : worker->first    ? "comet-worker-ba"
                                                              : "comet-worker-ab");
    return failed;
}

static void kick(struct worker *worker)
{
    uint64_t one = 1;
    ssize_t n = write(worker->kick, &one, sizeof one);
    (void)n; /* it fails only when the counter is full, and then the worker wakes up anyway */
}

void worker_stop(struct worker *worker)
{
    if (!worker->running)
        return;
    atomic_store(&worker->stop, true);
    kick(worker);
    pthread_join(worker->thread, NULL);
    worker->running = false;
}

void worker_pause(struct worker *worker)
{
    pthread_mutex_lock(&worker->gate);
    pthread_mutex_lock(&worker->work);
}

void worker_resume(struct worker *worker)
{
    pthread_mutex_unlock(&worker->work);
    pthread_mutex_unlock(&worker->gate);
    kick(worker); /* what it waits for may have changed */
}
