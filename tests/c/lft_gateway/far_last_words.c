/* A server sends octets and resets its connection before the far gateway has read them. The gateway must still read all
 * of them, even if a write or the end of connect() reports the reset first. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "far.h"

enum { ANSWER = 120000 /* more than the credit, less than a receive queue */, NEAR_MEMORY = 256 << 10 };

struct bench {
    struct far_pair pair;
    struct lft_stream *stream; /* the near session's */
    int listener, server;
    unsigned seen; /* events of the stream */
    size_t got;
};

static uint8_t answer[ANSWER];

static struct bench start(void)
{
    struct relay_settings settings = {0};
    struct nc_error error;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    struct bench bench = {.server = -1};
    CHECK_EQ(access_init(&settings.destinations, true, NULL, NULL, &error), 0);
    bench.pair = far_make(&settings, NEAR_MEMORY);
    bench.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(bench.listener, (struct sockaddr *)&at, size) == 0 && listen(bench.listener, 8) == 0);
    CHECK_EQ(getsockname(bench.listener, (struct sockaddr *)&at, &size), 0);
    const struct lft_open where = {
        .family = LFT_FAMILY_IPV4, .destination = {127, 0, 0, 1}, .destination_port = ntohs(at.sin_port)};
    bench.stream = lft_stream_open(bench.pair.session[0], &where, NULL);
    far_carry(&bench.pair, 0);
    relay_turn(bench.pair.relay, loop_now_ns(bench.pair.loop)); /* begins to connect; the kernel completes it */
    CHECK((bench.server = accept4(bench.listener, NULL, NULL, SOCK_CLOEXEC)) >= 0);
    return bench;
}

static void end(struct bench *bench)
{
    lft_stream_release(bench->stream);
    close(bench->listener);
    far_unmake(&bench->pair);
}

static void turn(struct bench *bench)
{
    struct far_pair *pair = &bench->pair;
    unsigned events;
    far_carry(pair, 0);
    uint64_t now_ns = nc_now_ns();
    loop_turn(pair->loop, now_ns, now_ns + NC_NS_PER_MS);
    relay_turn(pair->relay, loop_now_ns(pair->loop));
    far_carry(pair, 1);
    while (lft_session_event(pair->session[0], &events))
        bench->seen |= events;
}

static void reset_by_server(struct bench *bench)
{
    const struct linger now = {.l_onoff = 1};
    CHECK_EQ(setsockopt(bench->server, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    close(bench->server);
}

static void read_near(struct bench *bench)
{
    struct iovec piece;
    while (lft_stream_read_view(bench->stream, &piece, 1)) {
        CHECK(bench->got + piece.iov_len <= ANSWER);
        CHECK_EQ(memcmp(piece.iov_base, answer + bench->got, piece.iov_len), 0);
        bench->got += piece.iov_len;
        lft_stream_consumed(bench->stream, piece.iov_len, nc_now_ns());
    }
}

static void read_to_the_end(struct bench *bench, size_t octets, bool fin)
{
    for (uint64_t until_ns = nc_now_ns() + 30 * NC_NS_PER_S;
         !(bench->seen & (LFT_EVENT_FAILED | LFT_EVENT_RESET)) && nc_now_ns() < until_ns; turn(bench))
        read_near(bench);
    CHECK_EQ(bench->got, octets);
    CHECK(bench->seen & LFT_EVENT_FAILED && !(bench->seen & LFT_EVENT_RESET));
    CHECK_EQ((bench->seen & LFT_EVENT_END) != 0, fin);
    CHECK_EQ(lft_stream_result(bench->stream)->code, LFT_RESULT_RESET);
    CHECK_EQ(relay_connections(bench->pair.relay), 0);
}

/* The near side has no room for more, so most of the answer is in the far gateway's kernel when the server resets. Then
 * octets of the client arrive, and writing them fails. */
static void a_write_shows_the_reset_first(void)
{
    for (int fin = 0; fin < 2; fin++) {
        struct bench bench = start();
        int left = 1;
        CHECK_EQ(send(bench.server, answer, ANSWER, 0), ANSWER);
        for (uint64_t until_ns = nc_now_ns() + 30 * NC_NS_PER_S; left && nc_now_ns() < until_ns; turn(&bench))
            CHECK_EQ(ioctl(bench.server, SIOCOUTQ, &left), 0);
        CHECK_EQ(left, 0);
        for (int i = 0; i < 20; i++)
            turn(&bench);
        CHECK(lft_session_counters(bench.pair.session[0])->rx_bytes < ANSWER);
        if (fin)
            shutdown(bench.server, SHUT_WR);
        reset_by_server(&bench);
        CHECK_EQ(lft_stream_write(bench.stream, "the client's", 12), 12);
        for (int i = 0; i < 20; i++)
            turn(&bench);
        CHECK(!(bench.seen & (LFT_EVENT_FAILED | LFT_EVENT_RESET)));
        read_to_the_end(&bench, ANSWER, fin);
        end(&bench);
    }
}

/* A server that is full reports this and resets before the far gateway has noticed that it is connected. */
static void connect_shows_the_reset_first(void)
{
    for (int fin = 0; fin < 2; fin++) {
        struct bench bench = start();
        CHECK_EQ(send(bench.server, answer, 100, 0), 100);
        if (fin)
            shutdown(bench.server, SHUT_WR);
        reset_by_server(&bench);
        read_to_the_end(&bench, 100, fin);
        CHECK(bench.seen & LFT_EVENT_ACCEPTED);
        end(&bench);
    }
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as lft-gateway does */
    for (size_t i = 0; i < sizeof answer; i++)
        answer[i] = (uint8_t)(i * 2654435761u >> 13);
    RUN(a_write_shows_the_reset_first);
    RUN(connect_shows_the_reset_first);
    return 0;
}
