/* A gateway without free descriptors: how sources share the descriptors. The gateway must sleep until one is free. */
#include <sys/resource.h>

#include "proxied.h"

enum { CLIENTS = 8, OTHERS = 2, ROOM = 5 };

/* Runs the loop as the gateway does. Returns the number of turns that it made. */
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

/* One source has all descriptors. Clients of another source take descriptors from it, and its own further clients get
 * none. */
static void the_busiest_source_makes_room(void)
{
    struct proxied proxied = proxied_open(PROXY_SOCKS5, 100);
    const struct relay_counters *counted = relay_counters(proxied.relay);
    int greedy[CLIENTS], others[OTHERS], left = 0;
    for (int i = 0; i < CLIENTS; i++)
        greedy[i] = proxied_client("127.0.0.1");
    for (int i = 0; i < OTHERS; i++)
        others[i] = proxied_client(i % 2 ? "127.0.0.2" : "127.0.0.3");
    allow_descriptors((rlim_t)others[OTHERS - 1] + 1 + ROOM);
    for (int i = 0; i < CLIENTS; i++)
        proxied_begin(&proxied, greedy[i]);
    unsigned turns = turn(proxied.loop, proxied.relay, NC_NS_PER_S);
    if (turns > 100)
        fprintf(stderr, "%u turns in a second without a descriptor\n", turns);
    CHECK(turns <= 100);
    CHECK_EQ(relay_connections(proxied.relay), ROOM);
    CHECK_EQ(counted->near_limited, CLIENTS - ROOM);
    CHECK_EQ(counted->sockets_evicted, 0);
    for (int i = 0; i < OTHERS; i++)
        proxied_begin(&proxied, others[i]);
    turn(proxied.loop, proxied.relay, NC_NS_PER_S / 10);
    for (int i = 0; i < OTHERS; i++)
        CHECK(proxied_is_open(others[i]));
    for (int i = 0; i < CLIENTS; i++)
        left += proxied_is_open(greedy[i]);
    CHECK_EQ(left, ROOM - OTHERS);
    CHECK_EQ(counted->sockets_evicted, OTHERS);
    CHECK(counted->accepts_without_descriptor >= OTHERS);
    allow_descriptors(0);
    for (int i = 0; i < CLIENTS; i++)
        close(greedy[i]);
    for (int i = 0; i < OTHERS; i++)
        close(others[i]);
    proxied_close(&proxied);
}

/* Without even a spare descriptor, clients wait in the kernel's queue, and the loop sleeps. */
static void no_descriptor_is_waited_for(void)
{
    struct proxied proxied = proxied_open(PROXY_SOCKS5, 100);
    int clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = proxied_connect(&proxied);
    allow_descriptors(1);
    unsigned turns = turn(proxied.loop, proxied.relay, NC_NS_PER_S);
    CHECK_EQ(relay_connections(proxied.relay), 0);
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
    RUN(the_busiest_source_makes_room);
    RUN(no_descriptor_is_waited_for);
    return 0;
}
