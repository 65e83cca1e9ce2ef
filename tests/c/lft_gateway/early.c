/* What a proxy's client sends behind its request, while no memory is left for it: it waits, and is sent when there
 * is some. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"
#include "loop.h"
#include "nc_clock.h"
#include "pool.h"
#include "proxy.h"
#include "relay.h"
#include "session.h"

enum { STREAMS = 2000, EARLY = 500 };

static size_t queued(const struct lft_session *session)
{
    struct lft_session_state state;
    lft_session_state(session, &state);
    return state.tx_queued_bytes;
}

/* Streams that take every block; returns one of them. */
static struct lft_stream *exhaust(struct lft_session *session)
{
    static const uint8_t octets[8000];
    struct lft_open where = {.family = LFT_FAMILY_IPV4, .destination = {10, 0, 0, 1}, .destination_port = 1};
    struct lft_stream *first = lft_stream_open(session, &where, NULL);
    CHECK_EQ(lft_stream_write(first, octets, sizeof octets), sizeof octets);
    for (;;) {
        struct lft_stream *stream = lft_stream_open(session, &where, NULL);
        CHECK(stream);
        if (!lft_stream_write(stream, octets, sizeof octets)) {
            lft_stream_release(stream);
            return first;
        }
    }
}

static int client(const char *address, uint16_t port)
{
    static const char request[] = "CONNECT far.example:80 HTTP/1.1\r\n\r\n";
    char text[sizeof request - 1 + EARLY] = {0};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, address, &to.sin_addr);
    memcpy(text, request, sizeof request - 1);
    CHECK_EQ(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    CHECK_EQ(send(fd, text, sizeof text, 0), sizeof text);
    return fd;
}

static void turns(struct loop *loop, struct relay *relay)
{
    for (int i = 0; i < 20; i++) {
        uint64_t now_ns = nc_now_ns();
        loop_turn(loop, now_ns, now_ns + 10 * NC_NS_PER_MS);
        relay_turn(relay, loop_now_ns(loop));
    }
}

static void early_data_wait_for_memory(void)
{
    struct nc_error error;
    char address[32], listen_at[64];
    const struct lft_session_config config = {
        .initiator = true, .streams_max = STREAMS, .tx_memory_bytes = 1 << 20, .rx_memory_bytes = 8 << 20};
    const struct relay_settings settings = {
        .sessions_max = STREAMS, .half_open_max = STREAMS, .half_open_ns = NC_NS_PER_S * 60};
    struct lft_pool *pool = lft_pool_create(2048, 8 << 20);
    struct lft_session *session = lft_session_create(&config, pool);
    struct loop *loop = loop_create();
    struct relay *relay = relay_create(&settings, loop, session);
    snprintf(address, sizeof address, "127.77.%d.%d", getpid() >> 8 & 255, getpid() & 255); /* nobody else's */
    snprintf(listen_at, sizeof listen_at, "%s:8118", address);
    struct proxy *proxy = proxy_open(relay, PROXY_HTTP, listen_at, &error);
    CHECK(proxy);
    struct lft_stream *hog = exhaust(session);
    int fd = client(address, 8118);
    turns(loop, relay);
    CHECK_EQ(relay_connections(relay), 1);
    size_t before = queued(session);
    lft_stream_release(hog); /* 8,000 octets less */
    turns(loop, relay);
    CHECK_EQ(queued(session), before - 8000 + EARLY);
    close(fd);
    proxy_close(proxy);
    relay_destroy(relay);
    loop_destroy(loop);
    lft_session_destroy(session);
    lft_pool_destroy(pool);
}

int main(void)
{
    RUN(early_data_wait_for_memory);
    return 0;
}
