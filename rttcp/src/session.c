/* What both ends do alike: move the bytes, watch the control connection meanwhile, settle accounts. */
#include "session.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "nc_clock.h"
#include "stop.h"

#define PROGRESS_NS NC_NS_PER_S                /* between two progress messages: what the peer knows of us if we die */
#define EXPLAIN_NS (2 * RTTCP_SLICE_NS)        /* for the control connection to say why a data connection broke */
#define LAST_WORDS_NS (2 * NC_NS_PER_S)        /* for the peer's account after a failure */

struct rttcp_session *rttcp_session_create(const struct rttcp_settings *settings, const struct rttcp_output *output,
                                           int control_fd, bool serving)
{
    struct rttcp_session *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->settings = settings;
    session->output = output;
    session->control.fd = control_fd;
    session->report.serving = serving;
    session->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return session;
}

void rttcp_session_release(struct rttcp_session *session)
{
    for (int d = 0; d < DIRECTIONS; d++)
        rttcp_flow_release(&session->flows[d]);
    rttcp_report_release(&session->report);
    if (session->control.fd >= 0)
        close(session->control.fd);
    if (session->wake_fd >= 0)
        close(session->wake_fd);
    free(session);
}

int rttcp_session_prepare(struct rttcp_session *s)
{
    const struct rttcp_params *params = &s->report.params;
    bool serving = s->report.serving;
    if (rttcp_flow_create(&s->flows[FORWARD], !serving, params->forward, 0, params, &s->orders, &s->error) < 0)
        return -1;
    return rttcp_flow_create(&s->flows[REVERSE], serving, params->reverse, params->forward, params, &s->orders, &s->error);
}

void rttcp_session_clock(struct rttcp_session *s)
{
    struct nc_clock_pair now = nc_clock_pair_read();
    s->t0_ns = nc_now_ns();
    s->t0_realtime_ns = now.realtime_ns + (s->t0_ns - now.monotonic_ns);
    for (int d = 0; d < DIRECTIONS; d++) {
        struct rttcp_side *side = rttcp_report_ours(&s->report, d);
        side->t0_monotonic_ns = s->t0_ns;
        side->t0_realtime_ns = s->t0_realtime_ns;
        getrusage(RUSAGE_SELF, &s->flows[d].before);
    }
}

static void print_interval(void *context, const struct rttcp_interval *interval)
{
    rttcp_output_interval(context, interval);
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
        if (!s->report.serving) {
            flow->meter.sample_ns = s->settings->samples ? s->settings->sample_ns : 0;
            flow->meter.with_details = s->output->format == FORMAT_IPERF3;
            flow->meter.on_interval = d == rttcp_report_main(&s->report) ? print_interval : NULL;
            flow->meter.context = (void *)(uintptr_t)s->output;
        }
        if (rttcp_flow_start(flow, s->t0_ns, s->wake_fd, &s->error) < 0)
            return -1;
    }
    return 0;
}

static int send_message(struct rttcp_session *s, json_t *message)
{
    return rttcp_control_send(&s->control, message, nc_now_ns() + RTTCP_HANDSHAKE_NS, &s->error);
}

static json_t *number_message(const char *type, int direction, uint64_t bytes)
{
    return rttcp_message(type, json_pack("{s:i, s:I}", "direction", direction, "bytes", (json_int_t)bytes));
}

static void send_progress(struct rttcp_session *s)
{
    struct rttcp_error ignored; /* a peer that takes no messages is found out elsewhere */
    for (int d = 0; d < DIRECTIONS; d++)
        if (s->flows[d].n)
            rttcp_control_send(&s->control, number_message("progress", d, rttcp_flow_bytes(&s->flows[d])), nc_now_ns(),
                               &ignored);
}

/* All that will be known of the peer should it go away now. */
static void take_progress(struct rttcp_session *s, int direction, const json_t *message)
{
    struct rttcp_side *theirs = rttcp_report_theirs(&s->report, direction);
    json_int_t bytes = json_integer_value(json_object_get(message, "bytes"));
    theirs->bytes = bytes > 0 ? (uint64_t)bytes : 0;
    theirs->elapsed_ns = nc_now_ns() - s->t0_ns;
    theirs->partial = true;
}

/* Now is when the clock stops, although the worker that shut its connection down may not have said that it ended. A
 * receiver that has read it all while we are still sending has read something else. */
static int confirm(struct rttcp_session *s, int direction, const json_t *message)
{
    struct rttcp_flow *flow = &s->flows[direction];
    json_int_t bytes = json_integer_value(json_object_get(message, "bytes"));
    if (flow->sending && !flow->elapsed_ns)
        flow->elapsed_ns = nc_now_ns() - s->t0_ns;
    if (rttcp_flow_finished(flow) || (uint64_t)bytes == rttcp_flow_bytes(flow))
        return 0;
    return rttcp_fail(&s->error, NC_EXIT_FAILED,
                      "the receiver read its stream to an end after %" JSON_INTEGER_FORMAT " bytes, before all were sent: "
                      "somebody else was at its data port first", bytes);
}

static int handle(struct rttcp_session *s, const json_t *message)
{
    char why[120];
    uint64_t direction = 0;
    const char *type = rttcp_message_type(message);
    if (strcmp(type, "stop") == 0) {
        atomic_store(&s->orders.finish, true);
        s->finishing = true;
        return 0;
    }
    if (strcmp(type, "confirm") != 0 && strcmp(type, "progress") != 0)
        return rttcp_control_unexpected(message, "confirm", &s->error);
    if (rttcp_direction_decode(message, &direction, why, sizeof why) < 0 || s->flows[direction].n == 0)
        return rttcp_fail(&s->error, NC_EXIT_FAILED, "control connection: the peer's %s names no direction there is", type);
    if (type[0] == 'c')
        return confirm(s, (int)direction, message);
    take_progress(s, (int)direction, message);
    return 0;
}

/* Messages that are there, at most until `deadline`. */
static int take_messages(struct rttcp_session *s, uint64_t deadline_ns)
{
    for (;;) {
        json_t *message = NULL;
        enum rttcp_got got = rttcp_control_poll(&s->control, deadline_ns, &message, &s->error);
        if (got == GOT_NOTHING)
            return 0;
        if (got == GOT_BAD)
            return -1;
        if (got == GOT_CLOSED)
            return rttcp_fail(&s->error, NC_EXIT_FAILED, "the %s went away before the transfer was confirmed",
                              s->report.serving ? "sender" : "receiver");
        bool confirmed = strcmp(rttcp_message_type(message), "confirm") == 0; /* what follows may belong to settle */
        int status = handle(s, message);
        json_decref(message);
        if (status < 0 || confirmed)
            return status;
    }
}

/* A sender that awaits the confirmation. Progress is what its TCP hands over and, since a gateway may have taken all long
 * before it gets it through, what the receiver says that it has. */
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
    return rttcp_fail(&s->error, NC_EXIT_FAILED, "the receiver did not confirm the transfer within --timeout");
}

/* 0: goes on, 1: this flow is done, -1 */
static int look_at(struct rttcp_session *s, int direction)
{
    struct rttcp_flow *flow = &s->flows[direction];
    if (flow->n == 0 || flow->confirmed)
        return 1;
    if (!rttcp_flow_finished(flow))
        return 0;
    s->ended[direction] = rttcp_flow_ended(flow, &s->error);
    if (s->ended[direction] == ENDED_ERROR) {
        struct rttcp_error broken = s->error;
        if (take_messages(s, nc_now_ns() + EXPLAIN_NS) == 0) /* a reset is often explained there */
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

/* -r is stopped: the session fails. -t is stopped: both ends' senders end in order. */
static int stop(struct rttcp_session *s)
{
    if (s->report.serving)
        return rttcp_fail(&s->error, NC_EXIT_FAILED, "the receiver was stopped by a signal");
    s->finishing = true;
    atomic_store(&s->orders.finish, true);
    return send_message(s, rttcp_message("stop", NULL));
}

/* Every direction is confirmed: what the control connection has next is for rttcp_session_settle. */
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
    struct pollfd ready[] = {{.fd = heard_all(s) ? -1 : s->control.fd, .events = POLLIN},
                             {.fd = s->wake_fd, .events = POLLIN}};
    struct timespec wait = {.tv_sec = (time_t)(left / NC_NS_PER_S), .tv_nsec = (long)(left % NC_NS_PER_S)};
    ppoll(ready, 2, &wait, NULL);
    if (read(s->wake_fd, &count, sizeof count) < 0)
        errno = 0; /* nobody ended */
}

static int watch(struct rttcp_session *s)
{
    uint64_t progress_at = s->t0_ns + PROGRESS_NS;
    for (;;) {
        int done[DIRECTIONS];
        if (rttcp_stop_requested() && !s->finishing && stop(s) < 0)
            return -1;
        for (int d = 0; d < DIRECTIONS; d++)
            if ((done[d] = look_at(s, d)) < 0)
                return -1;
        if (done[FORWARD] && done[REVERSE])
            return 0;
        if (rttcp_flow_failed(&s->flows[FORWARD]) || rttcp_flow_failed(&s->flows[REVERSE])) /* the others are not awaited */
            atomic_store(&s->orders.cancel, true);
        bool awaiting = rttcp_flow_finished(&s->flows[FORWARD]) || rttcp_flow_finished(&s->flows[REVERSE]);
        uint64_t now = nc_now_ns(), slice = now + (awaiting || s->finishing ? RTTCP_SLICE_NS : PROGRESS_NS);
        nap(s, slice < progress_at ? slice : progress_at);
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

static void summarise(struct rttcp_session *s)
{
    for (int d = 0; d < DIRECTIONS; d++) {
        struct rttcp_summary *summary = &s->report.ways[d].summary;
        if (!rttcp_report_has(&s->report, d))
            continue;
        summary->connect_ns = s->connect_ns;
        summary->elapsed_ns = s->flows[d].elapsed_ns;
        rttcp_report_summarise(&s->report, d, s->finishing ? ENDED_SIGNAL : s->ended[d]);
    }
}

/* Of the end that does not make the summary: what was wrong with the octets, for its own error. */
static void repeat_mismatch(struct rttcp_session *s)
{
    for (int d = 0; d < DIRECTIONS; d++) {
        struct rttcp_way *way = &s->report.ways[d];
        struct rttcp_summary kept = way->summary;
        if (strcmp(kept.verified, "mismatch") != 0 && way->sender.bytes == way->receiver.bytes)
            continue;
        rttcp_report_summarise(&s->report, d, s->ended[d]);
        way->summary = kept;
    }
}

int rttcp_session_settle(struct rttcp_session *s, int status)
{
    struct rttcp_error late = {0};
    uint64_t deadline = nc_now_ns() + (status < 0 ? LAST_WORDS_NS : RTTCP_HANDSHAKE_NS);
    if (status < 0)
        rttcp_control_send(&s->control, rttcp_reason_encode("abort", NC_EXIT_FAILED, s->error.text), deadline, &late);
    if (s->report.serving || status < 0) /* the proposing end's summary needs our account first */
        if (rttcp_send_result(s, deadline, &late) < 0 && status == 0)
            status = -1;
    if (late.text[0] == 0 && rttcp_receive_result(s, deadline, &late) < 0 && status == 0)
        status = -1;
    if (status < 0 && !s->error.text[0])
        s->error = late;
    if (status < 0)
        memcpy(s->report.error, s->error.text, sizeof s->report.error);
    if (!s->report.serving || status < 0)
        summarise(s);
    else
        repeat_mismatch(s);
    if (!s->report.serving && status == 0)
        status = rttcp_send_result(s, nc_now_ns() + RTTCP_HANDSHAKE_NS, &late) < 0 ? 0 : status;
    return status;
}

int rttcp_session_status(const struct rttcp_session *s, int status)
{
    if (status < 0)
        return s->error.status;
    if (s->report.mismatch[0])
        return NC_EXIT_FAILED;
    return rttcp_report_complete(&s->report) || s->finishing ? NC_EXIT_OK : NC_EXIT_FAILED;
}
