/* A proxy's client sends data after its request while no memory is left. The data must wait, and be sent when memory
 * becomes free. */
#include "proxied.h"

enum { STREAMS = 2000, EARLY = 500 };

static size_t queued(const struct lft_session *session)
{
    struct lft_session_state state;
    lft_session_state(session, &state);
    return state.tx_queued_bytes;
}

/* Opens streams that use up all blocks. Returns one of the streams. */
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

static int client(const struct proxied *proxied)
{
    static const char request[] = "CONNECT far.example:80 HTTP/1.1\r\n\r\n";
    char text[sizeof request - 1 + EARLY] = {0};
    int fd = proxied_connect(proxied);
    memcpy(text, request, sizeof request - 1);
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
    struct proxied proxied = proxied_open(PROXY_HTTP, STREAMS);
    struct lft_stream *hog = exhaust(proxied.session);
    int fd = client(&proxied);
    turns(proxied.loop, proxied.relay);
    CHECK_EQ(relay_connections(proxied.relay), 1);
    size_t before = queued(proxied.session);
    lft_stream_release(hog); /* 8,000 octets less */
    turns(proxied.loop, proxied.relay);
    CHECK_EQ(queued(proxied.session), before - 8000 + EARLY);
    close(fd);
    proxied_close(&proxied);
}

int main(void)
{
    RUN(early_data_wait_for_memory);
    return 0;
}
