/* The sender: propose, connect, send, await the receiver's confirmation, exchange results.
 * The clock of short_term_bps runs from before the data connection's connect() to the arrival of the confirmation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nc_clock.h"
#include "session.h"
#include "sock.h"
#include "stop.h"
#include "window.h"

struct sender {
    const struct rttcp_settings *settings;
    const struct rttcp_output *output;
    struct rttcp_control control;
    struct rttcp_accept accept;
    struct rttcp_transfer transfer;
    struct rttcp_meter meter;
    struct rttcp_report report;
    struct rusage before;
    uint64_t connect_ns, elapsed_ns;
    enum rttcp_ended ended;
    struct rttcp_error error;
};

/* What can be known to be wrong before anybody is connected to. */
static int check_machine(struct sender *s)
{
    int fd = rttcp_data_socket(AF_INET, &s->report.params, &s->error);
    if (fd < 0)
        return -1;
    close(fd);
    if (!s->settings->samples)
        return 0;
    FILE *file = fopen(s->settings->samples, "we");
    if (!file)
        return rttcp_fail(&s->error, NC_EXIT_USAGE, "--samples '%s': %s", s->settings->samples, strerror(errno));
    fclose(file);
    return 0;
}

static int say_hello(struct sender *s)
{
    char why[160];
    uint64_t deadline = nc_now_ns() + RTTCP_HANDSHAKE_NS;
    if (rttcp_control_send(&s->control, rttcp_hello_encode(), deadline, &s->error) < 0)
        return -1;
    json_t *hello = rttcp_control_expect(&s->control, "hello", deadline, &s->error);
    int status = hello ? rttcp_hello_decode(hello, why, sizeof why) : -1;
    if (hello && status < 0)
        rttcp_fail(&s->error, NC_EXIT_FAILED, "the peer: %s", why);
    json_decref(hello);
    return status;
}

static int propose(struct sender *s)
{
    char why[200];
    uint64_t deadline = nc_now_ns() + RTTCP_HANDSHAKE_NS;
    json_t *proposal = rttcp_message("propose", json_pack("{s:o}", "params", rttcp_params_encode(&s->report.params)));
    if (rttcp_control_send(&s->control, proposal, deadline, &s->error) < 0)
        return -1;
    json_t *answer = rttcp_control_expect(&s->control, "accept", deadline, &s->error);
    int status = answer ? rttcp_accept_decode(answer, &s->accept, &s->report.params, why, sizeof why) : -1;
    if (answer && status < 0)
        rttcp_fail(&s->error, NC_EXIT_FAILED, "control connection: the peer's answer: %s", why);
    json_decref(answer);
    memcpy(s->report.session, s->accept.session, sizeof s->report.session);
    return status;
}

static int negotiate(struct sender *s)
{
    const struct rttcp_settings *settings = s->settings;
    s->control.fd = rttcp_connect(settings->transmit, settings->bind, rttcp_family(settings->ipv4, settings->ipv6),
                                  (uint16_t)settings->port, RTTCP_HANDSHAKE_NS, &s->error);
    return s->control.fd < 0 || say_hello(s) < 0 || propose(s) < 0 ? -1 : 0;
}

static int open_data(struct sender *s)
{
    struct sockaddr_storage local = {0};
    struct rttcp_side *side = &s->report.sender;
    const struct rttcp_params *params = &s->report.params;
    size_t size = params->length_bytes > 65536 ? params->length_bytes : 65536; /* the opening's writes are long */
    getsockname(s->control.fd, (struct sockaddr *)&local, &(socklen_t){sizeof local});
    s->transfer.fd = rttcp_data_socket(local.ss_family, params, &s->error);
    if (s->transfer.fd < 0 || rttcp_transfer_prepare(&s->transfer, size, &s->error) < 0)
        return -1;
    struct nc_clock_pair now = nc_clock_pair_read();
    getrusage(RUSAGE_SELF, &s->before);
    s->transfer.t0_ns = side->t0_monotonic_ns = nc_now_ns();
    side->t0_realtime_ns = now.realtime_ns + (side->t0_monotonic_ns - now.monotonic_ns);
    if (rttcp_data_connect(s->transfer.fd, s->control.fd, (uint16_t)s->accept.port, RTTCP_HANDSHAKE_NS, &s->error) < 0)
        return -1;
    s->connect_ns = nc_now_ns() - s->transfer.t0_ns;
    rttcp_set_slice(s->transfer.fd, RTTCP_SLICE_NS);
    rttcp_side_describe(s->transfer.fd, side);
    side->window_requested_bytes = params->window_bytes;
    side->window_granted_bytes = s->accept.window_granted_bytes;
    return 0;
}

/* The receiver's word that its application has read everything. Data still under way counts as progress. */
static int await_confirmation(struct sender *s)
{
    uint64_t left = UINT64_MAX, moved_ns = nc_now_ns();
    while (nc_now_ns() - moved_ns < s->report.params.timeout_ns) {
        json_t *message = NULL;
        enum rttcp_got got = rttcp_control_poll(&s->control, nc_now_ns() + RTTCP_SLICE_NS, &message, &s->error);
        if (got == GOT_BAD)
            return -1;
        if (got == GOT_CLOSED)
            return rttcp_fail(&s->error, NC_EXIT_FAILED, "the receiver went away before it confirmed the transfer");
        if (got == GOT_MESSAGE) {
            bool confirmed = strcmp(rttcp_message_type(message), "confirm") == 0;
            if (!confirmed)
                rttcp_control_unexpected(message, "confirm", &s->error);
            json_decref(message);
            return confirmed ? 0 : -1;
        }
        uint64_t now_left = rttcp_unacknowledged(s->transfer.fd);
        if (now_left != left)
            moved_ns = nc_now_ns();
        left = now_left;
    }
    return rttcp_fail(&s->error, NC_EXIT_FAILED, "the receiver did not confirm the transfer within --timeout");
}

/* A reset data connection is often explained on the control connection. */
static void ask_why(struct sender *s)
{
    struct rttcp_error told;
    json_t *message = NULL;
    if (rttcp_control_poll(&s->control, nc_now_ns() + 2 * RTTCP_SLICE_NS, &message, &told) != GOT_MESSAGE)
        return;
    if (strcmp(rttcp_message_type(message), "abort") == 0)
        rttcp_control_unexpected(message, "confirm", &s->error);
    json_decref(message);
}

static void print_interval(void *context, const struct rttcp_interval *interval)
{
    rttcp_output_interval(context, interval);
}

static int move(struct sender *s)
{
    const struct rttcp_params *params = &s->report.params;
    s->meter = (struct rttcp_meter){.fd = s->transfer.fd, .t0_ns = s->transfer.t0_ns, .interval_ns = params->interval_ns,
                                    .sample_ns = s->settings->samples ? s->settings->sample_ns : 0,
                                    .bytes = &s->transfer.bytes, .on_interval = print_interval,
                                    .context = (void *)(uintptr_t)s->output};
    if (!rttcp_meter_start(&s->meter))
        return rttcp_fail(&s->error, NC_EXIT_MISSING, "no thread to be had for the samples");
    s->ended = rttcp_transfer_open(&s->transfer, params, &s->error);
    atomic_store(&s->meter.watch_window, true);
    if (s->ended == ENDED_N)
        s->ended = rttcp_transfer_send(&s->transfer, params, &s->error);
    int status = s->ended == ENDED_ERROR ? -1 : 0;
    if (status == 0) {
        shutdown(s->transfer.fd, SHUT_WR);
        status = await_confirmation(s);
    } else
        ask_why(s);
    s->elapsed_ns = nc_now_ns() - s->transfer.t0_ns;
    rttcp_meter_stop(&s->meter);
    s->report.sender.elapsed_ns = s->elapsed_ns;
    rttcp_side_describe(s->transfer.fd, &s->report.sender);
    rttcp_report_side(&s->report.sender, s->transfer.fd, &s->transfer, &s->meter, &s->before);
    return status;
}

/* Called whatever happened to the transfer: what was measured is kept and printed. */
static int settle(struct sender *s, int status)
{
    struct rttcp_error samples = {0};
    if (status == 0)
        status = rttcp_receive_result(&s->control, &s->report.receiver, NULL, &s->error);
    if (status < 0)
        memcpy(s->report.error, s->error.text, sizeof s->report.error);
    rttcp_report_summarise(&s->report, s->connect_ns, s->elapsed_ns, s->ended);
    if (status == 0)
        rttcp_send_result(&s->control, &s->report.sender, &s->report.summary, &samples);
    rttcp_output_end(s->output, &s->report);
    if (s->settings->samples && rttcp_samples_write(&s->meter.samples, s->settings->samples, &samples) < 0 && status == 0) {
        s->error = samples;
        status = -1;
    }
    return status;
}

static void release(struct sender *s)
{
    rttcp_samples_release(&s->meter.samples);
    rttcp_report_release(&s->report);
    rttcp_transfer_release(&s->transfer);
    if (s->transfer.fd >= 0)
        close(s->transfer.fd);
    if (s->control.fd >= 0)
        close(s->control.fd);
    free(s);
}

int rttcp_sender_run(const struct rttcp_settings *settings, const struct rttcp_output *output)
{
    struct sender *s = calloc(1, sizeof *s);
    if (!s)
        return NC_EXIT_MISSING;
    s->settings = settings;
    s->output = output;
    s->control.fd = s->transfer.fd = -1;
    s->report.params = rttcp_settings_params(settings);
    int status = check_machine(s) < 0 || negotiate(s) < 0 || open_data(s) < 0 ? -1 : 0;
    if (status == 0) {
        rttcp_output_start(output, &s->report);
        status = settle(s, move(s));
    }
    if (status < 0)
        rttcp_output_error(output, &s->error);
    int exit_status = status < 0 ? s->error.status : s->report.summary.complete || s->ended == ENDED_SIGNAL ? NC_EXIT_OK
                                                                                                            : NC_EXIT_FAILED;
    release(s);
    return exit_status;
}
