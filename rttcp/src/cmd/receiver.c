/* The serving end (-r): one session in a process of its own. So a crash ends one session only, and rusage is exactly
 * that session's. It usually receives; it sends when the proposal says so. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "affinity.h"
#include "nc_clock.h"
#include "nc_log.h"
#include "roles.h"
#include "session.h"
#include "sock.h"
#include "window.h"

struct receiver {
    struct rttcp_session *s;
    const struct rttcp_settings *settings;
    int listeners[RTTCP_STREAMS_MAX]; /* one for each stream; -1: none */
    char peer[80];
    char challenge[RTTCP_CHALLENGE_TEXT];
    struct rttcp_proof proof; /* this end's */
};

/* Tells the peer the reason, prints it, and returns the status of a process that had no session. */
static int refuse(struct receiver *r)
{
    struct nc_error ignored, *error = &r->s->error;
    rttcp_control_connection_send(&r->s->control, rttcp_reason_encode("refuse", error->status, error->text),
                                  nc_now_ns() + NC_NS_PER_S, &ignored);
    rttcp_output_refused(r->s->output, r->peer, error);
    return RTTCP_NO_SESSION;
}

static int drop(struct receiver *r)
{
    nc_log("%s: dropped: %s", r->peer, r->s->error.text);
    return RTTCP_NO_SESSION;
}

/* Returns 0 or RTTCP_NO_SESSION. A peer whose first message is no hello gets no answer. */
static int take_hello(struct receiver *r, uint64_t deadline)
{
    char ignored[RTTCP_CHALLENGE_TEXT];
    struct rttcp_session *s = r->s;
    json_t *hello = rttcp_control_connection_expect(&s->control, "hello", deadline, &s->error);
    if (!hello)
        return drop(r);
    int status = rttcp_hello_decode(hello, ignored, &s->error);
    json_decref(hello);
    if (r->settings->key.size)
        rttcp_auth_challenge(r->challenge);
    if (status == 0 &&
        rttcp_control_connection_send(&s->control, rttcp_hello_encode(r->challenge), deadline, &s->error) == 0)
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

/* Checks the sender's proof, over the parameters as received, and makes this end's. */
static int check_key(struct receiver *r, const json_t *proposal)
{
    char wanted[RTTCP_PROOF_TEXT];
    struct rttcp_proof got;
    const struct rttcp_key *key = &r->settings->key;
    if (!key->size)
        return 0;
    char *text = json_dumps(json_object_get(proposal, "params"), JSON_COMPACT | JSON_SORT_KEYS);
    rttcp_proof_take(proposal, &got);
    rttcp_auth_prove(key, "sender", r->challenge, got.challenge, text ? text : "", wanted);
    bool same = rttcp_auth_same(wanted, got.proof);
    rttcp_auth_prove(key, "receiver", r->challenge, got.challenge, text ? text : "", r->proof.proof);
    free(text);
    return same ? 0 : nc_fail(&r->s->error, NC_EXIT_FAILED, "--key: the sender has another key, or none");
}

static int listen_all(struct receiver *r)
{
    struct rttcp_session *s = r->s;
    const struct rttcp_params *params = &s->report.params;
    uint16_t port = (uint16_t)r->settings->data_port;
    s->accept.streams = params->forward + params->reverse;
    for (uint64_t i = 0; i < s->accept.streams; i++) {
        bool sending = i >= params->forward;
        r->listeners[i] = rttcp_data_listen(s->control.fd, port ? (uint16_t)(port + i) : 0, params, sending, &s->error);
        if (r->listeners[i] < 0)
            return -1;
        s->accept.at[i] = (struct rttcp_port){.port = rttcp_local_port(r->listeners[i]),
                                              .window_granted_bytes = params->window_bytes};
    }
    return 0;
}

static int take_proposal(struct receiver *r, uint64_t deadline)
{
    struct rttcp_session *s = r->s;
    struct rttcp_params *params = &s->report.params;
    json_t *proposal = rttcp_control_connection_expect(&s->control, "propose", deadline, &s->error);
    if (!proposal)
        return drop(r);
    int status = check_key(r, proposal);
    if (status == 0)
        status = rttcp_params_decode(json_object_get(proposal, "params"), params, &s->error);
    json_decref(proposal);
    if (status == 0)
        status = rttcp_affinity_set("peer-cpu", params->peer_cpu, &s->error);
    return status < 0 || listen_all(r) < 0 ? refuse(r) : 0;
}

static int accept_all(struct receiver *r, uint64_t deadline)
{
    struct rttcp_session *s = r->s;
    const struct rttcp_params *params = &s->report.params;
    for (uint64_t i = 0; i < s->accept.streams; i++) {
        bool sending = i >= params->forward;
        int fd = rttcp_session_stream(s, i)->fd =
            rttcp_data_accept(r->listeners[i], s->control.fd, deadline, &s->error);
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
    json_t *accept = rttcp_accept_encode(&s->accept, &s->report.params);
    rttcp_proof_put(accept, &r->proof);
    if (rttcp_control_connection_send(&s->control, accept, deadline, &s->error) < 0 || accept_all(r, deadline) < 0)
        return -1;
    for (int d = 0; d < DIRECTIONS; d++) {
        struct rttcp_side *side = rttcp_report_ours(&s->report, d);
        side->window_requested_bytes = side->window_granted_bytes = window;
        if (d == FORWARD && s->flows[d].n)
            rttcp_report_window(side, s->flows[d].streams[0].fd, window);
    }
    return 0;
}

static int serve(struct receiver *r)
{
    struct rttcp_session *s = r->s;
    uint64_t deadline = nc_now_ns() + RTTCP_HANDSHAKE_NS;
    if (take_hello(r, deadline) != 0 || take_proposal(r, deadline) != 0)
        return RTTCP_NO_SESSION;
    int status = rttcp_session_settle(s, open_data(r) < 0 ? -1 : rttcp_session_move(s));
    rttcp_output_end(s->output, &s->report);
    const char *text = s->report.error[0] ? s->report.error : s->report.mismatch;
    if (text[0])
        nc_log("%s: session %s: %s", r->peer, s->report.session, text);
    return status < 0 || text[0] ? NC_EXIT_FAILED : NC_EXIT_OK;
}

int rttcp_receiver_session(int control_fd, const struct rttcp_settings *settings, const struct rttcp_output *output)
{
    int one = 1;
    struct sockaddr_storage address = {0};
    struct receiver r = {.s = rttcp_session_create(output, control_fd, true), .settings = settings};
    if (!r.s)
        return NC_EXIT_MISSING;
    for (int i = 0; i < RTTCP_STREAMS_MAX; i++)
        r.listeners[i] = -1;
    setsockopt(control_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* the confirmation must not be delayed */
    getpeername(control_fd, (struct sockaddr *)&address, &(socklen_t){sizeof address});
    rttcp_address_text(&address, r.peer, sizeof r.peer);
    int status = serve(&r);
    for (int i = 0; i < RTTCP_STREAMS_MAX; i++)
        if (r.listeners[i] >= 0)
            close(r.listeners[i]);
    rttcp_session_release(r.s);
    return status;
}
