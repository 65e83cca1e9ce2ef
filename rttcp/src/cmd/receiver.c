/* The serving end (-r): one session in a process of its own. So a crash ends one session only, and rusage is exactly
 * that session's. It usually receives; it sends when the proposal says so. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "affinity.h"
#include "first_message.h"
#include "nc_clock.h"
#include "nc_log.h"
#include "nc_quantity.h"
#include "nc_range.h"
#include "roles.h"
#include "session.h"
#include "sock.h"
#include "stop.h"
#include "tls.h"
#include "window.h"

struct receiver {
    struct rttcp_session *s;
    const struct rttcp_settings *settings;
    int listeners[RTTCP_STREAMS_MAX]; /* one for each stream; -1: none */
    char peer[80];
    const struct rttcp_places *places;
    uint64_t place;
    FILE *samples; /* NULL: none are wanted */
};

/* Prints the reason, which the peer already knows. Returns the status of a process that had no session. */
static int note_refusal(struct receiver *r)
{
    rttcp_output_refused(r->s->output, r->peer, &r->s->error);
    return RTTCP_NO_SESSION;
}

/* Tells the peer the reason, prints it, and returns the status of a process that had no session. */
static int refuse(struct receiver *r)
{
    struct nc_error ignored, *error = &r->s->error;
    rttcp_control_connection_send(&r->s->control, rttcp_reason_encode("refuse", error->status, error->text),
                                  nc_now_ns() + NC_NS_PER_S, &ignored);
    return note_refusal(r);
}

static int drop(struct receiver *r)
{
    nc_log("%s: dropped: %s", r->peer, r->s->error.text);
    return RTTCP_NO_SESSION;
}

/* Begins TLS when there is a key. The first octet shows whether the peer uses TLS, that is, has a key; the whole first
 * message has already arrived (pending.h). Returns 0 or RTTCP_NO_SESSION. */
static int secure(struct receiver *r, uint64_t deadline)
{
    uint8_t first = 0;
    bool stranger = false;
    struct rttcp_session *s = r->s;
    struct rttcp_channel *channel = &s->control.channel;
    bool has_first = recv(channel->fd, &first, 1, MSG_PEEK) == 1;
    if (!has_first || !rttcp_first_is_tls(&first, &first + 1))
        return 0; /* take_hello answers */
    if (!r->settings->key.given) {
        rttcp_tls_refuse(channel->fd);
        nc_fail(&s->error, NC_EXIT_USAGE, "--key: the sender has a key, this receiver has none; give both --key FILE");
        return note_refusal(r);
    }
    if (rttcp_tls_begin(channel, &r->settings->key, true, rttcp_stop_requested, deadline, &stranger, &s->error) < 0)
        return stranger ? drop(r) : note_refusal(r);
    return rttcp_tls_join_key(channel, &s->join, &s->error) < 0 ? drop(r) : 0;
}

/* Returns 0 or RTTCP_NO_SESSION. A peer whose first message is not a hello gets no answer. */
static int take_hello(struct receiver *r, uint64_t deadline)
{
    struct rttcp_session *s = r->s;
    json_t *hello = rttcp_control_connection_expect(&s->control, "hello", deadline, &s->error);
    if (!hello)
        return drop(r);
    int status = rttcp_hello_decode(hello, true, NULL, &s->error);
    json_decref(hello);
    if (status == 0 && r->settings->key.given && !s->join.wanted)
        status = nc_fail(&s->error, NC_EXIT_USAGE, "the receiver wants a key: give --key FILE with the same content");
    if (status == 0 && rttcp_control_connection_send(&s->control, rttcp_hello_encode(true, r->settings->key.host),
                                                     deadline, &s->error) == 0)
        return 0;
    return refuse(r);
}

static void name_session(struct rttcp_report *report)
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        random = nc_now_ns();
    snprintf(report->session, sizeof report->session, "%016llx", (unsigned long long)random);
}

static int listen_all(struct receiver *r)
{
    struct rttcp_session *s = r->s;
    const struct rttcp_params *params = &s->report.params;
    uint16_t port = (uint16_t)r->settings->data_port;
    s->accept.streams = params->forward + params->reverse;
    for (uint64_t i = 0; i < s->accept.streams; i++) {
        bool sending = i >= params->forward;
        r->listeners[i] =
            rttcp_data_listen(s->control.channel.fd, port ? (uint16_t)(port + i) : 0, params, sending, &s->error);
        if (r->listeners[i] < 0)
            return -1;
        s->accept.at[i] = (struct rttcp_port){.port = rttcp_local_port(r->listeners[i]),
                                              .window_granted_bytes = params->window_bytes};
    }
    return 0;
}

/* Memory for a session of one stream. This much is always granted, so nobody can use up --memory to keep others out.
 * With the maximum number of sessions this adds at most 256 MB to the default limit. */
#define SMALL_BYTES (UINT64_C(2) << 20)

/* The peer chooses the buffers' sizes, so a session reserves its part of --memory before it maps any buffer. */
static int reserve_memory(struct receiver *r)
{
    char want[40], left[40], most[40];
    const struct rttcp_params *params = &r->s->report.params;
    uint64_t wanted = 0, limit = r->settings->memory_bytes;
    for (uint64_t i = 0; i < params->forward + params->reverse; i++)
        wanted += rttcp_transfer_memory(params, i, i >= params->forward);
    if (wanted <= SMALL_BYTES)
        return 0;
    uint64_t got = rttcp_places_reserve(r->places, r->place, wanted, limit);
    if (got == wanted)
        return 0;
    return nc_fail(&r->s->error, NC_EXIT_MISSING,
                   "--length, --align, --offset: the receiver's buffers would take %s, and %s of its --memory %s are "
                   "left for this address; propose less or raise --memory",
                   nc_quantity_format(NC_UNIT_BYTES, wanted, want, sizeof want),
                   nc_quantity_format(NC_UNIT_BYTES, got, left, sizeof left),
                   nc_quantity_format(NC_UNIT_BYTES, limit, most, sizeof most));
}

/* A sender chooses the time-out and the duration of its session, within this end's limits. */
static int check_duration(struct receiver *r)
{
    char want[40], most[40];
    const struct rttcp_params *params = &r->s->report.params;
    uint64_t wanted = params->duration_ns + params->omit_ns, limit = r->settings->max_duration_ns;
    if (wanted <= limit)
        return 0;
    return nc_fail(&r->s->error, NC_EXIT_USAGE,
                   "--duration and --omit: %s together, and the receiver allows %s; ask for less or raise its "
                   "--max-duration",
                   nc_quantity_format(NC_UNIT_DURATION, wanted, want, sizeof want),
                   nc_quantity_format(NC_UNIT_DURATION, limit, most, sizeof most));
}

static int take_proposal(struct receiver *r, uint64_t deadline)
{
    struct rttcp_session *s = r->s;
    struct rttcp_params *params = &s->report.params;
    json_t *proposal = rttcp_control_connection_expect(&s->control, "propose", deadline, &s->error);
    if (!proposal)
        return drop(r);
    int status = rttcp_params_decode(json_object_get(proposal, "params"), params, &s->error);
    json_decref(proposal);
    if (status == 0)
        status = check_duration(r);
    if (status == 0)
        status = reserve_memory(r);
    if (status == 0)
        status = rttcp_affinity_narrow("peer-cpu", params->peer_cpu, &s->error);
    return status < 0 || listen_all(r) < 0 ? refuse(r) : 0;
}

static int accept_all(struct receiver *r, uint64_t deadline)
{
    struct rttcp_session *s = r->s;
    const struct rttcp_params *params = &s->report.params;
    for (uint64_t i = 0; i < s->accept.streams; i++) {
        bool sending = i >= params->forward;
        int fd = rttcp_session_stream(s, i)->fd =
            rttcp_data_accept(r->listeners[i], s->control.channel.fd, &s->join, i, deadline, &s->error);
        if (fd < 0)
            return -1;
        if (i == 0)
            rttcp_session_clock(s);
        if (rttcp_data_established(fd, params, sending, sending ? params->reverse : params->forward, &s->error) < 0)
            return -1;
    }
    return 0;
}

/* Sends `accept`, then accepts the data connections. */
static int open_data(struct receiver *r)
{
    struct rttcp_session *s = r->s;
    uint64_t window = s->report.params.window_bytes, deadline = nc_now_ns() + RTTCP_HANDSHAKE_NS;
    name_session(&s->report);
    memcpy(s->accept.session, s->report.session, sizeof s->accept.session);
    if (rttcp_session_prepare(s) < 0)
        return -1;
    if (rttcp_control_connection_send(&s->control, rttcp_accept_encode(&s->accept, &s->report.params), deadline,
                                      &s->error) < 0 ||
        accept_all(r, deadline) < 0)
        return -1;
    if (!rttcp_place_begin(&r->places->states[r->place]))
        return nc_fail(&s->error, NC_EXIT_FAILED, "the receiver gave this session's place to another peer");
    s->report.params.timeout_ns = nc_min(s->report.params.timeout_ns, r->settings->max_idle_ns);
    s->end_ns = s->t0_ns + r->settings->max_duration_ns;
    s->moved_ns = &r->places->states[r->place].moved_ns;
    for (int d = 0; d < DIRECTIONS; d++) {
        struct rttcp_side *side = rttcp_report_ours(&s->report, d);
        side->window_requested_bytes = side->window_granted_bytes = window;
        if (d == FORWARD && s->flows[d].n)
            rttcp_report_window(side, s->flows[d].streams[0].fd, window);
    }
    return 0;
}

/* Returns 0, or -1 after it has reported the reason. */
static int write_samples(struct receiver *r)
{
    struct nc_error error;
    if (!r->samples || rttcp_session_write_samples(r->s, r->samples, r->settings->samples, &error) == 0)
        return 0;
    nc_log("%s", error.text);
    return -1;
}

static int serve(struct receiver *r)
{
    struct rttcp_session *s = r->s;
    uint64_t deadline = nc_now_ns() + RTTCP_HANDSHAKE_NS;
    if (secure(r, deadline) != 0)
        return RTTCP_NO_SESSION;
    if (s->join.wanted &&
        /* the peer has proved that it has the key, so it keeps its place */
        !rttcp_place_begin(&r->places->states[r->place]))
        return RTTCP_NO_SESSION;
    if (take_hello(r, deadline) != 0 || take_proposal(r, deadline) != 0)
        return RTTCP_NO_SESSION;
    int status = rttcp_session_settle(s, open_data(r) < 0 ? -1 : rttcp_session_move(s));
    int written = write_samples(r); /* write the samples before the `end` event, because users read them after it */
    rttcp_output_end(s->output, &s->report);
    const char *text = s->report.error[0] ? s->report.error : s->report.mismatch;
    if (text[0])
        nc_log("%s: session %s: %s", r->peer, s->report.session, text);
    return status < 0 || written < 0 || text[0] ? NC_EXIT_FAILED : NC_EXIT_OK;
}

/* Keepalive: a peer whose machine has vanished is noticed after two minutes. */
static void notice_dead_peer(int fd)
{
    int on = 1, idle_s = 60, interval_s = 15, probes = 4;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

int rttcp_receiver_session(int control_fd, const struct rttcp_places *places, uint64_t place,
                           const struct rttcp_settings *settings, FILE *samples, const struct rttcp_output *output)
{
    int one = 1;
    struct sockaddr_storage address = {0};
    struct receiver r = {.s = rttcp_session_create(output, control_fd, true),
                         .settings = settings,
                         .places = places,
                         .place = place,
                         .samples = samples};
    if (!r.s)
        return NC_EXIT_MISSING;
    r.s->sample_ns = samples ? settings->sample_ns : 0;
    for (int i = 0; i < RTTCP_STREAMS_MAX; i++)
        r.listeners[i] = -1;
    /* Nagle's algorithm must not delay the confirmation */
    setsockopt(control_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    notice_dead_peer(control_fd);
    getpeername(control_fd, (struct sockaddr *)&address, &(socklen_t){sizeof address});
    rttcp_address_text(&address, r.peer, sizeof r.peer);
    int status = serve(&r);
    for (int i = 0; i < RTTCP_STREAMS_MAX; i++)
        if (r.listeners[i] >= 0)
            close(r.listeners[i]);
    rttcp_session_release(r.s);
    return status;
}
