/* One session of the receiver, in a process of its own: a crash stays inside, and rusage is exactly the session's. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nc_clock.h"
#include "session.h"
#include "sock.h"
#include "stop.h"
#include "tcpinfo.h"
#include "window.h"

#define READ_BYTES (256 << 10) /* of a recv: large enough to be rare, small enough to stay in the cache */

struct receiver {
    const struct rttcp_settings *settings;
    const struct rttcp_output *output;
    struct rttcp_control control;
    int listen_fd;
    struct rttcp_transfer transfer;
    struct rttcp_meter meter;
    struct rttcp_report report;
    struct rusage before;
    char peer[80];
    struct rttcp_error error;
};

/* Tells the peer why, prints it, and returns the status of a process that had no session. */
static int refuse(struct receiver *r)
{
    struct rttcp_error ignored;
    rttcp_control_send(&r->control, rttcp_reason_encode("refuse", r->error.status, r->error.text),
                       nc_now_ns() + NC_NS_PER_S, &ignored);
    rttcp_output_refused(r->output, r->peer, &r->error);
    return RTTCP_NO_SESSION;
}

/* 0, or RTTCP_NO_SESSION. Who says nothing sensible gets no answer. */
static int take_hello(struct receiver *r, uint64_t deadline)
{
    char why[160];
    json_t *hello = rttcp_control_expect(&r->control, "hello", deadline, &r->error);
    if (!hello) {
        nc_log("%s: dropped: %s", r->peer, r->error.text);
        return RTTCP_NO_SESSION;
    }
    int status = rttcp_hello_decode(hello, why, sizeof why);
    json_decref(hello);
    if (status == 0 && rttcp_control_send(&r->control, rttcp_hello_encode(), deadline, &r->error) == 0)
        return 0;
    if (status < 0)
        rttcp_fail(&r->error, NC_EXIT_FAILED, "%s", why);
    return refuse(r);
}

static void name_session(struct rttcp_report *report)
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        random = nc_now_ns();
    snprintf(report->session, sizeof report->session, "%016llx", (unsigned long long)random);
}

static int take_proposal(struct receiver *r, uint64_t deadline)
{
    char why[200];
    struct rttcp_params *params = &r->report.params;
    json_t *proposal = rttcp_control_expect(&r->control, "propose", deadline, &r->error);
    if (!proposal) {
        nc_log("%s: dropped: %s", r->peer, r->error.text);
        return RTTCP_NO_SESSION;
    }
    int status = rttcp_params_decode(json_object_get(proposal, "params"), params, why, sizeof why);
    json_decref(proposal);
    if (status < 0)
        rttcp_fail(&r->error, NC_EXIT_FAILED, "%s", why);
    else
        r->listen_fd = rttcp_data_listen(r->control.fd, (uint16_t)r->settings->data_port, params->window_bytes, &r->error);
    return r->listen_fd < 0 ? refuse(r) : 0;
}

/* Accepts the proposal, then the data connection; sets the window on it. */
static int open_data(struct receiver *r)
{
    struct rttcp_side *side = &r->report.receiver;
    struct rttcp_tcpinfo info = {0};
    uint64_t window = r->report.params.window_bytes, deadline = nc_now_ns() + RTTCP_HANDSHAKE_NS;
    struct rttcp_accept accept = {.port = rttcp_local_port(r->listen_fd), .window_granted_bytes = window};
    name_session(&r->report);
    memcpy(accept.session, r->report.session, sizeof accept.session);
    if (rttcp_transfer_prepare(&r->transfer, READ_BYTES, &r->error) < 0 ||
        rttcp_control_send(&r->control, rttcp_accept_encode(&accept, &r->report.params), deadline, &r->error) < 0)
        return -1;
    r->transfer.fd = rttcp_data_accept(r->listen_fd, r->control.fd, deadline, &r->error);
    if (r->transfer.fd < 0 || (window && rttcp_window_set(r->transfer.fd, window, &r->error) < 0))
        return -1;
    struct nc_clock_pair now = nc_clock_pair_read();
    getrusage(RUSAGE_SELF, &r->before);
    r->transfer.t0_ns = side->t0_monotonic_ns = now.monotonic_ns;
    side->t0_realtime_ns = now.realtime_ns;
    rttcp_set_slice(r->transfer.fd, RTTCP_SLICE_NS);
    rttcp_tcpinfo_take(r->transfer.fd, &info);
    side->window_scale = rttcp_tcpinfo_get(&info, "rcv_wscale");
    side->window_requested_bytes = window;
    side->window_granted_bytes = rttcp_window_granted(window, side->window_scale);
    return 0;
}

static int move(struct receiver *r)
{
    struct rttcp_side *side = &r->report.receiver;
    r->meter = (struct rttcp_meter){.fd = -1, .t0_ns = r->transfer.t0_ns, .interval_ns = r->report.params.interval_ns,
                                    .bytes = &r->transfer.bytes};
    if (!rttcp_meter_start(&r->meter))
        return rttcp_fail(&r->error, NC_EXIT_MISSING, "no thread to be had for the intervals");
    enum rttcp_ended ended = rttcp_transfer_receive(&r->transfer, &r->report.params, &r->error);
    side->elapsed_ns = nc_now_ns() - r->transfer.t0_ns;
    int status = ended == ENDED_BYTES ? 0 : -1;
    if (status == 0) { /* at once: the sender's clock is running */
        json_t *confirm = rttcp_message("confirm", json_pack("{s:I}", "bytes", (json_int_t)atomic_load(&r->transfer.bytes)));
        status = rttcp_control_send(&r->control, confirm, nc_now_ns() + RTTCP_HANDSHAKE_NS, &r->error);
    }
    rttcp_meter_stop(&r->meter);
    rttcp_side_describe(r->transfer.fd, side);
    side->window_clamp_bytes = rttcp_window_clamp(r->transfer.fd);
    rttcp_report_side(side, r->transfer.fd, &r->transfer, &r->meter, &r->before);
    return status;
}

/* Both accounts if all went well; else what is known here, and the reason to the peer. */
static int settle(struct receiver *r, int status)
{
    struct rttcp_error ignored;
    struct rttcp_report *report = &r->report;
    if (status == 0)
        status = rttcp_send_result(&r->control, &report->receiver, NULL, &r->error);
    if (status == 0)
        status = rttcp_receive_result(&r->control, &report->sender, &report->summary, &r->error);
    if (status == 0)
        return 0;
    rttcp_control_send(&r->control, rttcp_reason_encode("abort", NC_EXIT_FAILED, r->error.text), nc_now_ns() + NC_NS_PER_S,
                       &ignored);
    memcpy(report->error, r->error.text, sizeof report->error);
    report->summary = (struct rttcp_summary){.bytes = report->receiver.bytes, .elapsed_ns = report->receiver.elapsed_ns,
                                             .peak_bps = report->receiver.peak_bps,
                                             .first_byte_ns = report->receiver.first_byte_ns, .ended_by = "error"};
    return status;
}

static int serve(struct receiver *r)
{
    uint64_t deadline = nc_now_ns() + RTTCP_HANDSHAKE_NS;
    if (take_hello(r, deadline) != 0 || take_proposal(r, deadline) != 0)
        return RTTCP_NO_SESSION;
    if (open_data(r) < 0)
        settle(r, -1);
    else
        settle(r, move(r));
    r->report.at_receiver = true;
    rttcp_output_end(r->output, &r->report);
    if (r->report.error[0])
        nc_log("%s: session %s: %s", r->peer, r->report.session, r->report.error);
    return r->report.error[0] ? NC_EXIT_FAILED : NC_EXIT_OK;
}

int rttcp_receiver_session(int control_fd, const struct rttcp_settings *settings, const struct rttcp_output *output)
{
    struct sockaddr_storage address = {0};
    struct receiver *r = calloc(1, sizeof *r);
    if (!r)
        return NC_EXIT_MISSING;
    r->settings = settings;
    r->output = output;
    r->control.fd = control_fd;
    r->listen_fd = r->transfer.fd = -1;
    getpeername(control_fd, (struct sockaddr *)&address, &(socklen_t){sizeof address});
    rttcp_address_text(&address, r->peer, sizeof r->peer);
    int status = serve(r);
    rttcp_report_release(&r->report);
    rttcp_transfer_release(&r->transfer);
    if (r->transfer.fd >= 0)
        close(r->transfer.fd);
    if (r->listen_fd >= 0)
        close(r->listen_fd);
    close(control_fd);
    free(r);
    return status;
}
