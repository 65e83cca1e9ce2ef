/* When a new connection needs room, which connection that is not yet established is evicted. A port scan must not
 * affect other clients. Time is an argument here: a scan and working clients are events on one time axis. */
#include "../seeded.h"
#include "check.h"
#include "shares.h"
#include "nc_clock.h"

static struct share_key source(unsigned n)
{
    return share_key(4, (const uint8_t[16]){10, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n});
}

/* --- against a plain model: a list in order of arrival --- */

enum { MOST = 40, SOURCES = 12, STEPS = 200000 };
struct listed {
    struct share_entry entry;
    unsigned source;
    bool in;
    uint64_t since;
};

static unsigned count_of(const struct listed *all, unsigned of)
{
    unsigned n = 0;
    for (int i = 0; i < MOST; i++)
        n += all[i].in && all[i].source == of;
    return n;
}

static void the_oldest_of_the_heaviest_makes_room(void)
{
    struct seeded seeded = seeded_start();
    struct shares *shares = shares_create(MOST);
    static struct listed all[MOST];
    size_t in = 0, full = 0;
    for (uint64_t step = 0; step < STEPS; step++) {
        struct listed *one = &all[seeded_below(&seeded, MOST)];
        unsigned from = seeded_below(&seeded, 3) ? seeded_below(&seeded, SOURCES) : 0;
        struct share_key key = source(from);
        struct share_entry *victim = shares_victim(shares, &key);
        CHECK_EQ(victim != NULL, in == MOST);
        if (victim) {
            full++;
            one = (struct listed *)victim; /* its first member */
            CHECK(one->source == from || count_of(all, from) < count_of(all, one->source));
            for (int i = 0; i < MOST; i++) {
                CHECK(count_of(all, all[i].source) <= count_of(all, one->source));
                CHECK(all[i].source != one->source || all[i].since >= one->since);
            }
        }
        if (one->in && !victim && seeded_below(&seeded, 500))
            continue; /* most entries stay until they are evicted */
        if (one->in) {
            shares_remove(shares, &one->entry);
            one->in = false;
            in--;
        } else {
            one->source = from;
            one->since = step;
            CHECK(shares_add(shares, &one->entry, &key));
            one->in = true;
            in++;
        }
        CHECK_EQ(shares_count(shares), in);
    }
    CHECK(full > STEPS / 100);
    for (int i = 0; i < MOST; i++)
        if (all[i].in)
            shares_remove(shares, &all[i].entry);
    shares_destroy(shares);
}

static void sources_are_addresses_or_networks(void)
{
    const uint8_t a[16] = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 1}, b[16] = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 2},
                  c[16] = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 2, 1};
    struct share_key keys[] = {share_key(6, a), share_key(6, b), share_key(6, c), share_key(4, a)};
    CHECK(memcmp(&keys[0], &keys[1], sizeof keys[0]) == 0); /* one host may use all addresses of its network */
    CHECK(memcmp(&keys[0], &keys[2], sizeof keys[0]) != 0);
    CHECK(memcmp(&keys[0], &keys[3], sizeof keys[0]) != 0);
}

/* --- a scan beside working clients --- */

enum { LIMIT = 1024, CLIENTS = 100, CLOSED = 10000, SILENT = 1000, SCANS_A_SECOND = 1000 };
#define RTT_NS (200 * NC_NS_PER_MS)
#define HOLD_NS (127 * NC_NS_PER_S) /* a client repeats its SYN for this long */
#define SECOND_SYN_NS NC_NS_PER_S   /* a client whose SYN was evicted repeats it after this time */

struct attempt {
    struct share_entry entry;
    bool in, client;
    uint64_t ends_ns;
};
struct scene {
    struct shares *shares;
    struct attempt attempt[CLIENTS + LIMIT + 1];
    uint64_t longest_ns, replaced_clients, connects;
};

static void end_those_that_are_due(struct scene *scene, uint64_t now_ns)
{
    for (size_t i = 0; i < sizeof scene->attempt / sizeof scene->attempt[0]; i++) {
        struct attempt *attempt = &scene->attempt[i];
        if (!attempt->in || attempt->ends_ns > now_ns)
            continue;
        shares_remove(scene->shares, &attempt->entry);
        attempt->in = false;
    }
}

static void begin(struct scene *scene, unsigned from, uint64_t now_ns, uint64_t takes_ns, bool client)
{
    struct share_key key = source(from);
    struct share_entry *victim = shares_victim(scene->shares, &key);
    if (victim) {
        struct attempt *replaced = (struct attempt *)victim;
        shares_remove(scene->shares, victim);
        replaced->in = false;
        scene->replaced_clients += replaced->client;
        if (replaced->client && scene->longest_ns < SECOND_SYN_NS + RTT_NS)
            scene->longest_ns = SECOND_SYN_NS + RTT_NS;
    }
    for (struct attempt *attempt = scene->attempt;; attempt++)
        if (!attempt->in) {
            *attempt = (struct attempt){.in = true, .client = client, .ends_ns = now_ns + takes_ns};
            CHECK(shares_add(scene->shares, &attempt->entry, &key));
            break;
        }
    scene->connects += client;
    if (client && scene->longest_ns < takes_ns)
        scene->longest_ns = takes_ns;
}

/* Advances a millisecond at a time. The scan continues at its rate, with silent addresses that it tries again and
 * again. Every client has a connect under way half of the time. */
static uint64_t longest_connect(bool scanned, unsigned sources)
{
    struct scene *scene = calloc(1, sizeof *scene);
    scene->shares = shares_create(LIMIT);
    unsigned scans = 0;
    for (uint64_t ms = 0; ms < 30000; ms++) {
        uint64_t now_ns = ms * NC_NS_PER_MS;
        end_those_that_are_due(scene, now_ns);
        for (unsigned i = 0; scanned && i < SCANS_A_SECOND / 1000; i++, scans++)
            begin(scene, 1000 + scans % sources, now_ns, scans % (CLOSED + SILENT) < CLOSED ? RTT_NS : HOLD_NS, false);
        if (ms % 4 == 0)
            begin(scene, (unsigned)(ms / 4 % CLIENTS), now_ns, RTT_NS, true);
    }
    CHECK(scene->connects == 7500 && scene->replaced_clients == 0);
    uint64_t longest_ns = scene->longest_ns;
    end_those_that_are_due(scene, UINT64_MAX);
    shares_destroy(scene->shares);
    free(scene);
    return longest_ns;
}

static void a_port_scan_is_not_felt(void)
{
    uint64_t without_ns = longest_connect(false, 1);
    CHECK(longest_connect(true, 1) <= without_ns * 12 / 10);
    CHECK(longest_connect(true, 8) <= without_ns * 12 / 10); /* from several hosts */
}

int main(void)
{
    RUN(the_oldest_of_the_heaviest_makes_room);
    RUN(sources_are_addresses_or_networks);
    RUN(a_port_scan_is_not_felt);
    return 0;
}
