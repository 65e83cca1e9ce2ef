/* A gateway that has no descriptor left for another client sleeps until it has one, and then serves those that waited.
 * */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"
#include "loop.h"
#include "nc_clock.h"
#include "pool.h"
#include "proxy.h"
#include "relay.h"
#include "session.h"

enum { CLIENTS = 8, SPARE = 3 };

static int client(const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(8118)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, address, &to.sin_addr);
    CHECK_EQ(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Runs the loop as the gateway does, and returns how often it turned. */
static unsigned turn(struct loop *loop, struct relay *relay, uint64_t ns)
{
    unsigned turns = 0;
    uint64_t now_ns = nc_now_ns();
    for (uint64_t end_ns = now_ns + ns; now_ns < end_ns; turns++) {
        uint64_t next_ns = relay_next_ns(relay);
        loop_turn(loop, now_ns, next_ns < end_ns ? next_ns : end_ns);
        now_ns = loop_now_ns(loop);
        while (relay_turn(relay, now_ns)) {
        }
    }
    return turns;
}

static void allow_descriptors(rlim_t n)
{
    struct rlimit limit;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = n ? n : limit.rlim_max;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void no_descriptor_is_waited_for(void)
{
    struct nc_error error;
    char address[32], listen_at[64];
    const struct lft_session_config config = {
        .initiator = true, .streams_max = 100, .tx_memory_bytes = 1 << 20, .rx_memory_bytes = 8 << 20};
    const struct relay_settings settings = {
        .sessions_max = 100, .half_open_max = 100, .half_open_ns = 60 * NC_NS_PER_S};
    struct lft_pool *pool = lft_pool_create(2048, 8 << 20);
    struct lft_session *session = lft_session_create(&config, pool);
    struct loop *loop = loop_create();
    struct relay *relay = relay_create(&settings, loop, session);
    snprintf(address, sizeof address, "127.78.%d.%d", getpid() >> 8 & 255, getpid() & 255); /* nobody else's */
    snprintf(listen_at, sizeof listen_at, "%s:8118", address);
    struct proxy *proxy = proxy_open(relay, PROXY_SOCKS5, listen_at, &error);
    CHECK(proxy);
    int clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = client(address);
    allow_descriptors((rlim_t)clients[CLIENTS - 1] + 1 + SPARE);
    unsigned turns = turn(loop, relay, NC_NS_PER_S);
    CHECK(relay_connections(relay) > 0 && relay_connections(relay) < CLIENTS);
    if (turns > 100)
        fprintf(stderr, "%u turns in a second without a descriptor\n", turns);
    CHECK(turns <= 100);
    allow_descriptors(0);
    uint64_t until_ns = nc_now_ns() + 30 * NC_NS_PER_S;
    while (relay_connections(relay) < CLIENTS && nc_now_ns() < until_ns)
        turn(loop, relay, 10 * NC_NS_PER_MS);
    CHECK_EQ(relay_connections(relay), CLIENTS);
    for (int i = 0; i < CLIENTS; i++)
        close(clients[i]);
    proxy_close(proxy);
    relay_destroy(relay);
    loop_destroy(loop);
    lft_session_destroy(session);
    lft_pool_destroy(pool);
}

int main(void)
{
    RUN(no_descriptor_is_waited_for);
    return 0;
}
