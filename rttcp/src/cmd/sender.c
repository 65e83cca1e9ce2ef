/* The proposing end (-t): proposes, connects, moves the bytes and exchanges accounts. It usually sends; with --reverse
 * it receives. The clock of short_term_bps starts before connect() of the data connections. It stops when the
 * receiver's confirmation arrives or, if this end receives, when the last stream ends. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "affinity.h"
#include "nc_clock.h"
#include "roles.h"
#include "session.h"
#include "sock.h"
#include "stop.h"
#include "tls.h"
#include "window.h"

struct sender {
    struct rttcp_session *s;
    const struct rttcp_settings *settings;
};

/* Makes an option's file, if there is one, empty before the transfer, so that a wrong name costs none. */
static int empty(const char *option, const char *path, struct nc_error *error)
{
    FILE *file = path ? rttcp_file_open(option, path, error) : NULL;
    if (file)
        fclose(file);
    return file || !path ? 0 : -1;
}

/* Checks the options and this machine before it connects. */
static int check_machine(struct sender *sender)
{
    struct rttcp_session *s = sender->s;
    const struct rttcp_settings *settings = sender->settings;
    const struct rttcp_params *params = &s->report.params;
    for (int sending = 0; sending < 2; sending++) {
        if ((sending ? params->forward : params->reverse) == 0)
            continue;
        int fd = rttcp_data_socket(AF_INET, params, sending, &s->error);
        if (fd < 0)
            return -1;
        close(fd);
    }
    if (rttcp_affinity_set("cpu", settings->cpu, &s->error) < 0)
        return -1;
    return empty("samples", settings->samples, &s->error) < 0 ? -1 : empty("latencies", settings->latencies, &s->error);
}

/* Begins TLS when there is a key, before any message is sent, so that none is unprotected. */
static int secure(struct sender *sender)
{
    bool stranger;
    struct rttcp_session *s = sender->s;
    struct rttcp_channel *channel = &s->control.channel;
    const struct rttcp_key *key = &sender->settings->key;
    if (!key->given)
        return 0;
    if (rttcp_tls_begin(channel, key, false, rttcp_stop_requested, nc_now_ns() + RTTCP_HANDSHAKE_NS, &stranger,
                        &s->error) < 0)
        return -1;
    s->report.ways[FORWARD].preface_bytes = RTTCP_JOIN_OCTETS;
    return rttcp_tls_join_key(channel, &s->join, &s->error);
}

/* Returns whether somebody on the path reflects the connection (RFC 9257, 4.1). Then the answer has this host's mark,
 * although the receiver's address is not an address of this host. */
static int check_host(struct sender *sender, const char *theirs)
{
    char text[80];
    struct sockaddr_storage peer = {0};
    struct rttcp_session *s = sender->s;
    const char *ours = sender->settings->key.host;
    getpeername(s->control.channel.fd, (struct sockaddr *)&peer, &(socklen_t){sizeof peer});
    if (!sender->settings->key.given || !ours[0] || strcmp(ours, theirs) != 0 || rttcp_is_here(&peer))
        return 0;
    rttcp_address_text(&peer, text, sizeof text);
    return nc_fail(
        &s->error, NC_EXIT_FAILED,
        "--key: %s is not an address of this host, but this host's own receiver answers: something on the path "
        "sends it back",
        text);
}

static int say_hello(struct sender *sender)
{
    struct nc_error wrong;
    char host[RTTCP_HOST_TEXT] = "";
    struct rttcp_session *s = sender->s;
    uint64_t deadline = nc_now_ns() + RTTCP_HANDSHAKE_NS;
    if (rttcp_control_connection_send(&s->control, rttcp_hello_encode(false, sender->settings->key.host), deadline,
                                      &s->error) < 0)
        return -1;
    json_t *hello = rttcp_control_connection_expect(&s->control, "hello", deadline, &s->error);
    int status = hello ? rttcp_hello_decode(hello, false, host, &wrong) : -1;
    if (hello && status < 0)
        nc_fail(&s->error, NC_EXIT_FAILED, "the peer: %s", wrong.text);
    json_decref(hello);
    return status < 0 ? -1 : check_host(sender, host);
}

/* The receiver may refuse the proposal but not change it: the session continues with the parameters that this end
 * proposed. */
static int check_answer(struct sender *sender, const json_t *answer)
{
    struct rttcp_session *s = sender->s;
    struct nc_error wrong;
    struct rttcp_params answered;
    const struct rttcp_params *proposed = &s->report.params;
    if (rttcp_accept_decode(answer, &s->accept, &answered, &wrong) < 0 ||
        rttcp_params_compare(proposed, &answered, &wrong) < 0 ||
        rttcp_accept_check(&s->accept, proposed, (uint16_t)sender->settings->port, &wrong) < 0)
        return nc_fail(&s->error, NC_EXIT_FAILED, "control connection: the peer's answer: %s", wrong.text);
    memcpy(s->report.session, s->accept.session, sizeof s->report.session);
    return 0;
}

static int propose(struct sender *sender)
{
    struct rttcp_session *s = sender->s;
    uint64_t deadline = nc_now_ns() + RTTCP_HANDSHAKE_NS;
    json_t *proposal = rttcp_message("propose", json_pack("{s:o}", "params", rttcp_params_encode(&s->report.params)));
    if (rttcp_control_connection_send(&s->control, proposal, deadline, &s->error) < 0)
        return -1;
    json_t *answer = rttcp_control_connection_expect(&s->control, "accept", deadline, &s->error);
    int status = answer ? check_answer(sender, answer) : -1;
    json_decref(answer);
    return status;
}

/* Connects the control connection, through the proxy if there is one. */
static int reach(const struct rttcp_settings *settings, struct nc_error *error)
{
    const struct rttcp_proxy *proxy = &settings->proxy;
    uint64_t deadline = nc_now_ns() + RTTCP_HANDSHAKE_NS;
    bool direct = proxy->kind == RTTCP_PROXY_NONE;
    int fd = rttcp_connect(direct ? settings->transmit : proxy->host, direct ? "--transmit" : "--proxy", settings->bind,
                           rttcp_family(settings->ipv4, settings->ipv6),
                           direct ? (uint16_t)settings->port : proxy->port, RTTCP_HANDSHAKE_NS, error);
    for (int step = 0; fd >= 0 && !direct && step < RTTCP_PROXY_STEPS; step++)
        if (rttcp_proxy_step(proxy, fd, step, settings->transmit, (uint16_t)settings->port, deadline, error) < 0) {
            close(fd);
            fd = -1;
        }
    return fd;
}

static int negotiate(struct sender *sender)
{
    struct rttcp_session *s = sender->s;
    int fd = reach(sender->settings, &s->error);
    s->control.channel = rttcp_channel_plain(fd);
    return fd < 0 || secure(sender) < 0 || say_hello(sender) < 0 || propose(sender) < 0 ? -1 : 0;
}

/* Takes the steps of the proxy's protocol on all streams in parallel. */
static int pass_proxy(struct sender *sender, uint64_t deadline)
{
    struct rttcp_session *s = sender->s;
    const struct rttcp_settings *settings = sender->settings;
    for (int step = 0; step < RTTCP_PROXY_STEPS; step++)
        for (uint64_t i = 0; i < s->accept.streams; i++) {
            int fd = rttcp_session_stream(s, i)->fd;
            if ((step == 0 && rttcp_data_connected(fd, deadline, &s->error) < 0) ||
                rttcp_proxy_step(&settings->proxy, fd, step, settings->transmit, (uint16_t)s->accept.at[i].port,
                                 deadline, &s->error) < 0)
                return -1;
        }
    return 0;
}

/* Connects every stream; the clock starts before the first connect. */
static int open_streams(struct sender *sender)
{
    struct rttcp_session *s = sender->s;
    const struct rttcp_proxy *proxy = &sender->settings->proxy;
    bool direct = proxy->kind == RTTCP_PROXY_NONE;
    rttcp_session_clock(s);
    uint64_t deadline = nc_now_ns() + RTTCP_HANDSHAKE_NS;
    for (uint64_t i = 0; i < s->accept.streams; i++)
        if (rttcp_data_connect(rttcp_session_stream(s, i)->fd, s->control.channel.fd,
                               direct ? (uint16_t)s->accept.at[i].port : proxy->port, &s->error) < 0)
            return -1;
    if (!direct && pass_proxy(sender, deadline) < 0)
        return -1;
    for (uint64_t i = 0; i < s->accept.streams; i++) {
        int fd = rttcp_session_stream(s, i)->fd;
        bool sending = i < s->report.params.forward;
        if ((direct && rttcp_data_connected(fd, deadline, &s->error) < 0) ||
            rttcp_data_join(fd, &s->join, i, sending, &s->error) < 0)
            return -1;
    }
    s->connect_ns = nc_now_ns() - s->t0_ns;
    return 0;
}

static int prepare(struct sender *sender)
{
    struct rttcp_session *s = sender->s;
    if (rttcp_session_prepare(s) < 0)
        return -1;
    for (uint64_t i = 0; sender->settings->latencies && i < s->flows[FORWARD].n; i++)
        s->flows[FORWARD].streams[i].rr->latencies.wanted = true;
    return 0;
}

static int connect_all(struct sender *sender)
{
    struct rttcp_session *s = sender->s;
    const struct rttcp_params *params = &s->report.params;
    struct sockaddr_storage local = {0};
    getsockname(s->control.channel.fd, (struct sockaddr *)&local, &(socklen_t){sizeof local});
    for (uint64_t i = 0; i < s->accept.streams; i++)
        if ((rttcp_session_stream(s, i)->fd =
                 rttcp_data_socket(local.ss_family, params, i < params->forward, &s->error)) < 0)
            return -1;
    if (open_streams(sender) < 0)
        return -1;
    for (uint64_t i = 0; i < s->accept.streams; i++)
        if (rttcp_data_established(rttcp_session_stream(s, i)->fd, params, i < params->forward,
                                   i < params->forward ? params->forward : params->reverse, &s->error) < 0)
            return -1;
    return 0;
}

/* Describes the sockets of the first stream of each direction, for the `start` event. */
static void describe(struct rttcp_session *s)
{
    for (int d = 0; d < DIRECTIONS; d++) {
        struct rttcp_side *side = rttcp_report_ours(&s->report, d);
        uint64_t first = d == FORWARD ? 0 : s->report.params.forward;
        if (s->flows[d].n == 0)
            continue;
        rttcp_side_describe(s->flows[d].streams[0].fd, side);
        rttcp_socket_names(s->flows[d].streams[0].fd, side->local, side->remote);
        side->window_requested_bytes = s->report.params.window_bytes;
        side->window_granted_bytes = s->accept.at[first].window_granted_bytes;
        if (d == REVERSE)
            rttcp_report_window(side, s->flows[d].streams[0].fd, s->report.params.window_bytes);
    }
}

static int write_samples(struct sender *sender)
{
    struct rttcp_session *s = sender->s;
    const char *path = sender->settings->samples;
    FILE *file = path ? rttcp_file_open("samples", path, &s->error) : NULL;
    if (file)
        return rttcp_session_write_samples(s, file, path, &s->error);
    return path ? -1 : 0;
}

static int write_latencies(struct sender *sender)
{
    struct rttcp_session *s = sender->s;
    const char *path = sender->settings->latencies;
    FILE *file = path ? rttcp_file_open("latencies", path, &s->error) : NULL;
    if (file)
        return rttcp_session_write_latencies(s, file, path, &s->error);
    return path ? -1 : 0;
}

/* Moves the bytes over the connected streams and prints the results. Returns the exit status. */
static int transfer(struct sender *sender)
{
    struct rttcp_session *s = sender->s;
    describe(s);
    rttcp_output_start(s->output, &s->report);
    int status = rttcp_session_settle(s, rttcp_session_move(s));
    rttcp_output_end(s->output, &s->report);
    int exit_status = rttcp_session_status(s, status);
    if (status == 0 && s->report.mismatch[0])
        status =
            nc_fail(&s->error, NC_EXIT_FAILED, "%s%s", s->report.params.verify ? "--verify: " : "", s->report.mismatch);
    if (write_samples(sender) < 0 || write_latencies(sender) < 0) {
        status = -1;
        exit_status = exit_status ? exit_status : s->error.status;
    }
    if (status < 0)
        rttcp_output_error(s->output, &s->error);
    return exit_status;
}

static int run_once(const struct rttcp_settings *settings, const struct rttcp_output *output)
{
    struct rttcp_session *s = rttcp_session_create(output, -1, false);
    struct sender sender = {s, settings};
    struct nc_error no_memory;
    if (!s) {
        nc_fail(&no_memory, NC_EXIT_MISSING, "no memory for a session");
        rttcp_output_no_session(output, &no_memory);
        return no_memory.status;
    }
    s->report.params = rttcp_settings_params(settings);
    s->sample_ns = settings->samples ? settings->sample_ns : 0;
    bool connected =
        check_machine(&sender) == 0 && negotiate(&sender) == 0 && prepare(&sender) == 0 && connect_all(&sender) == 0;
    int exit_status = s->error.status;
    if (connected)
        exit_status = transfer(&sender);
    else
        rttcp_output_no_session(output, &s->error);
    rttcp_session_release(s);
    return exit_status;
}

int rttcp_sender_run(const struct rttcp_settings *settings, const struct rttcp_output *output)
{
    int worst = NC_EXIT_OK;
    for (uint64_t i = 0; i < settings->repeat && !rttcp_stop_requested(); i++) {
        int status = run_once(settings, output);
        worst = status > worst ? status : worst;
        if (status > NC_EXIT_FAILED)
            break; /* a repetition would not help after a usage error or without a feature */
    }
    return worst;
}
