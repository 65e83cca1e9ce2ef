/* A server that answers early and closes while octets of its client are unread or under way: its kernel sends the
 * answer and then RST. The client must read the whole answer and then learn of the reset, as it would without gateways.
 * One bypassed relay has both the near and the far side. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "loop.h"
#include "nc_clock.h"
#include "nc_range.h"
#include "pool.h"
#include "proxy.h"
#include "relay.h"
#include "session.h"

enum { ANSWER_MAX = 400000, PATIENCE_S = 30 };

struct trial {
    size_t answer;     /* octets */
    int client_buffer; /* size of the client's receive queue; 0: the kernel's default */
    bool fin;          /* the server sends FIN before it closes */
    bool client_waits; /* the client reads nothing before the server has closed */
};
struct world {
    const struct trial *trial;
    struct loop *loop;
    struct relay *relay;
    struct lft_session *session; /* of the tunnel, which is not used */
    struct lft_pool *pool;
    struct proxy *proxy;
    struct sockaddr_in proxy_at;
    int listener, client, server; /* -1: none, or closed */
    size_t answered, got;
    int error; /* errno that the client got; 0: it read the end of the data */
    bool over;
};

static uint8_t answer[ANSWER_MAX], got[ANSWER_MAX + 1];

static int listen_somewhere(struct sockaddr_in *at)
{
    socklen_t size = sizeof *at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK(bind(fd, (struct sockaddr *)at, size) == 0 && listen(fd, 8) == 0);
    CHECK_EQ(getsockname(fd, (struct sockaddr *)at, &size), 0);
    return fd;
}

static struct world make(const struct trial *trial)
{
    const struct lft_session_config config = {
        .initiator = true, .streams_max = 10, .tx_memory_bytes = 1 << 20, .rx_memory_bytes = 1 << 20};
    struct relay_settings settings = {
        .sessions_max = 10, .half_open_max = 10, .half_open_ns = 60 * NC_NS_PER_S, .proxy_bypass = true};
    struct world world = {.trial = trial, .server = -1};
    struct sockaddr_in server_at;
    struct nc_error error;
    char text[64];
    CHECK_EQ(access_init(&settings.destinations, true, NULL, NULL, &error), 0);
    world.listener = listen_somewhere(&server_at);
    close(listen_somewhere(&world.proxy_at)); /* a port that is free */
    snprintf(text, sizeof text, "127.0.0.1:%u=127.0.0.1:%u", ntohs(world.proxy_at.sin_port), ntohs(server_at.sin_port));
    world.pool = lft_pool_create(2048, 1 << 20);
    world.session = lft_session_create(&config, world.pool);
    world.loop = loop_create();
    world.relay = relay_create(&settings, world.loop, world.session);
    world.proxy = proxy_open(world.relay, PROXY_FORWARD, text, &error);
    CHECK_DONE(world.proxy ? 0 : -1, text, error);
    return world;
}

static void unmake(struct world *world)
{
    close(world->client);
    close(world->listener);
    proxy_close(world->proxy);
    relay_destroy(world->relay);
    loop_destroy(world->loop);
    lft_session_destroy(world->session);
    lft_pool_destroy(world->pool);
}

static void turn(struct world *world)
{
    uint64_t now_ns = nc_now_ns();
    loop_turn(world->loop, now_ns, now_ns + NC_NS_PER_MS);
    relay_turn(world->relay, loop_now_ns(world->loop));
}

static void connect_client(struct world *world)
{
    int buffer = world->trial->client_buffer;
    world->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (buffer)
        CHECK_EQ(setsockopt(world->client, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer), 0);
    CHECK_EQ(connect(world->client, (struct sockaddr *)&world->proxy_at, sizeof world->proxy_at), 0);
    CHECK_EQ(fcntl(world->client, F_SETFL, O_NONBLOCK), 0);
}

/* The server reads one octet, answers, and closes when the far gateway's kernel has the answer. */
static void act_server(struct world *world, bool *closed)
{
    uint8_t octet;
    int left = 0;
    if (world->server < 0)
        world->server = accept4(world->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (world->server < 0 || (!world->answered && recv(world->server, &octet, 1, MSG_PEEK) <= 0))
        return;
    if (!world->answered)
        CHECK_EQ(recv(world->server, &octet, 1, 0), 1);
    ssize_t n = send(world->server, answer + world->answered, world->trial->answer - world->answered, MSG_NOSIGNAL);
    world->answered += n > 0 ? (size_t)n : 0;
    if (world->answered < world->trial->answer || ioctl(world->server, SIOCOUTQ, &left) < 0 || left)
        return;
    CHECK(ioctl(world->server, SIOCINQ, &left) == 0 && left > 0);
    if (world->trial->fin)
        shutdown(world->server, SHUT_WR);
    close(world->server);
    *closed = true;
}

static void upload(struct world *world)
{
    static const uint8_t octets[65536];
    send(world->client, octets, sizeof octets, MSG_NOSIGNAL);
}

static void download(struct world *world)
{
    ssize_t n = recv(world->client, got + world->got, sizeof got - world->got, 0);
    if (n > 0)
        world->got += (size_t)n;
    else if (n == 0 || errno != EAGAIN) {
        world->error = n ? errno : 0;
        world->over = true;
    }
}

static void try(const struct trial *trial)
{
    struct world world = make(trial);
    bool closed = false;
    unsigned turns_since = 0;
    connect_client(&world);
    for (uint64_t until_ns = nc_now_ns() + PATIENCE_S * NC_NS_PER_S; !world.over && nc_now_ns() < until_ns;) {
        turn(&world);
        if (!closed) {
            upload(&world);
            act_server(&world, &closed);
        }
        turns_since += closed;
        if (!trial->client_waits || turns_since > 50)
            download(&world);
    }
    if (world.got != trial->answer)
        fprintf(stderr, "%zu of %zu octets, %s\n", world.got, trial->answer, strerror(world.error));
    CHECK(world.over);
    CHECK_EQ(world.got, trial->answer);
    CHECK_EQ(memcmp(got, answer, world.got), 0);
    CHECK_EQ(world.error, trial->fin ? 0 : ECONNRESET);
    for (uint64_t until_ns = nc_now_ns() + PATIENCE_S * NC_NS_PER_S;
         relay_connections(world.relay) && nc_now_ns() < until_ns;)
        turn(&world);
    CHECK_EQ(relay_connections(world.relay), 0);
    if (trial->fin) /* the client learns of the reset when it writes */
        CHECK(send(world.client, "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE);
    unmake(&world);
}

static void an_answer_arrives_before_the_reset(void)
{
    static const size_t sizes[] = {100, 20000, 200000, ANSWER_MAX};
    for (size_t i = 0; i < sizeof answer; i++)
        answer[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t i = 0; i < 8 * sizeof sizes / sizeof sizes[0]; i++)
        try(&(struct trial){.answer = sizes[i / 8],
                            .client_buffer = i & 1 ? 8192 : 0,
                            .fin = i & 2,
                            .client_waits = (i & 4) && sizes[i / 8] <= 200000});
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as lft-gateway does */
    RUN(an_answer_arrives_before_the_reset);
    return 0;
}
