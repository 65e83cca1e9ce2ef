/* Listeners of the proxy model. */
#include "proxy.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "address.h"
#include "host_socket.h"
#include "nc_clock.h"
#include "nc_range.h"
#include "relay_internal.h"

enum { BACKLOG = 4096, ACCEPTS = 64 };
#define GREETING_NS (30 * NC_NS_PER_S) /* time in which a client has to send its request */
static const char *const names[] = {"forward", "socks5", "http-connect"}; /* by enum proxy_kind */

struct proxy {
    struct loop_source source;
    struct relay *relay;
    enum proxy_kind kind;
    struct lft_open where; /* with `forward`: the destination */
};

/* Sends the client the reply and ends the connection. */
static void turn_away(struct relay_connection *connection, const uint8_t *words, size_t n)
{
    if (n)
        (void)!send(connection->source.fd, words, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    connection_end(connection, NULL, n == 0);
}

/* The peer has answered. Sends the client the matching reply of its protocol. */
static void answered(struct relay_connection *connection, const struct lft_result *refusal)
{
    uint8_t words[128];
    const struct proxy_request *request = connection->front;
    size_t n = proxy_request_answer(request->kind, refusal, words);
    if (refusal)
        turn_away(connection, words, n);
    else if (send(connection->source.fd, words, n, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)n)
        connection_end(connection, NULL, true); /* a client that does not even read the reply gets no more time */
    else
        connection_start(connection);
}

static void go(struct relay_connection *connection, struct proxy_request *request)
{
    const struct lft_result none = {.code = LFT_RESULT_NO_RESOURCES};
    uint8_t words[128];
    connection->answered = answered;
    connection->deadline_ns = loop_now_ns(connection->relay->loop) + connection->relay->settings.half_open_ns;
    if (connection_open(connection, &request->where) < 0) {
        turn_away(connection, words, proxy_request_answer(request->kind, &none, words));
        return;
    }
    connection->early = request->text;
    connection->early_bytes = request->used;
    connection_enqueue(connection);
}

static void greet(struct relay_connection *connection, const struct lft_result *unused)
{
    struct proxy_request *request = connection->front;
    (void)unused;
    for (;;) {
        ssize_t got = recv(connection->source.fd, request->text + request->used, sizeof request->text - request->used,
                           MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            connection->readable = false;
            return;
        }
        if (got <= 0) {
            connection_end(connection, NULL, true);
            return;
        }
        request->used += (size_t)got;
        enum proxy_parsed parsed = proxy_request_parse(request);
        if (parsed == PROXY_REPLY) {
            (void)!send(connection->source.fd, request->reply, request->reply_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
            parsed = request->used ? proxy_request_parse(request) : PROXY_MORE;
        }
        if (parsed == PROXY_BAD || (parsed == PROXY_MORE && request->used == sizeof request->text)) {
            turn_away(connection, request->reply, request->reply_bytes);
            return;
        }
        if (parsed == PROXY_GO) {
            go(connection, request);
            return;
        }
    }
}

static void take_client(struct proxy *proxy, int fd, const struct sockaddr_storage *client)
{
    struct share_key source = relay_source_of(client);
    host_socket_prepare(fd, proxy->relay->settings.socket_mark);
    struct relay_connection *connection = connection_create(proxy->relay, fd, RELAY_GREETING, &source);
    if (!connection) {
        close(fd);
        return;
    }
    if (proxy->kind == PROXY_FORWARD) {
        if (connection_open(connection, &proxy->where) < 0)
            connection_end(connection, NULL, true);
        return;
    }
    struct proxy_request *request = nc_slots_take(&proxy->relay->requests);
    if (!request) {
        connection_end(connection, NULL, true);
        return;
    }
    *request = (struct proxy_request){.kind = proxy->kind};
    connection->deadline_ns = nc_min(connection->deadline_ns, connection->active_ns + GREETING_NS);
    connection->front = request;
    connection->answered = greet;
}

static void ready(void *owner, uint32_t events)
{
    struct proxy *proxy = owner;
    (void)events;
    for (int i = 0; i < ACCEPTS; i++) {
        struct sockaddr_storage client;
        bool full;
        int fd = relay_accept(proxy->relay, &proxy->source, &client, &full);
        if (fd < 0)
            return;
        if (full)
            relay_turn_away(proxy->relay, fd);
        else
            take_client(proxy, fd, &client);
    }
}

static int listen_at(const struct sockaddr_storage *address)
{
    int on = 1, fd = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)address, address_bytes(address)) < 0 || listen(fd, BACKLOG) < 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Splits an option's text into its parts: where to listen and, for `forward`, the destination. */
static int parse_text(enum proxy_kind kind, const char *text, struct sockaddr_storage *address, struct lft_open *where,
                      struct nc_error *error)
{
    char listen_text[300];
    struct nc_error reason;
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : strlen(text);
    snprintf(listen_text, sizeof listen_text, "%.*s", (int)nc_min(n, 256), text);
    if (kind == PROXY_FORWARD && (!equals || proxy_destination(equals + 1, strlen(equals + 1), where) < 0))
        return nc_fail(error, NC_EXIT_USAGE,
                       "--%s '%.100s': want LISTEN=DESTINATION, for example 127.0.0.1:8080=192.0.2.1:80", names[kind],
                       text);
    if (address_resolve(listen_text, 0, true, address, &reason) < 0)
        return nc_fail(error, NC_EXIT_USAGE, "--%s %s", names[kind], reason.text);
    return 0;
}

struct proxy *proxy_open(struct relay *relay, enum proxy_kind kind, const char *text, struct nc_error *error)
{
    struct sockaddr_storage address;
    struct proxy *proxy = calloc(1, sizeof *proxy);
    if (!proxy) {
        nc_fail(error, NC_EXIT_MISSING, "out of memory");
        return NULL;
    }
    if (parse_text(kind, text, &address, &proxy->where, error) < 0) {
        free(proxy);
        return NULL;
    }
    proxy->relay = relay;
    proxy->kind = kind;
    struct loop_source *source = &proxy->source;
    *source = (struct loop_source){.fd = listen_at(&address), .ready = ready, .owner = proxy};
    if (source->fd < 0 || loop_add(relay->loop, source, EPOLLIN) < 0) {
        int failed = errno;
        nc_fail(error, NC_EXIT_MISSING, "--%s '%.100s': %s%s", names[kind], text, strerror(failed),
                address_bind_advice(failed));
        proxy_close(proxy);
        return NULL;
    }
    return proxy;
}

void proxy_close(struct proxy *proxy)
{
    if (!proxy)
        return;
    loop_close(proxy->relay->loop, &proxy->source);
    free(proxy);
}
