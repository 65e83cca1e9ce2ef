/* The far side. When the peer's client wants a connection, this gateway connects to the server, from the client's own
 * address if requested, and reports the result to the peer. Refusals and ICMP errors are read from the socket with
 * their type and code, so that the near side can give the client the same. */
#include <errno.h>
#include <time.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "closing_socket.h"
#include "host_socket.h"
#include "relay_internal.h"

static void fail(struct relay_connection *connection, struct lft_result result)
{
    connection->relay->counters.far_failed++;
    connection->relay->counters.far_no_resources += result.code == LFT_RESULT_NO_RESOURCES;
    lft_stream_refuse(connection->stream, &result);
    connection_end(connection, NULL, false);
}

static void put_address(const struct sockaddr_storage *address, uint8_t out[16])
{
    if (address->ss_family == AF_INET6)
        memcpy(out, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    else if (address->ss_family == AF_INET)
        memcpy(out, &((const struct sockaddr_in *)address)->sin_addr, 4);
}

/* When this gateway itself has no route, the ICMP error to the client comes from this gateway. Its source is the
 * address that the kernel would choose (RFC 1812, 4.3.2.4). */
static void blame_ourselves(const struct sockaddr_storage *client, struct lft_result *result)
{
    struct sockaddr_storage ours = {0};
    socklen_t size = sizeof ours;
    int fd = socket(client->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)client, address_bytes(client)) == 0 &&
        getsockname(fd, (struct sockaddr *)&ours, &size) == 0)
        put_address(&ours, result->from);
    if (fd >= 0)
        close(fd);
}

/* Reads the ICMP error to our SYN. False: there was none, so the connect failed for another reason. */
static bool icmp_result(int fd, struct lft_result *result)
{
    _Alignas(struct cmsghdr) uint8_t control[512];
    uint8_t quoted[64];
    struct iovec piece = {quoted, sizeof quoted};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
        return false;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        struct sock_extended_err error;
        if (!((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
              (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR)))
            continue;
        memcpy(&error, CMSG_DATA(c), sizeof error);
        if (error.ee_origin != SO_EE_ORIGIN_ICMP && error.ee_origin != SO_EE_ORIGIN_ICMP6)
            continue;
        *result = (struct lft_result){.code = LFT_RESULT_ICMP, .icmp_type = error.ee_type, .icmp_code = error.ee_code};
        struct sockaddr_storage offender = {0};
        if (c->cmsg_len >= CMSG_LEN(sizeof error + sizeof(struct sockaddr_in)))
            memcpy(&offender, CMSG_DATA(c) + sizeof error,
                   c->cmsg_len - CMSG_LEN(sizeof error) < sizeof offender ? c->cmsg_len - CMSG_LEN(sizeof error)
                                                                          : sizeof offender);
        put_address(&offender, result->from);
        return true;
    }
    return false;
}

static void receive_errors(int fd, int family, int on)
{
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on);
    else
        setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on);
}

void relay_far_writable(struct relay_connection *connection)
{
    int error = 0, fd = connection->source.fd;
    socklen_t size = sizeof error;
    struct sockaddr_storage name;
    socklen_t name_size = sizeof name;
    struct lft_result result;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    bool was_connected = error == ECONNRESET || error == EPIPE; /* a RST to our SYN gives ECONNREFUSED */
    if (error && !was_connected) {
        fail(connection, icmp_result(fd, &result) ? result : host_socket_result(error));
        return;
    }
    if (!error && getpeername(fd, (struct sockaddr *)&name, &name_size) < 0)
        return; /* not connected yet */
    if (!error)
        receive_errors(fd, name.ss_family, 0); /* from now on TCP itself handles soft errors */
    connection->write_error = error;           /* the server may have sent a reason before its RST */
    connection->readable |= was_connected;
    connection->hangup |= was_connected;
    lft_stream_accept(connection->stream);
    connection_start(connection);
}

/* Binds to the client's own address and port. A listener on this host at that port, such as our own transparent
 * listener, does not really conflict, because addresses and ports of both ends identify a TCP connection. bind()
 * nevertheless reports a conflict, except in repair mode (SK_FORCE_REUSE). */
static int bind_as_client(int fd, const struct sockaddr_storage *from)
{
    const int on = 1, repair = TCP_REPAIR_ON, no_repair = TCP_REPAIR_OFF_NO_WP;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    int bound = bind(fd, (const struct sockaddr *)from, address_bytes(from)), error = errno;
    if (bound < 0 && error == EADDRINUSE && setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &repair, sizeof repair) == 0) {
        bound = bind(fd, (const struct sockaddr *)from, address_bytes(from));
        error = errno;
        setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &no_repair, sizeof no_repair);
        /* set it again, because leaving repair mode clears it */
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    }
    errno = error;
    return bound;
}

/* Returns a socket, or -1 with errno. When no descriptor is left, a socket of a source busier than the client's is
 * closed. */
static int new_socket(struct relay_connection *connection, int family)
{
    struct relay *relay = connection->relay;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error = errno;
    if (fd >= 0)
        return fd;
    relay->counters.connects_without_descriptor += error == EMFILE || error == ENFILE;
    if (relay_make_room(relay, &connection->from, error))
        return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    errno = error;
    return -1;
}

static int open_socket(struct relay_connection *connection, const struct sockaddr_storage *to,
                       const struct sockaddr_storage *from)
{
    const struct relay *relay = connection->relay;
    int fd = new_socket(connection, to->ss_family);
    if (fd < 0)
        return -1;
    host_socket_prepare(fd, relay->settings.socket_mark);
    receive_errors(fd, to->ss_family, 1);
    if (!from)
        return fd;
    if (host_socket_make_transparent(fd, to->ss_family) < 0 || bind_as_client(fd, from) < 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Begins to connect and returns 0 or an errno. The client may have used the same port for this server a moment ago.
 * Whether it may reuse the port is the client's host's decision, so a closing socket here must not prevent it. */
static int begin_connect(int fd, const struct sockaddr_storage *to, const struct sockaddr_storage *from)
{
    for (bool again = false;; again = true) {
        if (connect(fd, (const struct sockaddr *)to, address_bytes(to)) == 0 || errno == EINPROGRESS)
            return 0;
        if (!from || errno != EADDRNOTAVAIL || again || !closing_socket_destroy(from, to))
            return errno;
    }
}

static void connect_to(struct relay_connection *connection, const struct sockaddr_storage *to,
                       const struct sockaddr_storage *from)
{
    struct lft_result result;
    const struct relay_settings *settings = &connection->relay->settings;
    if (!access_allows(&settings->destinations, to) || (from && !access_is_client(&settings->sources, from))) {
        connection->relay->counters.far_not_allowed++;
        fail(connection, (struct lft_result){.code = LFT_RESULT_NOT_ALLOWED});
        return;
    }
    int fd = open_socket(connection, to, from), error = fd < 0 ? errno : begin_connect(fd, to, from);
    connection->phase = RELAY_CONNECTING;
    /* The last packets of the previous connection have not arrived yet. */
    if (fd >= 0 && from && error == EADDRNOTAVAIL) {
        close(fd);
        relay_wait_for_end(connection);
        return;
    }
    connection->relay->counters.far_connects++;
    if (fd >= 0 && !error && connection_attach(connection, fd) == 0)
        return;
    result = host_socket_result(error ? error : errno);
    if (fd >= 0 && error) {
        if (to->ss_family == AF_INET6 && result.code == LFT_RESULT_HOST_UNREACHABLE)
            /* The kernel's errno says that no route exists. A router would send the ICMP error "no route to
             * destination". */
            result.code = LFT_RESULT_NET_UNREACHABLE;
        if (from)
            blame_ourselves(from, &result);
    }
    if (fd >= 0)
        close(fd);
    fail(connection, result);
}

static struct sockaddr_storage address_of(uint8_t family, const uint8_t at[16], uint16_t port)
{
    struct sockaddr_storage out = {0};
    if (family == LFT_FAMILY_IPV6) {
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out;
        *v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
        memcpy(&v6->sin6_addr, at, 16);
    } else {
        struct sockaddr_in *v4 = (struct sockaddr_in *)&out;
        *v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
        memcpy(&v4->sin_addr, at, 4);
    }
    return out;
}

void relay_far_begin(struct relay_connection *connection)
{
    const struct lft_open *where = lft_stream_where(connection->stream);
    bool keep = (where->flags & LFT_OPEN_KEEP_SOURCE) && connection->relay->settings.transparent;
    struct sockaddr_storage to = address_of(where->family, where->destination, where->destination_port);
    struct sockaddr_storage from = address_of(where->family, where->source, where->source_port);
    connect_to(connection, &to, keep ? &from : NULL);
}

static void forget_name(struct relay_connection *connection)
{
    resolver_forget(connection->relay->resolver, connection);
}

void relay_far_resolved(void *user, const struct sockaddr_storage *address)
{
    struct relay_connection *connection = user;
    connection->gone = NULL;
    if (address)
        connect_to(connection, address, NULL);
    else
        fail(connection, (struct lft_result){.code = LFT_RESULT_NAME_UNKNOWN});
}

void relay_far_open(struct relay *relay, struct lft_stream *stream)
{
    const struct lft_open *where = lft_stream_where(stream);
    struct lft_result none = {.code = LFT_RESULT_NO_RESOURCES};
    bool keep = where->flags & LFT_OPEN_KEEP_SOURCE;
    const uint8_t number[16] = {(uint8_t)(where->source_port >> 8), (uint8_t)where->source_port};
    struct share_key source = share_key(keep ? where->family : 0, keep ? where->source : number);
    struct relay_connection *connection =
        relay->draining ? NULL : connection_create(relay, -1, RELAY_CONNECTING, &source);
    if (!connection) {
        relay->counters.far_no_resources++;
        lft_stream_refuse(stream, &none);
        lft_stream_release(stream);
        return;
    }
    connection->stream = stream;
    lft_stream_set_user(stream, connection);
    if (where->family == LFT_FAMILY_NAME) {
        connection->phase = RELAY_RESOLVING;
        connection->gone = forget_name;
        bool left = relay_descriptor_left(relay, &source),
             asked = left && resolver_ask(relay->resolver, where->name, where->destination_port, connection) == 0;
        relay->counters.names_without_memory += left && !asked;
        if (!asked)
            fail(connection, none);
        return;
    }
    relay_far_begin(connection);
}
