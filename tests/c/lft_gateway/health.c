/* The search for the path MTU, and the supervision of the tunnel, in virtual time. */
#include "check.h"
#include "nc_clock.h"
#include "pmtu.h"
#include "health.h"

/* The result of the search on a path that carries `passes` octets. */
static uint32_t search(uint32_t passes, uint32_t limit)
{
    struct pmtu pmtu;
    uint64_t now_ns = 1;
    unsigned probes = 0;
    pmtu_init(&pmtu, 1136, limit);
    pmtu_start(&pmtu, NC_NS_PER_MS, now_ns);
    while (pmtu.trying) {
        uint32_t size = pmtu_poll(&pmtu, now_ns);
        CHECK(probes++ < 200);
        if (size && size <= passes)
            CHECK(pmtu_answered(&pmtu, size, now_ns));
        now_ns = pmtu_next_ns(&pmtu) > now_ns ? pmtu_next_ns(&pmtu) : now_ns;
    }
    return pmtu.good;
}

static void test_search_finds_what_the_path_takes(void)
{
    for (uint32_t passes = 1136; passes <= 9000; passes += 97) {
        uint32_t found = search(passes, 8938), most = passes < 8938 ? passes : 8938;
        CHECK(found <= most);
        CHECK(found + 16 >= most);
    }
    CHECK_EQ(search(1438, 1438), 1438);
    CHECK_EQ(search(600, 1438), 1136); /* the base size is used even if it does not pass */
}

/* A path whose MTU shrinks after a search. Nothing changes while frames of the size in use are acknowledged. Then a
 * smaller size is found. */
static void test_a_doubted_size_is_confirmed_or_given_up(void)
{
    struct pmtu pmtu;
    uint64_t now_ns = NC_NS_PER_S;
    pmtu_init(&pmtu, 1136, 1438);
    pmtu_start(&pmtu, NC_NS_PER_MS, now_ns);
    CHECK_EQ(pmtu_poll(&pmtu, now_ns), 1438);
    CHECK(pmtu_answered(&pmtu, 1438, now_ns));
    CHECK_EQ(pmtu_poll(&pmtu, now_ns), 0);
    pmtu_doubt(&pmtu, now_ns);
    CHECK_EQ(pmtu_poll(&pmtu, now_ns), 1438);
    CHECK(pmtu_answered(&pmtu, 1438, now_ns));
    CHECK(pmtu.good == 1438 && !pmtu.trying);
    pmtu_doubt(&pmtu, now_ns);
    while (pmtu.trying) {
        uint32_t size = pmtu_poll(&pmtu, now_ns);
        CHECK(pmtu.good <= 1238 || pmtu.good == 1438);
        if (size && size <= 1238)
            pmtu_answered(&pmtu, size, now_ns);
        now_ns = pmtu_next_ns(&pmtu) > now_ns ? pmtu_next_ns(&pmtu) : now_ns;
    }
    CHECK(pmtu.good <= 1238 && pmtu.good + 16 >= 1238);
}

/* Small frames are acknowledged while one of full size is not. After a second and four round trips frames of the base
 * size are sent, and the full size is tested. */
static void test_a_stuck_frame_shows_among_small_ones(void)
{
    struct pmtu pmtu;
    uint64_t now_ns = NC_NS_PER_S, stuck_ns = 0;
    struct lft_engine_state state = {.srtt_ns = 200 * NC_NS_PER_MS, .next_number = 1000, .oldest_number = 990};
    pmtu_init(&pmtu, 1136, 1438);
    pmtu_start(&pmtu, NC_NS_PER_MS, now_ns);
    CHECK_EQ(pmtu_poll(&pmtu, now_ns), 1438);
    CHECK(pmtu_answered(&pmtu, 1438, now_ns));
    for (int second = 0; second < 20; second++, now_ns += NC_NS_PER_S) {
        bool stuck = second >= 10; /* until then everything is fine: the oldest outstanding number advances */
        state.next_number += 50;
        state.oldest_number += stuck ? 0 : 50;
        state.unacknowledged_frames = 1 + (uint64_t)second % 3; /* the stuck frame and a few of the small ones */
        stuck_ns = stuck && !stuck_ns ? now_ns : stuck_ns;
        pmtu_watch(&pmtu, &state, now_ns);
        CHECK(!pmtu.trying || stuck);
        if (pmtu.trying)
            break;
    }
    CHECK_EQ(pmtu.trying, 1438);
    CHECK_EQ(pmtu.good, 1136);
    CHECK(now_ns - stuck_ns <= 4 * NC_NS_PER_S);
    CHECK_EQ(pmtu_poll(&pmtu, now_ns), 1438);
    CHECK_EQ(pmtu_next_ns(&pmtu) - now_ns, 700 * NC_NS_PER_MS); /* by the round trip that is known by then */
}

/* The size in use is tested again every ten minutes, even if it is the largest that the device takes. So the gateway
 * notices a path that has shrunk while nothing was sent. */
static void test_a_size_at_its_limit_is_confirmed_again(void)
{
    struct pmtu pmtu;
    uint64_t now_ns = NC_NS_PER_S;
    unsigned confirmed = 0;
    pmtu_init(&pmtu, 1136, 1438);
    pmtu_start(&pmtu, NC_NS_PER_MS, now_ns);
    for (uint64_t end_ns = now_ns + 7200 * NC_NS_PER_S; now_ns < end_ns; now_ns = pmtu_next_ns(&pmtu)) {
        uint32_t size = pmtu_poll(&pmtu, now_ns);
        confirmed += size && pmtu_answered(&pmtu, size, now_ns);
        CHECK(now_ns < 2 * NC_NS_PER_S || pmtu.good == 1438);
    }
    CHECK(confirmed >= 10);
    for (uint64_t hour_ns = now_ns + 3600 * NC_NS_PER_S; now_ns < hour_ns; now_ns = pmtu_next_ns(&pmtu)) {
        uint32_t size = pmtu_poll(&pmtu, now_ns);
        if (size && size <= 1238)
            pmtu_answered(&pmtu, size, now_ns);
    }
    CHECK(pmtu.good <= 1238 && pmtu.good + 16 >= 1238);
}

static void test_new_connections_bypass_at_once_and_return_when_steady(void)
{
    struct health health = {.bypassed = true};
    uint64_t now_ns = NC_NS_PER_S;
    CHECK(!health_step(&health, true, -1, now_ns));
    CHECK(!health_step(&health, true, -1, now_ns + 100 * NC_NS_PER_MS));
    CHECK(health_step(&health, true, -1, now_ns + 200 * NC_NS_PER_MS));
    CHECK(!health_step(&health, false, -1, now_ns + NC_NS_PER_S));
    CHECK(health_step(&health, false, 0, now_ns + NC_NS_PER_S));
    CHECK(!health_step(&health, true, 1, now_ns + 2 * NC_NS_PER_S));
}

/* A deadline in the past would keep the gateway's loop from sleeping. */
static void test_time_matters_only_before_the_return(void)
{
    struct health health = {.bypassed = true};
    uint64_t now_ns = NC_NS_PER_S;
    health_step(&health, true, -1, now_ns);
    CHECK(health_next_ns(&health) == now_ns + 200 * NC_NS_PER_MS);
    health_step(&health, true, -1, now_ns + 200 * NC_NS_PER_MS);
    CHECK(health_next_ns(&health) == UINT64_MAX);
    health_step(&health, true, 1, now_ns + NC_NS_PER_S);
    CHECK(health.bypassed && health_next_ns(&health) == UINT64_MAX);
    health_step(&health, true, -1, now_ns + 2 * NC_NS_PER_S);
    CHECK(!health.bypassed);
    health_step(&health, false, -1, now_ns + 3 * NC_NS_PER_S);
    CHECK(health.bypassed && health_next_ns(&health) == UINT64_MAX);
}

int main(void)
{
    test_search_finds_what_the_path_takes();
    test_a_doubted_size_is_confirmed_or_given_up();
    test_a_stuck_frame_shows_among_small_ones();
    test_a_size_at_its_limit_is_confirmed_again();
    test_new_connections_bypass_at_once_and_return_when_steady();
    test_time_matters_only_before_the_return();
    return 0;
}
