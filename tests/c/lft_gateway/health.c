/* Path MTU search and watch, in virtual time. */
#include "check.h"
#include "nc_clock.h"
#include "pmtu.h"
#include "watch.h"

/* A path that takes `passes` octets: what the search settles at. */
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
    CHECK_EQ(search(600, 1438), 1136); /* the base is never given up: it is what runs */
}

/* A path that shrinks behind a search: nothing changes while the size in use is answered; then a new one is found below it. */
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

static void test_watch_bypasses_at_once_and_returns_when_steady(void)
{
    struct watch watch = {.bypassed = true};
    uint64_t now_ns = NC_NS_PER_S;
    CHECK(!watch_step(&watch, true, -1, now_ns));
    CHECK(!watch_step(&watch, true, -1, now_ns + 100 * NC_NS_PER_MS));
    CHECK(watch_step(&watch, true, -1, now_ns + 200 * NC_NS_PER_MS));
    CHECK(!watch_step(&watch, false, -1, now_ns + NC_NS_PER_S));
    CHECK(watch_step(&watch, false, 0, now_ns + NC_NS_PER_S));
    CHECK(!watch_step(&watch, true, 1, now_ns + 2 * NC_NS_PER_S));
}

int main(void)
{
    test_search_finds_what_the_path_takes();
    test_a_doubted_size_is_confirmed_or_given_up();
    test_watch_bypasses_at_once_and_returns_when_steady();
    return 0;
}
