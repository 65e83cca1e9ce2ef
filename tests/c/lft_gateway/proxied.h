/* A relay with a proxy on the near side and without a tunnel, for tests of how a proxy handles its clients. */
#ifndef PROXIED_H
#define PROXIED_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "loop.h"
#include "nc_clock.h"
#include "pool.h"
#include "proxy.h"
#include "relay.h"
#include "session.h"

enum { PROXIED_PORT = 8118 };

struct proxied {
    struct lft_pool *pool;
    struct lft_session *session;
    struct loop *loop;
    struct relay *relay;
    struct proxy *proxy;
    char address[32];
};

static inline struct proxied proxied_open(enum proxy_kind kind, uint32_t streams_max)
{
    struct proxied made;
    struct nc_error error;
    char listen_at[64];
    const struct lft_session_config config = {
        .initiator = true, .streams_max = streams_max, .tx_memory_bytes = 1 << 20, .rx_memory_bytes = 8 << 20};
    const struct relay_settings settings = {
        .sessions_max = streams_max, .half_open_max = streams_max, .half_open_ns = 60 * NC_NS_PER_S};
    made.pool = lft_pool_create(2048, 8 << 20);
    made.session = lft_session_create(&config, made.pool);
    made.loop = loop_create();
    made.relay = relay_create(&settings, made.loop, made.session);
    snprintf(made.address, sizeof made.address, "127.78.%d.%d", getpid() >> 8 & 255,
             getpid() & 255); /* nobody else's */
    snprintf(listen_at, sizeof listen_at, "%s:%d", made.address, PROXIED_PORT);
    made.proxy = proxy_open(made.relay, kind, listen_at, &error);
    CHECK(made.proxy);
    return made;
}

static inline int proxied_connect(const struct proxied *proxied)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PROXIED_PORT)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, proxied->address, &to.sin_addr);
    CHECK_EQ(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* A client with its own address. */
static inline int proxied_client(const char *address)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    inet_pton(AF_INET, address, &from.sin_addr);
    CHECK_EQ(bind(fd, (const struct sockaddr *)&from, sizeof from), 0);
    return fd;
}

static inline void proxied_begin(const struct proxied *proxied, int fd)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PROXIED_PORT)};
    inet_pton(AF_INET, proxied->address, &to.sin_addr);
    CHECK(connect(fd, (const struct sockaddr *)&to, sizeof to) == 0 || errno == EINPROGRESS);
}

static inline int proxied_connect_from(const struct proxied *proxied, const char *address)
{
    int fd = proxied_client(address);
    proxied_begin(proxied, fd);
    return fd;
}

static inline bool proxied_is_open(int fd)
{
    char octet;
    return recv(fd, &octet, 1, MSG_PEEK) < 0 && errno == EAGAIN;
}

static inline void proxied_close(struct proxied *proxied)
{
    proxy_close(proxied->proxy);
    relay_destroy(proxied->relay);
    loop_destroy(proxied->loop);
    lft_session_destroy(proxied->session);
    lft_pool_destroy(proxied->pool);
}

#endif
