/* Addresses, listeners and connections; sockopt.c has the options of data sockets, window.c the window. */
#include "sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nc_clock.h"
#include "nc_zone.h"

int rttcp_family(bool ipv4, bool ipv6)
{
    return ipv4 == ipv6 ? AF_UNSPEC : ipv4 ? AF_INET : AF_INET6;
}

static struct addrinfo *resolve(const char *option, const char *host, int family, uint16_t port, int flags,
                                struct nc_error *error)
{
    char service[8];
    struct addrinfo *found = NULL, hints = {.ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    snprintf(service, sizeof service, "%u", port);
    int status = getaddrinfo(host, service, &hints, &found);
    bool no_zone = status == 0 && nc_wants_zone(found->ai_addr);
    if (status == 0 && !no_zone)
        return found;
    if (no_zone) {
        freeaddrinfo(found);
        nc_fail(error, NC_EXIT_USAGE, "--%s '%.80s': " NC_ZONE_ADVICE, option, host);
        return NULL;
    }
    nc_fail(error, NC_EXIT_USAGE, "--%s '%.80s': %s%s; want a name or address of this machine's networks", option, host,
            gai_strerror(status),
            family == AF_INET    ? " (IPv4 only: -4)"
            : family == AF_INET6 ? " (IPv6 only: -6)"
                                 : "");
    return NULL;
}

static int listen_on(const struct addrinfo *at, int *failed)
{
    int one = 1, zero = 0, fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *failed = errno;
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (at->ai_family == AF_INET6) /* [::] serves IPv4 too unless -6 */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, at->ai_flags ? &one : &zero, sizeof one);
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    *failed = errno;
    close(fd);
    return -1;
}

int rttcp_listen(const char *bind_to, int family, uint16_t port, struct nc_error *error)
{
    int failed = 0, fd = -1;
    bool any = !bind_to && family == AF_UNSPEC;
    struct addrinfo *list = resolve("bind",
                                    bind_to             ? bind_to
                                    : any               ? "::"
                                    : family == AF_INET ? "0.0.0.0"
                                                        : "::",
                                    any ? AF_INET6 : family, port, AI_PASSIVE, error);
    if (!list)
        return -1;
    list->ai_flags = family == AF_INET6;
    fd = listen_on(list, &failed);
    freeaddrinfo(list);
    if (fd < 0 && any && (failed == EAFNOSUPPORT || failed == EADDRNOTAVAIL)) /* a kernel without IPv6 */
        return rttcp_listen(bind_to, AF_INET, port, error);
    if (fd >= 0)
        return fd;
    if (failed == EADDRNOTAVAIL)
        return nc_fail(error, NC_EXIT_USAGE, "--bind '%s': %s; want an address of this machine", bind_to,
                       strerror(failed));
    if (failed == EADDRINUSE)
        return nc_fail(error, NC_EXIT_USAGE, "--port %u: %s; choose another, or end who has it (ss -ltnp sport = %u)",
                       port, strerror(failed), port);
    return nc_fail(error, failed == EACCES ? NC_EXIT_MISSING : NC_EXIT_FAILED, "--port %u: %s", port, strerror(failed));
}

void rttcp_set_slice(int fd, uint64_t slice_ns)
{
    struct timeval slice = {.tv_sec = (time_t)(slice_ns / NC_NS_PER_S),
                            .tv_usec = (suseconds_t)(slice_ns % NC_NS_PER_S / NC_NS_PER_US)};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &slice, sizeof slice);
}

static int bind_local(int fd, int family, const char *bind_to, struct nc_error *error)
{
    struct addrinfo *local = resolve("bind", bind_to, family, 0, AI_PASSIVE, error);
    if (!local)
        return -1;
    int status = bind(fd, local->ai_addr, local->ai_addrlen);
    if (status < 0)
        nc_fail(error, NC_EXIT_USAGE, "--bind '%s': %s; want an address of this machine", bind_to, strerror(errno));
    freeaddrinfo(local);
    return status;
}

static int connect_to(const struct addrinfo *at, const char *option, const char *bind_to, uint64_t timeout_ns,
                      struct nc_error *error)
{
    char text[80];
    struct sockaddr_storage address = {0};
    memcpy(&address, at->ai_addr, at->ai_addrlen);
    rttcp_address_text(&address, text, sizeof text);
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return nc_fail(error, NC_EXIT_FAILED, "%s %s: %s", option, text, strerror(errno));
    rttcp_set_slice(fd, timeout_ns);
    if (bind_to && bind_local(fd, at->ai_family, bind_to, error) < 0) {
        close(fd);
        return -1;
    }
    if (connect(fd, at->ai_addr, at->ai_addrlen) == 0)
        return fd;
    int failed = errno == EINPROGRESS ? ETIMEDOUT : errno;
    close(fd);
    return nc_fail(error, NC_EXIT_FAILED, "%s %s: %s; is %s running there?", option, text, strerror(failed),
                   strcmp(option, "--proxy") ? "`rttcp -r`" : "the proxy");
}

int rttcp_connect(const char *host, const char *option, const char *bind_to, int family, uint16_t port,
                  uint64_t timeout_ns, struct nc_error *error)
{
    int fd = -1, one = 1;
    struct addrinfo *list = resolve(option + 2, host, family, port, 0, error);
    for (struct addrinfo *at = list; at && fd < 0; at = at->ai_next)
        fd = connect_to(at, option, bind_to, timeout_ns, error);
    if (list)
        freeaddrinfo(list);
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)(void *)address)->sin_port = htons(port);
}

static uint16_t get_port(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)(const void *)address)->sin6_port);
    return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
}

bool rttcp_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET6)
        return memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                      &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
    return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
           ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
}

uint16_t rttcp_local_port(int fd)
{
    struct sockaddr_storage local = {0};
    getsockname(fd, (struct sockaddr *)&local, &(socklen_t){sizeof local});
    return get_port(&local);
}

int rttcp_data_listen(int control_fd, uint16_t port, const struct rttcp_params *params, bool sending,
                      struct nc_error *error)
{
    struct sockaddr_storage local = {0};
    socklen_t size = sizeof local;
    int one = 1, zero = 0;
    getsockname(control_fd, (struct sockaddr *)&local, &size);
    set_port(&local, port);
    int fd = rttcp_data_socket(local.ss_family, params, sending, error);
    if (fd < 0)
        return -1;
    if (port)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (local.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    if (bind(fd, (struct sockaddr *)&local, size) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    nc_fail(error, NC_EXIT_FAILED, "--data-port %u: %s", port, strerror(errno));
    close(fd);
    return -1;
}

int rttcp_data_connect(int fd, int control_fd, uint16_t port, struct nc_error *error)
{
    char text[80];
    struct sockaddr_storage local = {0}, peer = {0};
    socklen_t local_size = sizeof local, peer_size = sizeof peer;
    getsockname(control_fd, (struct sockaddr *)&local, &local_size);
    getpeername(control_fd, (struct sockaddr *)&peer, &peer_size);
    set_port(&local, 0);
    set_port(&peer, port);
    rttcp_address_text(&peer, text, sizeof text);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (bind(fd, (struct sockaddr *)&local, local_size) == 0 &&
        (connect(fd, (struct sockaddr *)&peer, peer_size) == 0 || errno == EINPROGRESS))
        return 0;
    return nc_fail(error, NC_EXIT_FAILED, "data connection to %s: %s", text, strerror(errno));
}

int rttcp_data_connected(int fd, uint64_t deadline_ns, struct nc_error *error)
{
    int failed = 0;
    for (uint64_t now; (now = nc_now_ns()) < deadline_ns;) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        if (poll(&ready, 1, (int)((deadline_ns - now) / NC_NS_PER_MS) + 1) <= 0)
            continue;
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &(socklen_t){sizeof failed});
        if (failed)
            return nc_fail(error, NC_EXIT_FAILED, "data connection: %s", strerror(failed));
        fcntl(fd, F_SETFL, 0);
        return 0;
    }
    return nc_fail(error, NC_EXIT_FAILED, "data connection: %s; does a firewall hold it back? (--data-port)",
                   strerror(ETIMEDOUT));
}

void rttcp_address_text(const struct sockaddr_storage *address, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (address->ss_family == AF_INET6) {
        const struct in6_addr *in6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
        bool mapped = IN6_IS_ADDR_V4MAPPED(in6);
        if (mapped)
            inet_ntop(AF_INET, &in6->s6_addr[12], host, sizeof host);
        else
            inet_ntop(AF_INET6, in6, host, sizeof host);
        snprintf(out, size, mapped ? "%s:%u" : "[%s]:%u", host, get_port(address));
        return;
    }
    inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, host, sizeof host);
    snprintf(out, size, "%s:%u", host, get_port(address));
}

void rttcp_socket_names(int fd, char local[RTTCP_NAME_SIZE], char remote[RTTCP_NAME_SIZE])
{
    struct sockaddr_storage ours = {0}, theirs = {0};
    getsockname(fd, (struct sockaddr *)&ours, &(socklen_t){sizeof ours});
    getpeername(fd, (struct sockaddr *)&theirs, &(socklen_t){sizeof theirs});
    rttcp_address_text(&ours, local, RTTCP_NAME_SIZE);
    rttcp_address_text(&theirs, remote, RTTCP_NAME_SIZE);
}

static uint64_t int_option(int fd, int level, int name)
{
    int value = 0;
    getsockopt(fd, level, name, &value, &(socklen_t){sizeof value});
    return value > 0 ? (uint64_t)value : 0;
}

void rttcp_side_describe(int fd, struct rttcp_side *side)
{
    socklen_t size = sizeof side->congestion - 1;
    side->sndbuf_bytes = int_option(fd, SOL_SOCKET, SO_SNDBUF);
    side->rcvbuf_bytes = int_option(fd, SOL_SOCKET, SO_RCVBUF);
    side->mss_bytes = int_option(fd, IPPROTO_TCP, TCP_MAXSEG);
    getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, side->congestion, &size);
}

bool rttcp_is_here(const struct sockaddr_storage *address)
{
    struct sockaddr_storage at = *address;
    int fd = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (at.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&at)->sin6_port = 0;
    else
        ((struct sockaddr_in *)&at)->sin_port = 0;
    bool here =
        fd >= 0 && bind(fd, (struct sockaddr *)&at,
                        at.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in)) == 0;
    if (fd >= 0)
        close(fd);
    return here;
}
