/* The life of a session: its memory, its clock, and the exchange of results after the bytes were moved. */
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "nc_clock.h"
#include "stop.h"

#define LAST_WORDS_NS (2 * NC_NS_PER_S) /* time for the peer's accounts after a failure */

struct rttcp_session *rttcp_session_create(const struct rttcp_output *output, int control_fd, bool serving)
{
    struct rttcp_session *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->output = output;
    session->control.channel = rttcp_channel_plain(control_fd);
    session->control.stop_requested = rttcp_stop_requested;
    session->report.serving = serving;
    session->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return session;
}

void rttcp_session_release(struct rttcp_session *session)
{
    for (int d = 0; d < DIRECTIONS; d++)
        rttcp_flow_release(&session->flows[d]);
    rttcp_report_release(&session->report);
    rttcp_channel_close(&session->control.channel);
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
    return rttcp_flow_create(&s->flows[REVERSE], serving, params->reverse, params->forward, params, &s->orders,
                             &s->error);
}

struct rttcp_transfer *rttcp_session_stream(struct rttcp_session *s, uint64_t i)
{
    uint64_t forward = s->flows[FORWARD].n;
    return i < forward ? &s->flows[FORWARD].streams[i] : &s->flows[REVERSE].streams[i - forward];
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

/* At the serving end: makes its own summaries, based on the proposing end's. */
static void adopt(struct rttcp_session *s)
{
    for (int d = 0; d < DIRECTIONS; d++)
        if (rttcp_report_has(&s->report, d))
            rttcp_report_adopt(&s->report, d);
}

void rttcp_session_judge(struct rttcp_session *s, int status)
{
    if (status < 0)
        memcpy(s->report.error, s->error.text, sizeof s->report.error);
    if (s->report.serving && status == 0)
        adopt(s);
    else
        summarise(s);
}

int rttcp_session_settle(struct rttcp_session *s, int status)
{
    struct nc_error late = {0};
    uint64_t deadline = nc_now_ns() + (status < 0 ? LAST_WORDS_NS : RTTCP_HANDSHAKE_NS);
    if (status < 0)
        rttcp_control_connection_send(&s->control, rttcp_reason_encode("abort", NC_EXIT_FAILED, s->error.text),
                                      deadline, &late);
    if (s->report.serving || status < 0) /* the proposing end needs our accounts for its summary */
        if (rttcp_send_result(s, deadline, &late) < 0 && status == 0)
            status = -1;
    if (late.text[0] == 0 && rttcp_receive_result(s, deadline, &late) < 0 && status == 0)
        status = -1;
    if (status < 0 && !s->error.text[0])
        s->error = late;
    rttcp_session_judge(s, status);
    if (!s->report.serving && status == 0)
        status = rttcp_send_result(s, nc_now_ns() + RTTCP_HANDSHAKE_NS, &late) < 0 ? 0 : status;
    return status;
}

int rttcp_session_write_samples(const struct rttcp_session *s, FILE *file, const char *path, struct nc_error *error)
{
    const struct rttcp_samples *all[DIRECTIONS] = {&s->flows[FORWARD].meter.samples, &s->flows[REVERSE].meter.samples};
    return rttcp_samples_write(all, DIRECTIONS, file, path, error);
}

int rttcp_session_write_latencies(const struct rttcp_session *s, FILE *file, const char *path, struct nc_error *error)
{
    bool written = true;
    const struct rttcp_flow *flow = &s->flows[FORWARD];
    for (uint64_t i = 0; i < flow->n && written; i++)
        written = rttcp_latencies_write(&flow->streams[i].rr->latencies, flow->streams[i].stream, file);
    written = fclose(file) == 0 && written;
    return written ? 0
                   : nc_fail(error, NC_EXIT_FAILED, "--latencies '%s': %s; not all of it was written", path,
                             strerror(errno));
}

int rttcp_session_status(const struct rttcp_session *s, int status)
{
    if (status < 0)
        return s->error.status;
    if (s->report.mismatch[0])
        return NC_EXIT_FAILED;
    return rttcp_report_complete(&s->report) || s->finishing ? NC_EXIT_OK : NC_EXIT_FAILED;
}
