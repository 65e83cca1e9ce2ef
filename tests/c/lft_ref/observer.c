/* An observer has recorded everything, has no key, and sends from any address. None of its actions may have a lasting
 * effect. */
#include "link.h"

#include "world.h"

enum { ELSEWHERE = 99, KEPT_MAX = 4096 };

/* What an observer has recorded, by type. */
struct kept {
    size_t n[4];
    struct seen at[4][KEPT_MAX];
    bool armed, cut;
    uint64_t inits_to_responder;
};

static struct kept *kept_of(struct world *world)
{
    return world->observers;
}

static bool keep(struct world *world, const struct seen *seen)
{
    struct kept *kept = kept_of(world);
    unsigned type = world_type(seen->at, seen->n);
    if (seen->to <= WORLD_NODES && type <= RESPONSE_TYPE && kept->n[type] < KEPT_MAX)
        kept->at[type][kept->n[type]++] = *seen;
    return false;
}

static struct world *watched(bool (*observer)(struct world *world, const struct seen *seen))
{
    struct world *world = world_create();
    world->observers = calloc(1, sizeof(struct kept));
    CHECK(world->observers);
    world->observer = observer;
    return world;
}

static void end(struct world *world)
{
    free(world->observers);
    world_free(world);
}

static bool copy_response(struct world *world, const struct seen *seen)
{
    if (world_type(seen->at, seen->n) == RESPONSE_TYPE)
        world_inject(world, seen->to - 1, ELSEWHERE, seen->at, seen->n);
    return false;
}

static void a_copied_response_redirects_nobody(void)
{
    struct world *world = watched(copy_response);
    world_run(world, 3 * NC_NS_PER_S);
    CHECK_EQ(world->sent_to[ELSEWHERE], 0);
    CHECK(world_up(world, 0, 1) && world_carries(world, 0, 1, NC_NS_PER_S));
    end(world);
}

/* Copies what comes from the responder, so that the responder seems to be at another address, and counts where INITs
 * go. */
static bool copy_all(struct world *world, const struct seen *seen)
{
    struct kept *kept = kept_of(world);
    if (kept->armed && seen->from == 2)
        world_inject(world, 0, ELSEWHERE, seen->at, seen->n);
    kept->inits_to_responder += world_type(seen->at, seen->n) == INIT_TYPE && seen->to == 2;
    return false;
}

static void after_an_outage_the_configured_address_is_tried(void)
{
    struct world *world = watched(copy_all);
    struct kept *kept = kept_of(world);
    kept->armed = true;
    world_run(world, NC_NS_PER_S);
    CHECK_EQ(lft_link_peer(world->link[0]).at[0], ELSEWHERE);
    lft_link_destroy(world->link[1]);
    world->link[1] = NULL;
    world_run(world, 2 * NC_NS_PER_S);
    CHECK_EQ(lft_link_status(world->link[0]), LFT_LINK_OUTAGE);
    kept->inits_to_responder = 0;
    world_run(world, 3 * NC_NS_PER_S);
    CHECK(kept->inits_to_responder > 0);
    kept->armed = false;
    world_start(world, 1, NULL);
    world_run(world, 3 * NC_NS_PER_S);
    CHECK(world_up(world, 0, 1) && world_carries(world, 0, 1, NC_NS_PER_S));
    end(world);
}

/* Each time the responder has answered, all older INITs are sent again from the initiator's address. */
static bool repeat_inits(struct world *world, const struct seen *seen)
{
    struct kept *kept = kept_of(world);
    if (kept->armed && world_type(seen->at, seen->n) == RESPONSE_TYPE)
        for (size_t i = 0; i + 2 < kept->n[INIT_TYPE]; i++)
            world_inject(world, 1, 1, kept->at[INIT_TYPE][i].at, kept->at[INIT_TYPE][i].n);
    return keep(world, seen);
}

static void recorded_inits_do_not_replace_pending_keys(void)
{
    struct world *world = watched(repeat_inits);
    for (int i = 0; i < 2; i++) {
        struct lft_link_config config = world_config(i);
        config.rekey_ns = 5 * NC_NS_PER_S;
        world_start(world, i, &config);
    }
    world_run(world, 4 * NC_NS_PER_S);
    kept_of(world)->armed = true;
    world_run(world, 8 * NC_NS_PER_S);
    CHECK_EQ(lft_link_counters(world->link[1])->rx_unknown_spi, 0);
    CHECK(lft_link_counters(world->link[1])->rekeys >= 1);
    CHECK_EQ(lft_link_counters(world->link[1])->rekeys, lft_link_counters(world->link[0])->rekeys);
    CHECK(world_carries(world, 0, 1, 200 * NC_NS_PER_MS));
    end(world);
}

/* An initiator that restarts `n` times leaves so many INITs to record. Each repeated one gets a COOKIE. */
static void record_inits(struct world *world, unsigned n)
{
    const struct kept *kept = kept_of(world);
    for (unsigned i = 0; i < n; i++) {
        world_start(world, 0, NULL);
        world_run(world, 70 * NC_NS_PER_MS);
        const struct seen *last = &kept->at[INIT_TYPE][kept->n[INIT_TYPE] - 1];
        world_inject(world, 1, 1, last->at, last->n);
    }
}

/* Copies of an INIT arrive before the INIT itself: `copies` of them, from `addresses` addresses. With `load`, enough
 * INITs of earlier starts arrive first to make the responder ask for cookies. */
struct ahead {
    struct kept kept; /* first: keep() finds it there */
    unsigned copies, addresses;
    bool load;
};

static bool copy_ahead(struct world *world, const struct seen *seen)
{
    const struct ahead *ahead = world->observers;
    if (ahead->kept.cut && seen->from == 2)
        return true;
    if (!ahead->kept.armed || seen->from != 1 || world_type(seen->at, seen->n) != INIT_TYPE)
        return keep(world, seen);
    for (unsigned i = 0; ahead->load && i < 150; i++)
        world_inject(world, 1, ELSEWHERE, ahead->kept.at[INIT_TYPE][i % 15].at, ahead->kept.at[INIT_TYPE][i % 15].n);
    for (unsigned i = 0; i < ahead->copies; i++)
        world_inject(world, 1, (uint8_t)(ELSEWHERE + i % ahead->addresses), seen->at, seen->n);
    return false;
}

static void copies_of_an_init_under_way_cost_one_round_trip(void)
{
    static const struct {
        unsigned copies, addresses;
        bool load, set_back; /* the initiator's clock is set back, so its INIT is stale */
    } cases[] = {{0, 1, false, false},     {11, 1, false, false}, {12, 1, false, false}, {500, 1, false, false},
                 {500, 150, false, false}, {12, 1, true, false},  {500, 1, true, false}, {100, 100, true, false},
                 {0, 1, false, true},      {12, 1, false, true},  {100, 5, false, true}};
    uint64_t alone_ns = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world *world = world_create();
        struct ahead *ahead = calloc(1, sizeof *ahead);
        CHECK(ahead);
        *ahead = (struct ahead){.copies = cases[i].copies, .addresses = cases[i].addresses, .load = cases[i].load};
        world->observers = ahead;
        world->observer = copy_ahead;
        record_inits(world, 15);
        struct lft_link_config config = world_config(0);
        config.handshake.clock_ns -= cases[i].set_back * 3600 * NC_NS_PER_S;
        world_start(world, 1, NULL);
        world_start(world, 0, NULL);
        if (cases[i].set_back) { /* the responder has answered this INIT, but still has no peer */
            ahead->kept.cut = true;
            world_run(world, 15 * NC_NS_PER_MS);
            ahead->kept.cut = false;
            world_start(world, 0, &config);
        }
        ahead->kept.armed = true;
        uint64_t began_ns = world->now_ns, most_ns = i ? alone_ns + 2 * world->delay_ns : NC_NS_PER_S;
        while (!world_up(world, 0, 1) && world->now_ns < began_ns + most_ns)
            world_run(world, NC_NS_PER_MS);
        alone_ns = i ? alone_ns : world->now_ns - began_ns;
        if (!world_up(world, 0, 1))
            fprintf(stderr, "%u copies from %u addresses%s%s\n", cases[i].copies, cases[i].addresses,
                    cases[i].load ? ", and load" : "", cases[i].set_back ? ", of a stale INIT" : "");
        CHECK(world_up(world, 0, 1) && world_carries(world, 0, 1, NC_NS_PER_S));
        end(world);
    }
}

/* A COOKIE for the last INIT that the observer has forged, in the layout of version 1 or of version 2. */
static void forge_cookie(struct world *world, const struct seen *init)
{
    uint8_t forged[84];
    bool first = init->at[7] == 1;
    memset(forged, (int)(world->now_ns / NC_NS_PER_MS), sizeof forged);
    memcpy(forged, init->at, 12);
    forged[8] = COOKIE_TYPE;
    memcpy(forged + (first ? 28 : 12), init->at + (first ? 44 : 88), first ? 8 : 16);
    world_inject(world, 0, 2, forged, first ? 44 : 84);
}

static void forged_cookies_hold_up_nobody(void)
{
    struct world *world = watched(keep);
    const struct kept *kept = kept_of(world);
    for (int ms = 0; ms < 1000; ms++) {
        world_run(world, NC_NS_PER_MS);
        forge_cookie(world, &kept->at[INIT_TYPE][kept->n[INIT_TYPE] - 1]);
    }
    CHECK(world_up(world, 0, 1));
    end(world);
}

/* 100 recorded messages per millisecond go to both ends, from any address, including the peers' own. */
static void flood(struct world *world, uint64_t ns, uint64_t third_starts_ns, uint64_t *third_up_ns)
{
    struct kept *kept = kept_of(world);
    uint64_t began_ns = world->now_ns;
    size_t turn = 0;
    for (unsigned ms = 0; world->now_ns < began_ns + ns; ms++) {
        for (unsigned i = 0; i < 100; i++, turn++) {
            unsigned type = turn % 8 < 5 ? INIT_TYPE : (unsigned)(turn % 4);
            if (!kept->n[type])
                continue;
            const struct seen *seen = &kept->at[type][turn * 7919 % kept->n[type]];
            uint8_t from = turn % 3 ? (uint8_t)(100 + turn % 150) : seen->from;
            bool other = turn % 16 == 15; /* every 16th goes to the wrong end */
            world_inject(world, (seen->to == 2) != other, from, seen->at, seen->n);
        }
        if (third_up_ns && !world->link[2] && world->now_ns >= began_ns + third_starts_ns)
            world_start(world, 2, NULL);
        world_until(world, began_ns + (ms + 1) * NC_NS_PER_MS);
        if (third_up_ns && world->link[2] && !*third_up_ns && lft_link_ready(world->link[2]))
            *third_up_ns = world->now_ns - began_ns - third_starts_ns;
    }
}

static void a_flood_of_recordings_stops_nothing(void)
{
    struct world *world = watched(keep);
    struct lft_link_config config = world_config(0);
    record_inits(world, 300);
    config.rekey_ns = NC_NS_PER_S;
    world_start(world, 0, &config);
    world_run(world, 500 * NC_NS_PER_MS);
    CHECK(world_up(world, 0, 1));
    for (unsigned type = 0; type <= RESPONSE_TYPE; type++)
        CHECK(kept_of(world)->n[type] > 100);
    uint64_t rekeys = lft_link_counters(world->link[1])->rekeys, outages = lft_link_counters(world->link[1])->outages;
    uint64_t associations = lft_link_counters(world->link[1])->associations;
    for (int i = 0; i < 3; i++) {
        flood(world, NC_NS_PER_S, 0, NULL);
        CHECK(world_carries(world, 0, 1, 200 * NC_NS_PER_MS));
    }
    CHECK(lft_link_counters(world->link[1])->rekeys >= rekeys + 2);
    CHECK_EQ(lft_link_counters(world->link[1])->outages, outages);
    CHECK_EQ(lft_link_counters(world->link[1])->associations, associations);
    end(world);
}

/* The peer is gone, and another gateway replaces it from another address. */
static void a_third_gateway_gets_in_beside_the_flood(void)
{
    struct world *world = watched(keep);
    uint64_t up_ns = 0;
    record_inits(world, 300);
    lft_link_destroy(world->link[0]);
    world->link[0] = NULL;
    flood(world, 4 * NC_NS_PER_S, 3 * NC_NS_PER_S / 2, &up_ns);
    printf("third gateway up after %.3f ms\n", (double)up_ns / 1e6);
    CHECK(up_ns > 0 && up_ns <= 4 * world->delay_ns + NC_NS_PER_S);
    end(world);
}

static bool hold_response(struct world *world, const struct seen *seen)
{
    struct kept *kept = kept_of(world);
    keep(world, seen);
    return kept->cut || (kept->armed && world_type(seen->at, seen->n) == RESPONSE_TYPE);
}

/* The responder has answered an INIT and waits for the first frame under the new keys when the association ends. */
static void keys_that_wait_end_with_the_association(void)
{
    struct world *world = watched(hold_response);
    struct kept *kept = kept_of(world);
    for (int i = 0; i < 2; i++) {
        struct lft_link_config config = world_config(i);
        config.rekey_ns = 2 * NC_NS_PER_S;
        config.outage_max_ns = i ? NC_NS_PER_S : 0;
        world_start(world, i, &config);
    }
    world_run(world, NC_NS_PER_S);
    kept->armed = true; /* the answer to the rekey is held back */
    world_run(world, 1300 * NC_NS_PER_MS);
    kept->cut = true;
    world_run(world, 2500 * NC_NS_PER_MS);
    CHECK(!lft_link_engine(world->link[1]));
    kept->cut = kept->armed = false;
    const struct seen *held = &kept->at[RESPONSE_TYPE][kept->n[RESPONSE_TYPE] - 1];
    world_inject(world, 0, 2, held->at, held->n); /* now the initiator uses the new keys */
    world_run(world, 500 * NC_NS_PER_MS);
    CHECK(!lft_link_engine(world->link[1]));
    world_run(world, 8 * NC_NS_PER_S);
    CHECK(world_up(world, 0, 1) && world_carries(world, 0, 1, NC_NS_PER_S));
    end(world);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        {"a_copied_response_redirects_nobody", a_copied_response_redirects_nobody},
        {"after_an_outage_the_configured_address_is_tried", after_an_outage_the_configured_address_is_tried},
        {"recorded_inits_do_not_replace_pending_keys", recorded_inits_do_not_replace_pending_keys},
        {"forged_cookies_hold_up_nobody", forged_cookies_hold_up_nobody},
        {"copies_of_an_init_under_way_cost_one_round_trip", copies_of_an_init_under_way_cost_one_round_trip},
        {"a_flood_of_recordings_stops_nothing", a_flood_of_recordings_stops_nothing},
        {"a_third_gateway_gets_in_beside_the_flood", a_third_gateway_gets_in_beside_the_flood},
        {"keys_that_wait_end_with_the_association", keys_that_wait_end_with_the_association},
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        if (argc < 2 || strcmp(argv[1], tests[i].name) == 0) {
            printf("run %s\n", tests[i].name);
            fflush(stdout);
            tests[i].run();
            printf("ok %s\n", tests[i].name);
        }
    return 0;
}
