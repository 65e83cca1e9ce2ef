/* Checks that the tunnel comes up although an outsider copies everything that he sees. */
#include <string.h>

#include "check.h"
#include "nc_bytes.h"
#include "nc_clock.h"
#include "nc_range.h"
#include "watch.h"
#include "proof.h"

#define NEAR_NS (5 * NC_NS_PER_MS) /* the outsider's copies arrive first */
#define PATH_NS (10 * NC_NS_PER_MS)
#define STAYS_NS (1500 * NC_NS_PER_MS)
/* The bound of FORMAT.md, "Another gateway with the same key": --dead plus 2 s and five round trips. */
#define COMES_NS (NC_NS_PER_S + 2 * NC_NS_PER_S + 10 * PATH_NS)
enum { FLIGHT_MAX = 512, COPIES = LFT_SEEN_MOST + 2 };

struct flight {
    uint64_t due_ns;
    uint8_t to, from;
    unsigned times;
    size_t n;
    uint8_t at[OCTETS_MAX];
};
static struct {
    unsigned n;
    struct flight flight[FLIGHT_MAX];
} path;

static void deliver_later(int to, uint8_t from, uint64_t delay_ns, unsigned times, const uint8_t *at, size_t n)
{
    CHECK(path.n < FLIGHT_MAX);
    struct flight *flight = &path.flight[path.n++];
    *flight =
        (struct flight){.due_ns = world->now_ns + delay_ns, .to = (uint8_t)to, .from = from, .times = times, .n = n};
    memcpy(flight->at, at, n);
}

/* Copies of a handshake message arrive before it, from both addresses; a frame is copied afterwards. Messages sent to
 * the outsider's address are lost. */
static void send_with_copies(int end, uint8_t to, const uint8_t *at, size_t n)
{
    uint8_t from = (uint8_t)(end + 1), other = (uint8_t)(!end + 1);
    if (to != other)
        return;
    if (nc_get32(at) == 0) {
        deliver_later(!end, OUTSIDER_ADDRESS, NEAR_NS, COPIES, at, n);
        deliver_later(!end, from, NEAR_NS, COPIES, at, n);
    } else
        deliver_later(!end, OUTSIDER_ADDRESS, PATH_NS + NEAR_NS, 1, at, n);
    deliver_later(!end, from, PATH_NS, 1, at, n);
}

static void deliver_due(void)
{
    for (unsigned i = 0; i < path.n; i++) {
        struct flight flight = path.flight[i];
        if (flight.due_ns > world->now_ns)
            continue;
        memmove(&path.flight[i], &path.flight[i + 1], (--path.n - i) * sizeof flight); /* the order stays */
        i--;
        for (unsigned copy = 0; copy < flight.times; copy++)
            world_deliver(flight.to, flight.from, flight.at, flight.n);
    }
}

static void step(uint64_t until_ns)
{
    uint64_t next = nc_min(until_ns, nc_max(world_next_ns(), world->now_ns + NC_NS_PER_US));
    for (unsigned i = 0; i < path.n; i++)
        next = nc_min(next, path.flight[i].due_ns);
    world->now_ns = nc_max(next, world->now_ns);
    deliver_due();
    world_transmit(send_with_copies);
}

static uint64_t associations(void)
{
    return world->link[INITIATOR]->counters.associations + world->link[RESPONDER]->counters.associations;
}

bool world_recovers(uint64_t *ns)
{
    uint64_t begun_ns = world->now_ns, until_ns = begun_ns + COMES_NS;
    path.n = 0;
    world_transmit(send_with_copies);
    while (world->now_ns < until_ns && !world_is_up() && !world->watched.violated)
        step(until_ns);
    *ns = world->now_ns - begun_ns;
    if (!world_is_up())
        watch_violated(watch_comes_up);
    uint64_t before = associations();
    for (until_ns = world->now_ns + STAYS_NS; world->now_ns < until_ns && !world->watched.violated;)
        step(until_ns);
    if (associations() != before || !lft_link_ready(world->link[INITIATOR]) || !lft_link_ready(world->link[RESPONDER]))
        watch_violated(watch_stays_up);
    return !world->watched.violated;
}
