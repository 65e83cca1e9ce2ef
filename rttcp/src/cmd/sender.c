/* The proposing end (-t): propose, connect, move the bytes, exchange accounts. It usually sends; with --reverse it
 * receives. The clock of short_term_bps starts before connect() of the data connections. It stops when the receiver's
 * confirmation arrives or, where this end receives, when the last stream ends. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "affinity.h"
#include "nc_clock.h"
#include "roles.h"
#include "session.h"
#include "sock.h"
#include "stop.h"
#include "window.h"

struct sender {
    struct rttcp_session *s;
    const struct rttcp_settings *settings;
};

/* Finds what is wrong with this machine or with the options before it connects. */
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
    if (!settings->samples)
        return 0;
    FILE *file = fopen(settings->samples, "we");
    if (!file)
        return nc_fail(&s->error, NC_EXIT_USAGE, "--samples '%s': %s", settings->samples, strerror(errno));
    fclose(file);
    return 0;
}

/* Exchanges the hello messages. `challenge` becomes the receiver's challenge, "" when it wants no key. */
static int say_hello(struct sender *sender, char challenge[RTTCP_CHALLENGE_TEXT])
{
    struct nc_error wrong;
    struct rttcp_session *s = sender->s;
    uint64_t deadline = nc_now_ns() + RTTCP_HANDSHAKE_NS;
    if (rttcp_control_connection_send(&s->control, rttcp_hello_encode(""), deadline, &s->error) < 0)
        return -1;
    json_t *hello = rttcp_control_connection_expect(&s->control, "hello", deadline, &s->error);
    int status = hello ? rttcp_hello_decode(hello, challenge, &wrong) : -1;
    if (hello && status < 0)
        nc_fail(&s->error, NC_EXIT_FAILED, "the peer: %s", wrong.text);
    json_decref(hello);
    if (status < 0 || (challenge[0] != '\0') == (sender->settings->key.size > 0))
        return status;
    return challenge[0]
               ? nc_fail(&s->error, NC_EXIT_USAGE, "the receiver wants a key: give --key FILE with the same content")
               : nc_fail(&s->error, NC_EXIT_USAGE, "--key: the receiver has no key; start it with --key FILE");
}

/* Checks the receiver's proof that it knows the key too. */
static int check_proof(struct sender *sender, const json_t *answer, const char *server, const char *client,
                       const char *params)
{
    const struct rttcp_key *key = &sender->settings->key;
    char wanted[RTTCP_PROOF_TEXT];
    struct rttcp_proof got;
    if (!key->size)
        return 0;
    rttcp_proof_take(answer, &got);
    rttcp_auth_prove(key, "receiver", server, client, params, wanted);
    return rttcp_auth_same(wanted, got.proof)
               ? 0
               : nc_fail(&sender->s->error, NC_EXIT_FAILED, "--key: the receiver has another key");
}

static int propose(struct sender *sender, const char *challenge)
{
    struct nc_error wrong;
    struct rttcp_session *s = sender->s;
    struct rttcp_proof proof = {0};
    uint64_t deadline = nc_now_ns() + RTTCP_HANDSHAKE_NS;
    json_t *params = rttcp_params_encode(&s->report.params);
    char *text = json_dumps(params, JSON_COMPACT | JSON_SORT_KEYS);
    json_t *proposal = rttcp_message("propose", json_pack("{s:o}", "params", params));
    if (challenge[0]) {
        rttcp_auth_challenge(proof.challenge);
        rttcp_auth_prove(&sender->settings->key, "sender", challenge, proof.challenge, text, proof.proof);
        rttcp_proof_put(proposal, &proof);
    }
    json_t *answer = rttcp_control_connection_send(&s->control, proposal, deadline, &s->error) < 0
                         ? NULL
                         : rttcp_control_connection_expect(&s->control, "accept", deadline, &s->error);
    int status = answer ? check_proof(sender, answer, challenge, proof.challenge, text) : -1;
    if (status == 0 && rttcp_accept_decode(answer, &s->accept, &s->report.params, &wrong) < 0)
        status = nc_fail(&s->error, NC_EXIT_FAILED, "control connection: the peer's answer: %s", wrong.text);
    json_decref(answer);
    free(text);
    memcpy(s->report.session, s->accept.session, sizeof s->report.session);
    return status;
}

static int negotiate(struct sender *sender)
{
    char challenge[RTTCP_CHALLENGE_TEXT] = "";
    struct rttcp_session *s = sender->s;
    const struct rttcp_settings *settings = sender->settings;
    s->control.fd = rttcp_connect(settings->transmit, settings->bind, rttcp_family(settings->ipv4, settings->ipv6),
                                  (uint16_t)settings->port, RTTCP_HANDSHAKE_NS, &s->error);
    return s->control.fd < 0 || say_hello(sender, challenge) < 0 || propose(sender, challenge) < 0 ? -1 : 0;
}

static int connect_all(struct rttcp_session *s)
{
    const struct rttcp_params *params = &s->report.params;
    struct sockaddr_storage local = {0};
    uint64_t deadline;
    getsockname(s->control.fd, (struct sockaddr *)&local, &(socklen_t){sizeof local});
    for (uint64_t i = 0; i < s->accept.streams; i++)
        if ((rttcp_session_stream(s, i)->fd =
                 rttcp_data_socket(local.ss_family, params, i < params->forward, &s->error)) < 0)
            return -1;
    rttcp_session_clock(s);
    deadline = nc_now_ns() + RTTCP_HANDSHAKE_NS;
    for (uint64_t i = 0; i < s->accept.streams; i++)
        if (rttcp_data_connect(rttcp_session_stream(s, i)->fd, s->control.fd, (uint16_t)s->accept.at[i].port,
                               &s->error) < 0)
            return -1;
    for (uint64_t i = 0; i < s->accept.streams; i++)
        if (rttcp_data_connected(rttcp_session_stream(s, i)->fd, deadline, &s->error) < 0)
            return -1;
    s->connect_ns = nc_now_ns() - s->t0_ns;
    for (uint64_t i = 0; i < s->accept.streams; i++)
        if (rttcp_data_established(rttcp_session_stream(s, i)->fd, params, i < params->forward,
                                   i < params->forward ? params->forward : params->reverse, &s->error) < 0)
            return -1;
    return 0;
}

/* Describes the sockets of the first stream of each direction, which `start` prints. */
static void describe(struct rttcp_session *s)
{
    for (int d = 0; d < DIRECTIONS; d++) {
        struct rttcp_side *side = rttcp_report_ours(&s->report, d);
        uint64_t first = d == FORWARD ? 0 : s->report.params.forward;
        if (s->flows[d].n == 0)
            continue;
        rttcp_side_describe(s->flows[d].streams[0].fd, side);
        side->window_requested_bytes = s->report.params.window_bytes;
        side->window_granted_bytes = s->accept.at[first].window_granted_bytes;
        if (d == REVERSE)
            rttcp_report_window(side, s->flows[d].streams[0].fd, s->report.params.window_bytes);
    }
}

static int write_samples(struct sender *sender)
{
    struct rttcp_session *s = sender->s;
    const struct rttcp_samples *all[DIRECTIONS] = {&s->flows[FORWARD].meter.samples, &s->flows[REVERSE].meter.samples};
    return sender->settings->samples ? rttcp_samples_write(all, DIRECTIONS, sender->settings->samples, &s->error) : 0;
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
    if (write_samples(sender) < 0) {
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
        check_machine(&sender) == 0 && negotiate(&sender) == 0 && rttcp_session_prepare(s) == 0 && connect_all(s) == 0;
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
            break; /* wrong usage or a missing feature stays so */
    }
    return worst;
}
