/* A client sends faster than the tunnel takes the data. When its queue is full, the gateway stops reading from its
 * socket until half of the queue is free, because each of many small reads would cause an acknowledgement to the
 * client. */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "proxied.h"

enum { STREAMS = 10, SENT = 32 << 10, FRAME = 500, TURNS = 20 };

static size_t queued(const struct proxied *proxied)
{
    struct lft_session_state state;
    lft_session_state(proxied->session, &state);
    return state.tx_queued_bytes;
}

static void turns(const struct proxied *proxied)
{
    for (int i = 0; i < TURNS; i++) {
        uint64_t now_ns = nc_now_ns();
        loop_turn(proxied->loop, now_ns, now_ns + NC_NS_PER_MS);
        relay_turn(proxied->relay, loop_now_ns(proxied->loop));
    }
}

/* Runs the loop until more octets are queued than before. */
static void wait_queued(const struct proxied *proxied, size_t before)
{
    uint64_t until_ns = nc_now_ns() + 30 * NC_NS_PER_S;
    while (queued(proxied) <= before && nc_now_ns() < until_ns)
        turns(proxied);
    CHECK(queued(proxied) > before);
    turns(proxied);
}

/* The tunnel sends a frame. */
static void send_frame(const struct proxied *proxied)
{
    uint8_t frame[FRAME];
    struct lft_source source = lft_session_source(proxied->session);
    CHECK(source.fill(source.user, frame, sizeof frame, nc_now_ns()) > 0);
}

static int client(const struct proxied *proxied)
{
    static const char request[] = "CONNECT far.example:80 HTTP/1.1\r\n\r\n";
    static uint8_t octets[SENT];
    int fd = proxied_connect(proxied);
    CHECK_EQ(send(fd, request, sizeof request - 1, 0), sizeof request - 1);
    CHECK_EQ(send(fd, octets, sizeof octets, 0), sizeof octets);
    return fd;
}

static void a_full_queue_is_filled_again_when_half_of_it_is_free(void)
{
    struct proxied proxied = proxied_open(PROXY_HTTP, STREAMS);
    int fd = client(&proxied);
    wait_queued(&proxied, 0);
    size_t full = queued(&proxied), frames = 0, left = full;
    for (; left > full / 2 + FRAME; left = queued(&proxied), frames++) {
        send_frame(&proxied);
        size_t sent = queued(&proxied);
        CHECK(sent < left);
        CHECK_EQ(send(fd, "", 1, 0), 1); /* the client goes on sending, which wakes the gateway */
        turns(&proxied);
        CHECK_EQ(queued(&proxied), sent);
    }
    CHECK(frames > 5);
    send_frame(&proxied);
    send_frame(&proxied);
    wait_queued(&proxied, full / 2);
    close(fd);
    proxied_close(&proxied);
}

int main(void)
{
    RUN(a_full_queue_is_filled_again_when_half_of_it_is_free);
    return 0;
}
