#include "tls.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "first_message.h"
#include "nc_clock.h"

#define IDENTITY "rttcp"
#define SUITE "TLS_CHACHA20_POLY1305_SHA256"
#define JOIN_LABEL "EXPORTER-rttcp-data"
#define ALERT(description) (SSL_AD_REASON_OFFSET + (description))

static const unsigned char suite_octets[] = {0x13, 0x03};

/* Makes a TLS session of the key: TLS 1.3 treats a pre-shared key like a session to resume. */
static SSL_SESSION *make_session(SSL *tls)
{
    const struct rttcp_key *key = SSL_get_app_data(tls);
    const SSL_CIPHER *suite = SSL_CIPHER_find(tls, suite_octets);
    SSL_SESSION *session = SSL_SESSION_new();
    if (session && suite && SSL_SESSION_set1_master_key(session, key->octets, sizeof key->octets) &&
        SSL_SESSION_set_cipher(session, suite) && SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION))
        return session;
    SSL_SESSION_free(session);
    return NULL;
}

/* Called at the proposing end. `digest` belongs to a suite that the other end demanded; ours has SHA-256. */
static int use_session(SSL *tls, const EVP_MD *digest, const unsigned char **identity, size_t *size,
                       SSL_SESSION **session)
{
    *identity = (const unsigned char *)IDENTITY;
    *size = sizeof IDENTITY - 1;
    *session = !digest || EVP_MD_is_a(digest, "SHA256") ? make_session(tls) : NULL;
    return *session != NULL;
}

/* Called at the serving end. Without a session the handshake continues without a key, finds no certificate, and
 * fails. */
static int find_session(SSL *tls, const unsigned char *identity, size_t size, SSL_SESSION **session)
{
    bool ours = size == sizeof IDENTITY - 1 && memcmp(identity, IDENTITY, size) == 0;
    *session = ours ? make_session(tls) : NULL;
    return !ours || *session;
}

static SSL *make_tls(int fd, const struct rttcp_key *key, bool serving)
{
    SSL *tls = NULL;
    SSL_CTX *context = SSL_CTX_new(serving ? TLS_server_method() : TLS_client_method());
    if (context && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) &&
        SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) && SSL_CTX_set_ciphersuites(context, SUITE) &&
        SSL_CTX_set1_groups_list(context, "X25519") && SSL_CTX_set_num_tickets(context, 0)) {
        if (!serving)
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL); /* no certificate may replace the key */
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        if (serving)
            SSL_CTX_set_psk_find_session_callback(context, find_session);
        else
            SSL_CTX_set_psk_use_session_callback(context, use_session);
        tls = SSL_new(context);
    }
    SSL_CTX_free(context); /* `tls` holds it */
    if (tls && SSL_set_fd(tls, fd) && SSL_set_app_data(tls, (void *)(uintptr_t)key)) {
        serving ? SSL_set_accept_state(tls) : SSL_set_connect_state(tls);
        return tls;
    }
    SSL_free(tls);
    return NULL;
}

/* Returns the meaning of an SSL call that returned no octets. */
static long outcome(struct rttcp_channel *channel, int result, struct nc_error *error)
{
    int what = SSL_get_error(channel->tls, result), failed = errno;
    unsigned long reason = ERR_peek_error();
    if (what == SSL_ERROR_WANT_READ || what == SSL_ERROR_WANT_WRITE) {
        channel->events = what == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
        return CHANNEL_WAIT;
    }
    if (what == SSL_ERROR_ZERO_RETURN || what == SSL_ERROR_SYSCALL ||
        ERR_GET_REASON(reason) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        return CHANNEL_CLOSED;
    const char *text = ERR_reason_error_string(reason);
    nc_fail(error, NC_EXIT_FAILED, "control connection: TLS: %s", text ? text : strerror(failed));
    return CHANNEL_BAD;
}

static long tls_read(struct rttcp_channel *channel, uint8_t *to, size_t size, struct nc_error *error)
{
    size_t n = 0;
    ERR_clear_error();
    int result = SSL_read_ex(channel->tls, to, size, &n);
    return result > 0 ? (long)n : outcome(channel, result, error);
}

static long tls_write(struct rttcp_channel *channel, const uint8_t *from, size_t size, struct nc_error *error)
{
    size_t n = 0;
    ERR_clear_error();
    int result = SSL_write_ex(channel->tls, from, size, &n);
    return result > 0 ? (long)n : outcome(channel, result, error);
}

static void tls_close(struct rttcp_channel *channel)
{
    ERR_clear_error();
    if (SSL_is_init_finished(channel->tls))
        SSL_shutdown(channel->tls); /* sends close_notify without awaiting the peer's */
    SSL_free(channel->tls);
    channel->tls = NULL;
    ERR_clear_error();
}

/* Names what ended the handshake. Alerts come from the peer and are not authenticated yet: they only choose a text. */
static int explain(long got, bool serving, bool *stranger, struct nc_error *error)
{
    int reason = ERR_GET_REASON(ERR_peek_error());
    *stranger = serving && reason != SSL_R_BINDER_DOES_NOT_VERIFY;
    if (got == CHANNEL_CLOSED)
        return nc_fail(error, NC_EXIT_FAILED,
                       "the peer closed the control connection during the handshake of --key; use the same rttcp at "
                       "both ends");
    if (serving && reason == SSL_R_BINDER_DOES_NOT_VERIFY)
        return nc_fail(error, NC_EXIT_FAILED, "--key: the sender has another key");
    if (!serving && reason == ALERT(SSL_AD_UNKNOWN_PSK_IDENTITY))
        return nc_fail(error, NC_EXIT_USAGE, "--key: the receiver has no key; start it with --key FILE");
    if (!serving && (reason == ALERT(SSL_AD_ILLEGAL_PARAMETER) || reason == ALERT(SSL_AD_DECRYPT_ERROR)))
        return nc_fail(error, NC_EXIT_FAILED, "--key: the receiver has another key");
    if (!serving && reason == SSL_R_WRONG_VERSION_NUMBER)
        return nc_fail(error, NC_EXIT_FAILED, "control connection: no TLS there; is `rttcp -r --key FILE` running?");
    return -1; /* outcome() has named it */
}

/* A certificate is not enough: both ends must have proved that they have the key. */
static int check_key_was_used(struct rttcp_channel *channel, struct nc_error *error)
{
    SSL_set_app_data(channel->tls, NULL);
    if (SSL_session_reused(channel->tls))
        return 0;
    return nc_fail(error, NC_EXIT_FAILED, "--key: the peer shook hands without the key");
}

int rttcp_tls_begin(struct rttcp_channel *channel, const struct rttcp_key *key, bool serving,
                    bool (*stop_requested)(void), uint64_t deadline_ns, bool *stranger, struct nc_error *error)
{
    static const struct rttcp_channel_kind kind = {tls_read, tls_write, tls_close};
    *stranger = serving;
    fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
    channel->tls = make_tls(channel->fd, key, serving);
    if (!channel->tls)
        return nc_fail(error, NC_EXIT_MISSING, "--key: this machine's OpenSSL has no TLS 1.3 with %s", SUITE);
    channel->kind = &kind;
    while (nc_now_ns() < deadline_ns && !(stop_requested && stop_requested())) {
        ERR_clear_error();
        int result = SSL_do_handshake(channel->tls);
        if (result == 1)
            return check_key_was_used(channel, error);
        long got = outcome(channel, result, error);
        if (got != CHANNEL_WAIT)
            return explain(got, serving, stranger, error);
        rttcp_channel_wait(channel, deadline_ns);
    }
    return nc_fail(error, NC_EXIT_FAILED, "%s",
                   nc_now_ns() < deadline_ns ? "stopped by a signal before the transfer began"
                                             : "the peer did not end the handshake of --key in time");
}

void rttcp_tls_refuse(int fd)
{
    static const uint8_t alert[] = {21, 3, 3, 0, 2, SSL3_AL_FATAL, SSL_AD_UNKNOWN_PSK_IDENTITY};
    uint8_t hello[RTTCP_FIRST_MESSAGE_HEADER_MAX + RTTCP_FIRST_MESSAGE_MAX];
    ssize_t taken = recv(fd, hello, sizeof hello, MSG_DONTWAIT);
    if (taken > 0)
        send(fd, alert, sizeof alert, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int rttcp_tls_join_key(const struct rttcp_channel *channel, struct rttcp_join_key *key, struct nc_error *error)
{
    ERR_clear_error();
    key->wanted = SSL_export_keying_material(channel->tls, key->octets, sizeof key->octets, JOIN_LABEL,
                                             sizeof JOIN_LABEL - 1, NULL, 0, 0) == 1;
    return key->wanted ? 0 : nc_fail(error, NC_EXIT_FAILED, "--key: TLS gives no key for the data connections");
}
