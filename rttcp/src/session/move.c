/* Moves the bytes of a session and watches the control connection meanwhile. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "nc_clock.h"
#include "nc_range.h"
#include "session.h"
#include "stop.h"

/* time between progress messages, which are all that the peer knows if this end dies */
#define PROGRESS_NS NC_NS_PER_S
#define EXPLAIN_NS (2 * RTTCP_SLICE_NS) /* time for the peer to explain why a data connection broke */

/* `context`: the session. Called by the meter of its main direction, which has just added the interval's details. */
static void print_interval(void *context, const struct rttcp_interval *interval)
{
    const struct rttcp_session *s = context;
    const struct rttcp_flow *flow = &s->flows[rttcp_report_main(&s->report)];
    const json_t *details = flow->meter.intervals_dropped ? NULL : flow->meter.details;
    const json_t *streams = json_array_get(details, json_array_size(details) - 1);
    rttcp_output_interval(s->output, interval, flow->sending, streams);
}

static int start(struct rttcp_session *s)
{
    const struct rttcp_params *params = &s->report.params;
    for (int d = 0; d < DIRECTIONS; d++) {
        struct rttcp_flow *flow = &s->flows[d];
        if (flow->n == 0)
            continue;
        flow->meter.interval_ns = params->interval_ns;
        flow->meter.omit_ns = params->omit_ns;
        if (!s->report.serving || flow->sending || params->request_bytes)
            flow->meter.sample_ns = s->sample_ns;
        if (!s->report.serving) {
            flow->meter.with_details = s->output->format == FORMAT_IPERF3 || s->output->format == FORMAT_HUMAN;
            flow->meter.on_interval = d == rttcp_report_main(&s->report) ? print_interval : NULL;
            flow->meter.context = s;
        }
        if (rttcp_flow_start(flow, s->t0_ns, s->wake_fd, &s->error) < 0)
            return -1;
    }
    return 0;
}

static int send_message(struct rttcp_session *s, json_t *message)
{
    return rttcp_control_connection_send(&s->control, message, nc_now_ns() + RTTCP_HANDSHAKE_NS, &s->error);
}

static json_t *number_message(const char *type, int direction, uint64_t bytes)
{
    return rttcp_message(type, json_pack("{s:i, s:I}", "direction", direction, "bytes", (json_int_t)bytes));
}

static void send_progress(struct rttcp_session *s)
{
    struct nc_error ignored; /* a failure is ignored here: a peer that reads no messages is noticed elsewhere */
    for (int d = 0; d < DIRECTIONS; d++)
        if (s->flows[d].n)
            rttcp_control_connection_send(&s->control, number_message("progress", d, rttcp_flow_bytes(&s->flows[d])),
                                          nc_now_ns(), &ignored);
}

/* Keeps the peer's progress. If the peer vanishes, nothing else is known of its side. */
static void take_progress(struct rttcp_session *s, int direction, const json_t *message)
{
    struct rttcp_side *theirs = rttcp_report_theirs(&s->report, direction);
    json_int_t bytes = json_integer_value(json_object_get(message, "bytes"));
    theirs->bytes = bytes > 0 ? (uint64_t)bytes : 0;
    theirs->elapsed_ns = nc_now_ns() - s->t0_ns;
    theirs->partial = true;
}

/* Handles the receiver's confirmation and stops the clock, although the worker that shut its connection down may not
 * have reported its end yet. If a confirmation arrives while this end is still sending, the receiver has read somebody
 * else's stream. */
static int confirm(struct rttcp_session *s, int direction, const json_t *message)
{
    struct rttcp_flow *flow = &s->flows[direction];
    json_int_t bytes = json_integer_value(json_object_get(message, "bytes"));
    if (flow->sending && !flow->elapsed_ns)
        flow->elapsed_ns = nc_now_ns() - s->t0_ns;
    if (rttcp_flow_finished(flow) || (uint64_t)bytes == rttcp_flow_bytes(flow))
        return 0;
    return nc_fail(&s->error, NC_EXIT_FAILED,
                   "the receiver read its stream to an end after %" JSON_INTEGER_FORMAT " bytes, before all were sent: "
                   "somebody else was at its data port first",
                   bytes);
}

static int handle(struct rttcp_session *s, const json_t *message)
{
    struct nc_error ignored;
    uint64_t direction = 0;
    const char *type = rttcp_message_type(message);
    if (strcmp(type, "stop") == 0) {
        atomic_store(&s->orders.finish, true);
        s->finishing = true;
        return 0;
    }
    if (strcmp(type, "confirm") != 0 && strcmp(type, "progress") != 0)
        return rttcp_control_connection_unexpected(message, "confirm", &s->error);
    if (rttcp_direction_decode(message, &direction, &ignored) < 0 || s->flows[direction].n == 0)
        return nc_fail(&s->error, NC_EXIT_FAILED,
                       "control connection: the peer's %s names a direction that is not in use", type);
    if (type[0] == 'c')
        return confirm(s, (int)direction, message);
    take_progress(s, (int)direction, message);
    return 0;
}

/* Handles the messages that arrive until `deadline_ns`. */
static int take_messages(struct rttcp_session *s, uint64_t deadline_ns)
{
    for (;;) {
        json_t *message = NULL;
        enum rttcp_got got = rttcp_control_connection_poll(&s->control, deadline_ns, &message, &s->error);
        if (got == GOT_NOTHING)
            return 0;
        if (got == GOT_BAD)
            return -1;
        if (got == GOT_CLOSED)
            return nc_fail(&s->error, NC_EXIT_FAILED, "the %s went away before the transfer was confirmed",
                           s->report.serving ? "sender" : "receiver");
        bool confirmed = strcmp(rttcp_message_type(message), "confirm") == 0; /* the next message may be for
                                                                               * rttcp_session_settle */
        int status = handle(s, message);
        json_decref(message);
        if (status < 0 || confirmed)
            return status;
    }
}

/* Fails when a sender has awaited the confirmation for too long without progress. Progress means that its TCP has fewer
 * unacknowledged bytes, or that the receiver reports more bytes. The latter counts because a gateway may acknowledge
 * all bytes long before it delivers them. */
static int check_patience(struct rttcp_session *s, int direction)
{
    struct rttcp_flow *flow = &s->flows[direction];
    uint64_t left = 0, arrived = rttcp_report_theirs(&s->report, direction)->bytes, now = nc_now_ns();
    for (uint64_t i = 0; i < flow->n; i++)
        left += rttcp_unacknowledged(flow->streams[i].fd);
    if (left != flow->unacknowledged || arrived != flow->arrived || flow->moved_ns == 0)
        flow->moved_ns = now;
    flow->unacknowledged = left;
    flow->arrived = arrived;
    if (now - flow->moved_ns < s->report.params.timeout_ns)
        return 0;
    return nc_fail(&s->error, NC_EXIT_FAILED, "the receiver did not confirm the transfer within --timeout");
}

/* Checks one flow. Returns 0 when it continues, 1 when it is done, -1 when it failed. */
static int look_at(struct rttcp_session *s, int direction)
{
    struct rttcp_flow *flow = &s->flows[direction];
    if (flow->n == 0 || flow->confirmed)
        return 1;
    if (!rttcp_flow_finished(flow))
        return 0;
    s->ended[direction] = rttcp_flow_ended(flow, &s->error);
    if (s->ended[direction] == ENDED_ERROR) {
        struct nc_error broken = s->error;
        if (take_messages(s, nc_now_ns() + EXPLAIN_NS) == 0) /* the peer often explains a reset */
            s->error = broken;
        return -1;
    }
    if (flow->sending) {
        flow->confirmed = flow->elapsed_ns > 0;
        return flow->confirmed ? 1 : check_patience(s, direction);
    }
    flow->elapsed_ns = nc_now_ns() - s->t0_ns;
    flow->confirmed = true;
    return send_message(s, number_message("confirm", direction, rttcp_flow_bytes(flow))) < 0 ? -1 : 1;
}

/* A stop was requested here. At -r the session fails; at -t the senders of both ends stop sending, and the session
 * completes. */
static int stop(struct rttcp_session *s)
{
    if (s->report.serving)
        return nc_fail(&s->error, NC_EXIT_FAILED, "the receiver was stopped by a signal");
    s->finishing = true;
    atomic_store(&s->orders.finish, true);
    return send_message(s, rttcp_message("stop", NULL));
}

/* True when every direction is confirmed. The next message on the control connection is then for
 * rttcp_session_settle. */
static bool heard_all(const struct rttcp_session *s)
{
    for (int d = 0; d < DIRECTIONS; d++)
        if (s->flows[d].n && !s->flows[d].elapsed_ns)
            return false;
    return true;
}

static void nap(struct rttcp_session *s, uint64_t until_ns)
{
    uint64_t now = nc_now_ns(), left = until_ns > now ? until_ns - now : 0, count;
    struct pollfd ready[] = {{.fd = heard_all(s) ? -1 : s->control.channel.fd, .events = POLLIN},
                             {.fd = s->wake_fd, .events = POLLIN}};
    struct timespec wait = {.tv_sec = (time_t)(left / NC_NS_PER_S), .tv_nsec = (long)(left % NC_NS_PER_S)};
    ppoll(ready, 2, &wait, NULL);
    if (read(s->wake_fd, &count, sizeof count) < 0)
        errno = 0; /* no worker has ended */
}

/* At -r: notes when data last moved, and ends a session that has lasted for too long. */
static int check_limits(struct rttcp_session *s, uint64_t *moved)
{
    uint64_t now = nc_now_ns(), bytes = 0;
    for (int d = 0; d < DIRECTIONS; d++)
        if (s->flows[d].n)
            bytes += rttcp_flow_bytes(&s->flows[d]);
    if (s->moved_ns && (bytes != *moved || !bytes))
        atomic_store(s->moved_ns, bytes ? now : s->t0_ns);
    *moved = bytes;
    if (!s->end_ns || now < s->end_ns)
        return 0;
    return nc_fail(&s->error, NC_EXIT_FAILED, "the session has lasted as long as the receiver's --max-duration allows");
}

static int watch(struct rttcp_session *s)
{
    uint64_t progress_at = s->t0_ns + PROGRESS_NS, moved = 0;
    for (;;) {
        int done[DIRECTIONS];
        if (check_limits(s, &moved) < 0)
            return -1;
        if (rttcp_stop_requested() && !s->finishing && stop(s) < 0)
            return -1;
        for (int d = 0; d < DIRECTIONS; d++)
            if ((done[d] = look_at(s, d)) < 0)
                return -1;
        if (done[FORWARD] && done[REVERSE])
            return 0;
        /* one stream has failed, which ends all others */
        if (rttcp_flow_failed(&s->flows[FORWARD]) || rttcp_flow_failed(&s->flows[REVERSE]))
            atomic_store(&s->orders.cancel, true);
        bool awaiting = rttcp_flow_finished(&s->flows[FORWARD]) || rttcp_flow_finished(&s->flows[REVERSE]);
        uint64_t now = nc_now_ns(), slice = now + (awaiting || s->finishing ? RTTCP_SLICE_NS : PROGRESS_NS);
        nap(s, nc_min(slice, progress_at));
        if (!heard_all(s) && take_messages(s, 0) < 0)
            return -1;
        if (nc_now_ns() >= progress_at) {
            send_progress(s);
            progress_at = nc_now_ns() + PROGRESS_NS;
        }
    }
}

int rttcp_session_move(struct rttcp_session *s)
{
    int status = start(s) < 0 ? -1 : watch(s);
    if (status < 0)
        atomic_store(&s->orders.cancel, true);
    for (int d = 0; d < DIRECTIONS; d++) {
        struct rttcp_flow *flow = &s->flows[d];
        struct rttcp_side *ours = rttcp_report_ours(&s->report, d);
        if (flow->n == 0)
            continue;
        if (!flow->confirmed)
            flow->elapsed_ns = nc_now_ns() - s->t0_ns;
        rttcp_flow_join(flow);
        ours->partial = status < 0 || !flow->confirmed;
        s->report.details[d] = flow->meter.details;
        flow->meter.details = NULL;
        rttcp_report_side(ours, flow);
    }
    return status;
}
