/* One client has all slots for connections. Another client must still get one, and the first client must get no
 * more. */
#include "proxied.h"

enum { PLACES = 20, OTHERS = 8 };

static void turns(struct proxied *proxied)
{
    for (int i = 0; i < 100; i++) {
        uint64_t now_ns = nc_now_ns();
        loop_turn(proxied->loop, now_ns, now_ns + NC_NS_PER_MS);
        relay_turn(proxied->relay, loop_now_ns(proxied->loop));
    }
}

static void one_client_does_not_keep_the_others_out(void)
{
    struct proxied proxied = proxied_open(PROXY_SOCKS5, PLACES);
    const struct relay_counters *counted = relay_counters(proxied.relay);
    int greedy[PLACES + 1], others[OTHERS];
    for (int i = 0; i < PLACES; i++)
        greedy[i] = proxied_connect_from(&proxied, "127.0.0.1");
    turns(&proxied);
    CHECK_EQ(relay_connections(proxied.relay), PLACES);
    greedy[PLACES] = proxied_connect_from(&proxied, "127.0.0.1");
    turns(&proxied);
    CHECK_EQ(counted->near_limited, 1);
    CHECK(!proxied_is_open(greedy[PLACES]));
    for (int i = 0; i < OTHERS; i++)
        others[i] = proxied_connect_from(&proxied, i % 2 ? "127.0.0.2" : "127.0.0.3");
    turns(&proxied);
    CHECK_EQ(counted->near_limited, 1);
    CHECK_EQ(counted->places_evicted, OTHERS);
    CHECK_EQ(relay_connections(proxied.relay), PLACES);
    for (int i = 0; i < OTHERS; i++)
        CHECK(proxied_is_open(others[i]));
    int left = 0;
    for (int i = 0; i < PLACES; i++)
        left += proxied_is_open(greedy[i]);
    CHECK_EQ(left, PLACES - OTHERS);
    for (int i = 0; i <= PLACES; i++)
        close(greedy[i]);
    for (int i = 0; i < OTHERS; i++)
        close(others[i]);
    proxied_close(&proxied);
}

int main(void)
{
    RUN(one_client_does_not_keep_the_others_out);
    return 0;
}
