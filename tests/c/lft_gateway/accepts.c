/* A gateway that has no descriptor left for another client sleeps until it has one, and then serves those that waited.
 * */
#include <sys/resource.h>

#include "proxied.h"

enum { CLIENTS = 8, SPARE = 3 };

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
    struct proxied proxied = proxied_open(PROXY_SOCKS5, 100);
    int clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = proxied_connect(&proxied);
    allow_descriptors((rlim_t)clients[CLIENTS - 1] + 1 + SPARE);
    unsigned turns = turn(proxied.loop, proxied.relay, NC_NS_PER_S);
    CHECK(relay_connections(proxied.relay) > 0 && relay_connections(proxied.relay) < CLIENTS);
    if (turns > 100)
        fprintf(stderr, "%u turns in a second without a descriptor\n", turns);
    CHECK(turns <= 100);
    allow_descriptors(0);
    uint64_t until_ns = nc_now_ns() + 30 * NC_NS_PER_S;
    while (relay_connections(proxied.relay) < CLIENTS && nc_now_ns() < until_ns)
        turn(proxied.loop, proxied.relay, 10 * NC_NS_PER_MS);
    CHECK_EQ(relay_connections(proxied.relay), CLIENTS);
    for (int i = 0; i < CLIENTS; i++)
        close(clients[i]);
    proxied_close(&proxied);
}

int main(void)
{
    RUN(no_descriptor_is_waited_for);
    return 0;
}
