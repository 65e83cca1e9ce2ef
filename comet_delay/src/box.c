#include "box.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "nc_log.h"

enum { A, B, PORTS };

/* Packets moved at one port before the other gets its turn. Reading is bounded by it and sending what is due is not:
 * under overload packets wait in the port's ring, unread, instead of in the box, late. */
enum { BATCH = 32 };

/* Under load the ports are not armed, so control and signals are looked at this often. */
#define HOUSEKEEPING_NS (10 * NC_NS_PER_MS)

/* A wake-up that takes longer is not latency but a lack of CPU time. */
#define LATENCY_MAX_NS (200 * NC_NS_PER_US)

/* Beyond this the emulation is not what was asked for. */
#define LATENESS_LIMIT_NS NC_NS_PER_MS

struct box {
    struct box_settings settings;
    struct port ports[PORTS];
    struct direction directions[PORTS]; /* [A]: what comes in at a and leaves at b */
    char control_path[108];
    int control_fd;
    struct control_client clients[BOX_CLIENTS_MAX];
    struct nc_clock_pair started;
    uint64_t next_housekeeping_ns;
    uint64_t wake_latency_ns; /* see learn_latency */
    uint64_t timer_ns;        /* the last wait ended by its timer, set for this time; 0: it did not */
    uint64_t armed_ns;        /* the last wait began then and was ended by a port; 0: it was not */
    bool gone[PORTS]; /* the port's interface was deleted; a TAP's descriptor then is ready for ever */
    bool more; /* a port had more than a batch waiting in this turn */
    bool stop;
    uint8_t spare[NC_VNET_LEN + DIRECTION_FRAME_MAX]; /* where packets go that memory has no room for */
};

static void sleep_until(uint64_t time_ns)
{
    struct timespec ts = {(time_t)(time_ns / NC_NS_PER_S), (long)(time_ns % NC_NS_PER_S)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/* Waking up takes time: tens of µs on a virtual machine whose processor had gone idle. The box measures it on its own
 * timer, as a running median, and uses it twice: it gets up that much before a departure, and takes a packet that
 * woke it to have come that much earlier. */
static void learn_latency(struct box *box, uint64_t now_ns)
{
    uint64_t step_ns = box->wake_latency_ns / 32 + 100;
    if (!box->timer_ns)
        return;
    if (now_ns > box->timer_ns + box->wake_latency_ns)
        box->wake_latency_ns += box->wake_latency_ns + step_ns < LATENCY_MAX_NS ? step_ns : 0;
    else
        box->wake_latency_ns -= box->wake_latency_ns < step_ns ? box->wake_latency_ns : step_ns;
}

/* The first estimate: sleeps as long as those between the packets of an idle path. */
static void calibrate(struct box *box)
{
    enum { SLEEPS = 40 };
    box->wake_latency_ns = 50 * NC_NS_PER_US;
    for (int i = 0; i < SLEEPS; i++) {
        box->timer_ns = nc_now_ns() + 2 * NC_NS_PER_MS;
        sleep_until(box->timer_ns);
        learn_latency(box, nc_now_ns());
    }
    box->timer_ns = 0;
}

static int check_memory(const struct box_settings *settings, const struct params params[2], char *why, size_t why_size)
{
    for (int d = 0; d < PORTS; d++) {
        uint64_t need = params_held_bytes(&params[d]);
        if (!params[d].rate_bps || need <= settings->memory_bytes)
            continue;
        char rate[40], delay[40], want[40], have[40];
        snprintf(why, why_size, "--delay %s at --rate %s holds %s, more than --memory %s; raise --memory or lower either",
                 nc_quantity_format(NC_UNIT_DURATION, params[d].delay_ns, delay, sizeof delay),
                 nc_quantity_format(NC_UNIT_RATE, params[d].rate_bps, rate, sizeof rate),
                 nc_quantity_format(NC_UNIT_BYTES, need, want, sizeof want),
                 nc_quantity_format(NC_UNIT_BYTES, settings->memory_bytes, have, sizeof have));
        return -1;
    }
    return 0;
}

struct box *box_open(const struct box_settings *settings, const char *port_a, const char *port_b, const char *control_path,
                     const struct params params[2], int *status, char *why, size_t why_size)
{
    const char *names[PORTS] = {port_a, port_b};
    *status = NC_EXIT_USAGE;
    if (check_memory(settings, params, why, why_size) < 0)
        return NULL;
    *status = NC_EXIT_MISSING;
    struct box *box = calloc(1, sizeof *box);
    if (!box) {
        snprintf(why, why_size, "out of memory");
        return NULL;
    }
    box->settings = *settings;
    box->control_fd = -1;
    for (int i = 0; i < BOX_CLIENTS_MAX; i++)
        box->clients[i].fd = -1;
    for (int d = 0; d < PORTS; d++)
        box->ports[d] = (struct port){.fd = -1, .counters = -1};
    for (unsigned d = 0; d < PORTS; d++) {
        if (direction_init(&box->directions[d], d, settings->seed, settings->granularity_ns, settings->memory_bytes,
                           params_held_bytes(&params[d])) < 0) {
            snprintf(why, why_size, "--memory: cannot get it: %s", strerror(errno));
            box_close(box);
            return NULL;
        }
    }
    if (box_set(box, params, why, why_size) < 0) {
        *status = NC_EXIT_USAGE;
        box_close(box);
        return NULL;
    }
    for (int d = 0; d < PORTS; d++) {
        *status = port_open(&box->ports[d], names[d], (unsigned)settings->mtu, why, why_size);
        if (*status) {
            box_close(box);
            return NULL;
        }
    }
    char warning[256];
    if (port_mtu_warning(&box->ports[A], &box->ports[B], warning, sizeof warning))
        nc_log("%s", warning);
    if (control_path) {
        box->control_fd = control_listen(control_path, why, why_size);
        if (box->control_fd < 0) {
            *status = NC_EXIT_USAGE;
            box_close(box);
            return NULL;
        }
        snprintf(box->control_path, sizeof box->control_path, "%s", control_path);
    }
    calibrate(box);
    box->started = nc_clock_pair_read();
    return box;
}

void box_close(struct box *box)
{
    for (int i = 0; i < BOX_CLIENTS_MAX; i++)
        if (box->clients[i].fd >= 0)
            close(box->clients[i].fd);
    if (box->control_fd >= 0) {
        close(box->control_fd);
        unlink(box->control_path);
    }
    for (int d = 0; d < PORTS; d++) {
        port_close(&box->ports[d]);
        if (box->directions[d].store.memory)
            direction_free(&box->directions[d]);
    }
    free(box);
}

const struct params *box_params(const struct box *box, unsigned direction)
{
    return &box->directions[direction].params;
}

int box_set(struct box *box, const struct params params[2], char *why, size_t why_size)
{
    struct models models[PORTS];
    if (check_memory(&box->settings, params, why, why_size) < 0 ||
        models_build(&params[A], &models[A], why, why_size) < 0)
        return -1;
    if (models_build(&params[B], &models[B], why, why_size) < 0) {
        models_free(&models[A]);
        return -1;
    }
    uint64_t now_ns = nc_now_ns();
    for (int d = 0; d < PORTS; d++)
        direction_set(&box->directions[d], &params[d], &models[d], now_ns);
    return 0;
}

/* Reads up to a batch from the direction's port. Returns how many packets came. */
static unsigned receive(struct box *box, unsigned d, uint64_t came_ns)
{
    struct direction *direction = &box->directions[d];
    const struct port *port = &box->ports[d];
    unsigned n = 0;
    for (; n < BATCH; n++) {
        struct stored *packet = direction_reserve(direction);
        ssize_t len = port_read(port, packet ? packet->data : box->spare, NC_VNET_LEN + DIRECTION_FRAME_MAX);
        if (len < 0)
            box->gone[d] = true;
        if (len <= 0)
            break;
        if (packet)
            direction_take(direction, packet, (uint32_t)len, came_ns);
        else
            direction_refuse(direction, box->spare, (uint32_t)len);
    }
    box->more |= n == BATCH;
    return n;
}

/* Sends a batch of what is due at the direction's far port. Returns how many runs. */
static unsigned send_due(struct box *box, unsigned d, uint64_t now_ns)
{
    struct direction *direction = &box->directions[d];
    struct nc_run run;
    unsigned n = 0;
    for (; n < BATCH && direction_due(direction, now_ns, &run); n++)
        direction_sent(direction, now_ns, port_write(&box->ports[!d], &run));
    return n;
}

/* When a packet that is found now came, as far as can be told. */
static uint64_t arrival_ns(const struct box *box, uint64_t now_ns)
{
    if (!box->armed_ns)
        return now_ns;
    uint64_t back_ns = now_ns - box->wake_latency_ns;
    return back_ns > box->armed_ns ? back_ns : box->armed_ns;
}

static void accept_client(struct box *box)
{
    int fd = accept4(box->control_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct timeval patience = {.tv_usec = 200000}; /* a client that does not read must not hold up packets */
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    for (int i = 0; i < BOX_CLIENTS_MAX; i++)
        if (box->clients[i].fd < 0) {
            box->clients[i].fd = fd;
            box->clients[i].used = 0;
            return;
        }
    close(fd);
}

/* Waits until a port, the control socket or a signal has something or `until_ns` has come; handles the last two. */
static void wait_all(struct box *box, int signal_fd, uint64_t now_ns, uint64_t until_ns)
{
    enum { SIGNAL = PORTS, LISTEN, CLIENTS, N = CLIENTS + BOX_CLIENTS_MAX };
    struct pollfd fds[N];
    for (int d = 0; d < PORTS; d++)
        fds[d] = (struct pollfd){box->gone[d] ? -1 : box->ports[d].fd, POLLIN, 0};
    fds[SIGNAL] = (struct pollfd){signal_fd, POLLIN, 0};
    fds[LISTEN] = (struct pollfd){box->control_fd, POLLIN, 0};
    for (int i = 0; i < BOX_CLIENTS_MAX; i++)
        fds[CLIENTS + i] = (struct pollfd){box->clients[i].fd, POLLIN, 0};
    uint64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec timeout = {(time_t)(wait_ns / NC_NS_PER_S), (long)(wait_ns % NC_NS_PER_S)};
    int ready = ppoll(fds, N, &timeout, NULL);
    if (ready == 0 && wait_ns)
        box->timer_ns = until_ns;
    if (ready <= 0)
        return;
    if (wait_ns && (fds[A].revents || fds[B].revents))
        box->armed_ns = now_ns;
    if (fds[SIGNAL].revents)
        box->stop = true;
    if (fds[LISTEN].revents)
        accept_client(box);
    for (int i = 0; i < BOX_CLIENTS_MAX; i++)
        if (fds[CLIENTS + i].revents && control_client_read(&box->clients[i], box) < 0) {
            close(box->clients[i].fd);
            box->clients[i].fd = -1;
        }
}

/* Between two turns: how to wait for the next thing to do (see box.h). */
static void wait_turn(struct box *box, int signal_fd, uint64_t now_ns, bool worked, uint64_t end_ns)
{
    const struct box_settings *s = &box->settings;
    uint64_t next_a = direction_next_ns(&box->directions[A]), next_b = direction_next_ns(&box->directions[B]);
    uint64_t next_ns = next_a < next_b ? next_a : next_b;
    if (now_ns >= box->next_housekeeping_ns) {
        box->next_housekeeping_ns = now_ns + HOUSEKEEPING_NS;
        wait_all(box, signal_fd, now_ns, now_ns);
        return;
    }
    if (box->more)
        return; /* behind: sleeping would only let the port's ring run over */
    if (worked && s->poll_ns) {
        sleep_until(now_ns + s->poll_ns);
        return;
    }
    uint64_t early_ns = s->spin_ns ? s->spin_ns + box->wake_latency_ns : 0;
    if (next_ns != UINT64_MAX && next_ns <= now_ns + early_ns)
        return; /* due, or near enough to spin for */
    uint64_t wake_ns = next_ns == UINT64_MAX ? now_ns + NC_NS_PER_S : next_ns - early_ns;
    if (wake_ns > end_ns)
        wake_ns = end_ns;
    wait_all(box, signal_fd, now_ns, wake_ns);
}

/* Reads and sends once. Returns whether anything moved. */
static bool pass(struct box *box, uint64_t came_ns, uint64_t now_ns)
{
    unsigned moved = receive(box, A, came_ns) + receive(box, B, came_ns);
    for (unsigned sent; (sent = send_due(box, A, now_ns) + send_due(box, B, now_ns));)
        moved += sent;
    return moved > 0;
}

/* All that can be done now. A second pass follows one that moved something: a packet that is delivered is often answered
 * within the very system call that delivers it, and the answer must not be dated after the next sleep. A third would
 * be polling without pause under load. */
static bool turn(struct box *box, uint64_t now_ns)
{
    learn_latency(box, now_ns);
    uint64_t came_ns = arrival_ns(box, now_ns);
    box->timer_ns = box->armed_ns = 0;
    box->more = false;
    if (!pass(box, came_ns, now_ns))
        return false;
    now_ns = nc_now_ns();
    pass(box, now_ns, now_ns);
    return true;
}

void box_run(struct box *box, int signal_fd)
{
    uint64_t duration = box->settings.duration_ns;
    uint64_t end_ns = duration ? nc_now_ns() + duration : UINT64_MAX;
    for (uint64_t now_ns; !box->stop && (now_ns = nc_now_ns()) < end_ns;) {
        bool worked = turn(box, now_ns);
        wait_turn(box, signal_fd, worked ? nc_now_ns() : now_ns, worked, end_ns);
    }
}

static void add_reason(json_t *reasons, const char *direction, uint64_t n, const char *what)
{
    if (n)
        json_array_append_new(reasons, json_sprintf("%s: %llu %s", direction, (unsigned long long)n, what));
}

static json_t *verdict(struct box *box)
{
    static const char *const names[PORTS] = {"ab", "ba"};
    json_t *reasons = json_array();
    for (int d = 0; d < PORTS; d++) {
        const struct direction_stats *s = &box->directions[d].stats;
        add_reason(reasons, names[d], s->drops_memory, "packets dropped for want of memory");
        add_reason(reasons, names[d], s->drops_malformed, "malformed frames dropped");
        add_reason(reasons, names[d], s->drops_write, "packets that the far port did not take");
        add_reason(reasons, names[d], port_ring_drops(&box->ports[d]), "packets dropped before the box could read them");
        if (box->gone[d])
            json_array_append_new(reasons, json_sprintf("port %c: its interface was deleted", 'a' + d));
        uint64_t p99 = histogram_percentile(&s->lateness, 0.99);
        if (s->lateness.count && p99 > LATENESS_LIMIT_NS)
            json_array_append_new(reasons, json_sprintf("%s: 1 %% of packets left more than %.3f ms late", names[d],
                                                        (double)p99 / 1e6));
    }
    return json_pack("{s:b, s:o}", "valid", json_array_size(reasons) == 0, "reasons", reasons);
}

json_t *box_json(struct box *box)
{
    uint64_t now_ns = nc_now_ns();
    json_t *parameters = json_object(), *statistics = json_object();
    for (int d = 0; d < PORTS; d++) {
        const char *name = d == A ? "ab" : "ba";
        json_object_set_new(parameters, name, params_json(&box->directions[d].params));
        json_object_set_new(statistics, name,
                            direction_json(&box->directions[d], port_ring_drops(&box->ports[d]), now_ns));
    }
    return json_pack("{s:o, s:o, s:o, s:I, s:I}", "parameters", parameters, "statistics", statistics, "verdict",
                     verdict(box), "uptime_ns", (json_int_t)(now_ns - box->started.monotonic_ns), "wake_latency_ns",
                     (json_int_t)box->wake_latency_ns);
}

json_t *box_ready_json(const struct box *box)
{
    return json_pack("{s:{s:s, s:s}, s:{s:s, s:s}, s:{s:I, s:I}, s:s}", "a", "name", box->ports[A].name, "netns",
                     box->ports[A].netns, "b", "name", box->ports[B].name, "netns", box->ports[B].netns, "clock",
                     "monotonic_ns", (json_int_t)box->started.monotonic_ns, "realtime_ns",
                     (json_int_t)box->started.realtime_ns, "control", box->control_path);
}
