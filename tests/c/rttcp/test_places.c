/* The server's slots for sessions ("places"): which session is evicted when all are taken. Time is passed in; the test
 * sets the states that a session's process would set. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "check.h"
#include "places.h"

#define S UINT64_C(1000000000)

static struct rttcp_places places;

static struct rttcp_origin host(uint8_t number)
{
    return (struct rttcp_origin){.ipv4 = true, .octets = {10, 0, 0, number}};
}

static uint64_t take(uint8_t number, uint64_t now_ns)
{
    struct rttcp_origin origin = host(number);
    uint64_t i = rttcp_places_take(&places, &origin, now_ns);
    places.at[i].pid = (pid_t)(1000 + i);
    return i;
}

static int64_t loser(uint8_t newcomer, uint64_t now_ns)
{
    struct rttcp_origin origin = host(newcomer);
    return rttcp_places_loser(&places, &origin, now_ns);
}

static void open_places(uint64_t n)
{
    CHECK_EQ(rttcp_places_create(&places, n), 0);
}

static void the_oldest_of_the_largest_holder_goes(void)
{
    open_places(8);
    take(1, 1 * S);
    for (int i = 0; i < 5; i++)
        take(2, 2 * S + (uint64_t)i);
    take(3, 1 * S);
    take(3, 1 * S);
    CHECK_EQ(loser(9, 2 * S), -1);     /* a handshake may take a second */
    CHECK_EQ(loser(9, 3 * S + 1), 1);  /* evicts the first session of host 2, although others are older */
    CHECK_EQ(loser(2, 3 * S + 1), -1); /* a new session of host 2 evicts none of host 2 yet */
    CHECK_EQ(loser(2, 4 * S + 1), 0);  /* … but after the grace period of 3 s it evicts one of any host */
    CHECK_EQ(rttcp_places_loser(&places, NULL, 3 * S + 1), 1);
    rttcp_places_release(&places);
}

static void a_session_that_has_begun_keeps_its_place(void)
{
    open_places(4);
    for (int i = 0; i < 4; i++)
        take(1, 0);
    CHECK_EQ(loser(9, 100 * S), 0);
    for (int i = 0; i < 4; i++) {
        CHECK(rttcp_place_begin(&places.states[i]));
        atomic_store(&places.states[i].moved_ns, 99 * S);
    }
    CHECK_EQ(loser(9, 100 * S), -1);
    CHECK(!rttcp_place_lose(&places.states[0], 100 * S));
    CHECK(rttcp_place_begin(&places.states[0])); /* a second time, too */
    rttcp_places_release(&places);
}

static void a_lost_place_cannot_begin_and_is_free_with_its_process(void)
{
    struct rttcp_origin one = host(1);
    open_places(2);
    take(1, 0);
    take(1, 0);
    CHECK(rttcp_place_lose(&places.states[0], 4 * S));
    CHECK(!rttcp_place_begin(&places.states[0]));
    CHECK(rttcp_places_has(&places, PLACE_LOST));
    CHECK_EQ(rttcp_places_waiting(&places, &one), 1);
    CHECK_EQ(places.taken, 2);
    CHECK_EQ(rttcp_places_free(&places, 1000), PLACE_LOST);
    CHECK_EQ(rttcp_places_free(&places, 1000), PLACE_FREE);
    CHECK_EQ(places.taken, 1);
    CHECK_EQ(take(2, 5 * S), 0);
    rttcp_places_release(&places);
}

static void sessions_share_the_memory(void)
{
    enum { MOST = 1000 };
    open_places(6);
    for (uint8_t i = 0; i < 6; i++)
        take(i + 1, 0);
    for (uint64_t i = 0; i < 3; i++)
        CHECK_EQ(rttcp_places_reserve(&places, i, 250, MOST), 250);
    CHECK_EQ(rttcp_places_reserve(&places, 3, 200, MOST), 200);
    CHECK_EQ(rttcp_places_reserve(&places, 4, 51, MOST), 50); /* refused: so much is left */
    CHECK_EQ(rttcp_places_reserve(&places, 5, 50, MOST), 50); /* and a refused session has none */
    CHECK_EQ(rttcp_places_reserve(&places, 4, UINT64_C(1) << 40, MOST), 0);
    CHECK_EQ(rttcp_places_free(&places, 1000), PLACE_WAITING);
    CHECK_EQ(rttcp_places_reserve(&places, 4, 250, MOST), 250);
    CHECK(rttcp_place_lose(&places.states[3], 4 * S));
    CHECK_EQ(take(7, 0), 0);
    CHECK_EQ(rttcp_places_reserve(&places, 0, 1, MOST), 0); /* the process of an evicted session has not ended yet */
    CHECK_EQ(rttcp_places_free(&places, 1003), PLACE_LOST);
    CHECK_EQ(rttcp_places_reserve(&places, 0, 200, MOST), 200);
    rttcp_places_release(&places);
}

/* One address gets at most a quarter of the memory, however many sessions it has. */
static void an_origin_has_a_quarter_of_the_memory(void)
{
    enum { MOST = 1000 };
    open_places(8);
    for (int i = 0; i < 8; i++)
        take(i < 4 ? 1 : i - 2, 0); /* 1 1 1 1 2 3 4 5 */
    CHECK_EQ(rttcp_places_reserve(&places, 0, 200, MOST), 200);
    CHECK_EQ(rttcp_places_reserve(&places, 1, 51, MOST), 50); /* as much as its origin has left */
    CHECK_EQ(rttcp_places_reserve(&places, 2, 50, MOST), 50);
    CHECK_EQ(rttcp_places_reserve(&places, 3, 1, MOST), 0);
    for (int i = 4; i < 7; i++)
        CHECK_EQ(rttcp_places_reserve(&places, i, 250, MOST), 250);
    CHECK_EQ(rttcp_places_reserve(&places, 7, 1, MOST), 0); /* all is taken */
    CHECK_EQ(rttcp_places_free(&places, 1000), PLACE_WAITING);
    CHECK_EQ(take(6, 0), 0); /* another origin in the same slot inherits nothing from the previous one */
    CHECK_EQ(rttcp_places_reserve(&places, 0, 250, MOST), 200);
    CHECK_EQ(rttcp_places_reserve(&places, 3, 200, MOST), 200);
    rttcp_places_release(&places);
}

static void who_has_the_only_place_has_all_of_the_memory(void)
{
    open_places(1);
    take(1, 0);
    CHECK_EQ(rttcp_places_reserve(&places, 0, 1000, 1000), 1000);
    rttcp_places_release(&places);
}

/* With --once there is a single slot. A stranger's hello must not evict a handshake that is under way. */
static void a_single_place_has_its_grace(void)
{
    open_places(1);
    take(1, 10 * S);
    CHECK_EQ(loser(2, 12 * S), -1);
    CHECK_EQ(loser(2, 13 * S + 1), 0);
    rttcp_places_release(&places);
}

static struct rttcp_origin origin_of(const char *text)
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&address;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&address;
    address.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
    CHECK_EQ(inet_pton(address.ss_family, text,
                       address.ss_family == AF_INET ? (void *)&in->sin_addr : (void *)&in6->sin6_addr),
             1);
    return rttcp_origin_of(&address);
}

static void an_origin_is_an_ipv4_address_or_an_ipv6_network(void)
{
    static const struct {
        const char *a, *b, *text;
        bool same;
    } rows[] = {{"10.0.0.1", "10.0.0.1", "10.0.0.1", true},
                {"10.0.0.1", "10.0.0.2", "10.0.0.1", false},
                {"10.0.0.1", "::ffff:10.0.0.1", "10.0.0.1", true},
                {"2001:db8::1", "2001:db8::ffff:1", "2001:db8::/64", true},
                {"2001:db8::1", "2001:db8:0:1::1", "2001:db8::/64", false},
                {"a00:1::", "10.0.0.1", "a00:1::/64", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[RTTCP_ORIGIN_TEXT];
        struct rttcp_origin a = origin_of(rows[i].a), b = origin_of(rows[i].b);
        CHECK_EQ(rttcp_origin_same(&a, &b), rows[i].same);
        rttcp_origin_text(&a, text);
        CHECK_STR(text, rows[i].text);
    }
}

/* Eight sessions that became silent after their beginning once kept all slots forever. */
static void an_idle_session_of_who_has_most_loses_its_place(void)
{
    open_places(8);
    for (uint64_t i = 0; i < 6; i++)
        take(1, S);
    take(2, S);
    take(2, S);
    for (uint64_t i = 0; i < 8; i++)
        CHECK(rttcp_place_begin(&places.states[i]));
    CHECK_EQ(loser(3, 6 * S), -1); /* no session has been idle for more than 5 s */
    for (uint64_t i = 0; i < 6; i++)
        atomic_store(&places.states[i].moved_ns, (10 - i) * S);
    CHECK_EQ(loser(3, 11 * S), 5);  /* host 2 has a quarter of the slots, so it loses none, although it is idle */
    CHECK_EQ(loser(1, 99 * S), -1); /* a new session of host 1 evicts none of host 1 */
    CHECK(rttcp_place_lose(&places.states[5], 11 * S));
    CHECK(!rttcp_place_lose(&places.states[0], 11 * S)); /* data have moved since */
    CHECK_EQ(loser(3, 11 * S), -1);                      /* the next session has been idle for exactly 5 s */
    rttcp_places_release(&places);
}

static void half_is_kept_for_others(void)
{
    struct rttcp_origin one = host(1), two = host(2);
    open_places(8);
    for (uint64_t i = 0; i < 3; i++)
        take(1, S);
    CHECK(!rttcp_places_full_for(&places, &one));
    take(1, S);
    CHECK(rttcp_places_full_for(&places, &one));
    CHECK(!rttcp_places_full_for(&places, &two));
    rttcp_places_release(&places);
    open_places(1);
    CHECK(!rttcp_places_full_for(&places, &one)); /* with a single slot, every origin has the same right to it */
    rttcp_places_release(&places);
}

int main(void)
{
    RUN(an_idle_session_of_who_has_most_loses_its_place);
    RUN(half_is_kept_for_others);
    RUN(the_oldest_of_the_largest_holder_goes);
    RUN(a_session_that_has_begun_keeps_its_place);
    RUN(a_lost_place_cannot_begin_and_is_free_with_its_process);
    RUN(a_single_place_has_its_grace);
    RUN(sessions_share_the_memory);
    RUN(an_origin_has_a_quarter_of_the_memory);
    RUN(who_has_the_only_place_has_all_of_the_memory);
    RUN(an_origin_is_an_ipv4_address_or_an_ipv6_network);
    return 0;
}
