/* A handshake must refuse another key, name, version or cipher. It must survive messages that are old, reordered, cut,
 * changed, reflected or repeated; restarts in each state; and clocks that were set. */
#include "handshake.h"

#include "link.h"
#include "world.h"

#define HOUR (3600 * NC_NS_PER_S)

static const struct lft_handshake_counters *counted(const struct world *world, int i)
{
    return lft_link_handshake_counters(world->link[i]);
}

/* If the initiator differs from what the responder expects, the pair never comes up, and the responder reports why. */
static struct world *refused(const struct lft_link_config *config)
{
    struct world *world = world_create();
    world_start(world, 0, config);
    world_run(world, 5 * NC_NS_PER_S);
    CHECK(!world_up(world, 0, 1));
    CHECK(!lft_link_engine(world->link[0]) && !lft_link_engine(world->link[1]));
    CHECK_EQ(counted(world, 1)->completed + counted(world, 1)->cookies, 0);
    return world;
}

static void another_key_gets_no_answer(void)
{
    static const uint8_t other[LFT_PSK_BYTES] = {7, 7, 7, 8};
    struct lft_link_config config = world_config(0);
    config.handshake.psk = other;
    struct world *world = refused(&config);
    CHECK(counted(world, 1)->bad_mac > 0);
    world_free(world);
}

static void another_name_gets_no_answer(void)
{
    struct lft_link_config config = world_config(0);
    config.handshake.name = "mallory";
    struct world *world = refused(&config);
    CHECK(counted(world, 1)->bad_mac > 0);
    world_free(world);
}

static void another_cipher_gets_no_answer(void)
{
    struct lft_link_config config = world_config(0);
    config.handshake.cipher = LFT_AES_256_GCM;
    struct world *world = refused(&config);
    CHECK(counted(world, 1)->wrong_cipher > 0);
    CHECK_EQ(counted(world, 1)->bad_mac, 0);
    world_free(world);
}

/* Three gateways with one key: each must accept the gateway that it names, and no other. */
static void one_key_at_three_gateways(void)
{
    struct world *world = world_create();
    struct lft_link_config configs[WORLD_NODES];
    for (int i = 0; i < WORLD_NODES; i++)
        configs[i] = world_config(i);
    configs[0].handshake.name = "oslo";
    configs[0].handshake.peer_name = configs[2].handshake.peer_name = configs[1].handshake.name = "tokyo";
    configs[1].handshake.peer_name = "oslo";
    configs[2].handshake.name = "rome";
    for (int i = 0; i < WORLD_NODES; i++)
        world_start(world, i, &configs[i]);
    world_run(world, 5 * NC_NS_PER_S);
    CHECK(world_up(world, 0, 1) && world_carries(world, 0, 1, NC_NS_PER_S));
    CHECK(!lft_link_engine(world->link[2]));
    CHECK_EQ(lft_link_counters(world->link[1])->associations, 1);
    world_free(world);
}

static void version_1_is_refused_by_name(void)
{
    struct world *world = world_create();
    uint8_t init[96] = {0, 0, 0, 0, 'L', 'F', 'T', 1, INIT_TYPE, LFT_AES_128_GCM, LFT_SELECTIVE};
    world_run(world, NC_NS_PER_S);
    for (int i = 0; i < 2; i++) {
        uint64_t sent = world->sent_to[50];
        world_inject(world, i, 50, init, sizeof init);
        world_run(world, 100 * NC_NS_PER_MS);
        CHECK_EQ(counted(world, i)->wrong_version, 1);
        CHECK_EQ(world->sent_to[50], sent);
    }
    world_free(world);
}

/* --- messages that somebody has changed, held back or reflected --- */

struct record {
    size_t n;
    struct seen at[64];
    unsigned lose_type; /* handshake messages of this type never arrive */
};

static bool record(struct world *world, const struct seen *seen)
{
    struct record *records = world->observers;
    unsigned type = world_type(seen->at, seen->n);
    if (type && records->n < 64)
        records->at[records->n++] = *seen;
    return type && type == records->lose_type;
}

static struct world *recorded(struct record *records)
{
    struct world *world = world_create();
    *records = (struct record){0};
    world->observers = records;
    world->observer = record;
    return world;
}

static struct record records;

/* Every handshake message is cut at every length and changed in every bit, and sent to both ends and back to its
 * sender, while the handshake is under way and after it. */
static void tamper(struct world *world)
{
    for (size_t i = 0; i < records.n; i++) {
        struct seen seen = records.at[i];
        for (int node = 0; node < 2; node++) {
            for (size_t n = 0; n < seen.n; n++)
                world_inject(world, node, seen.from, seen.at, n);
            for (size_t bit = 0; bit < 8 * seen.n; bit++) {
                if (bit / 8 >= 104 && seen.at[8] == INIT_TYPE)
                    break; /* mac2 only proves the address: an INIT with a wrong mac2 counts as an INIT without mac2 */
                seen.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
                world_inject(world, node, seen.from, seen.at, seen.n);
                seen.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
            }
        }
        world_inject(world, seen.from - 1, seen.to, seen.at, seen.n); /* reflected */
    }
}

static void changed_messages_change_nothing(void)
{
    static const unsigned lose[] = {INIT_TYPE, RESPONSE_TYPE, 0};
    struct world *world = recorded(&records);
    for (size_t i = 0; i < 3; i++) { /* before the INIT arrives, before the RESPONSE arrives, and afterwards */
        records.lose_type = lose[i];
        world_run(world, 300 * NC_NS_PER_MS);
        uint64_t completed[2] = {counted(world, 0)->completed, counted(world, 1)->completed};
        tamper(world);
        CHECK_EQ(counted(world, 0)->completed, completed[0]);
        CHECK_EQ(counted(world, 1)->completed, completed[1]);
    }
    world_run(world, 2 * NC_NS_PER_S);
    CHECK(world_up(world, 0, 1) && world_carries(world, 0, 1, NC_NS_PER_S));
    CHECK_EQ(lft_link_counters(world->link[0])->associations, 1);
    CHECK_EQ(lft_link_counters(world->link[1])->associations, 1);
    world_free(world);
}

static void a_response_from_another_address_does_not_count(void)
{
    struct world *world = recorded(&records);
    records.lose_type = RESPONSE_TYPE;
    world_run(world, 300 * NC_NS_PER_MS);
    CHECK_EQ(records.at[records.n - 1].at[8], RESPONSE_TYPE);
    world_inject(world, 0, 77, records.at[records.n - 1].at, records.at[records.n - 1].n);
    CHECK_EQ(counted(world, 0)->wrong_source, 1);
    CHECK(!lft_link_engine(world->link[0]));
    world_inject(world, 0, 2, records.at[records.n - 1].at, records.at[records.n - 1].n);
    CHECK(lft_link_engine(world->link[0]));
    world_free(world);
}

/* A second RESPONSE to one INIT, and a late RESPONSE to an earlier INIT. */
static void a_repeated_response_does_not_count(void)
{
    struct world *world = recorded(&records);
    world_run(world, NC_NS_PER_S);
    const struct seen *response = &records.at[records.n - 1];
    CHECK_EQ(response->at[8], RESPONSE_TYPE);
    world_inject(world, 0, 2, response->at, response->n);
    CHECK_EQ(counted(world, 0)->unexpected, 1);
    world_start(world, 0, NULL);
    world_run(world, NC_NS_PER_MS); /* its INIT is under way */
    world_inject(world, 0, 2, response->at, response->n);
    CHECK_EQ(counted(world, 0)->unexpected, 1);
    CHECK(!lft_link_engine(world->link[0]));
    world_free(world);
}

/* Two INITs arrive in the wrong order. The older one gets a cookie, but no keys. */
static void an_older_init_does_not_count(void)
{
    struct world *world = recorded(&records);
    struct seen older;
    records.lose_type = INIT_TYPE;
    world_run(world, NC_NS_PER_MS);
    older = records.at[0];
    records.lose_type = 0;
    world_start(world, 0, NULL);
    world_run(world, NC_NS_PER_S);
    uint64_t completed = counted(world, 1)->completed;
    world_inject(world, 1, 1, older.at, older.n);
    CHECK_EQ(counted(world, 1)->completed, completed);
    CHECK_EQ(counted(world, 1)->stale, 1);
    world_run(world, NC_NS_PER_S);
    CHECK_EQ(lft_link_counters(world->link[1])->associations, 1);
    world_free(world);
}

/* --- restarts --- */

/* Either end restarts at each millisecond of a handshake, with and without load at the responder. */
static void either_end_restarts_in_each_state(void)
{
    for (int who = 0; who < 2; who++)
        for (unsigned at_ms = 0; at_ms < 60; at_ms++) {
            struct world *world = world_create();
            world_run(world, at_ms * NC_NS_PER_MS);
            world_start(world, who, NULL);
            world_run(world, 4 * NC_NS_PER_S);
            CHECK(world_up(world, 0, 1) && world_carries(world, 0, 1, NC_NS_PER_S));
            world_start(world, who, NULL); /* and once more, while the tunnel is up */
            world_run(world, 4 * NC_NS_PER_S);
            CHECK(world_up(world, 0, 1) && world_carries(world, 0, 1, NC_NS_PER_S));
            world_free(world);
        }
}

static void start_with_clock(struct world *world, uint64_t clock_ns)
{
    struct lft_link_config config = world_config(0);
    config.handshake.clock_ns = clock_ns;
    world_start(world, 0, &config);
}

/* The initiator restarts with its clock an hour ahead, an hour behind, or at 0. It must be accepted within two round
 * trips. */
static void a_clock_that_was_set_keeps_nobody_out(void)
{
    struct world *world = world_create();
    const uint64_t right = world_config(0).handshake.clock_ns, clocks[] = {right + HOUR, right - HOUR, right, 0, right};
    world_run(world, NC_NS_PER_S);
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        start_with_clock(world, clocks[i]);
        world_run(world, 4 * world->delay_ns + 50 * NC_NS_PER_MS);
        CHECK(world_up(world, 0, 1) && world_carries(world, 0, 1, NC_NS_PER_S));
    }
    world_free(world);
}

static bool repeat_everything(struct world *world, const struct seen *seen)
{
    if (world_type(seen->at, seen->n) == RESPONSE_TYPE)
        for (size_t i = 0; i < records.n; i++)
            world_inject(world, records.at[i].to - 1, records.at[i].from, records.at[i].at, records.at[i].n);
    return false;
}

/* Both ends restart, the initiator after its clock was an hour ahead. So the INITs recorded before have larger
 * timestamps than its new ones, and the responder remembers no timestamp. The recorded INITs are sent again just when
 * the responder has answered. */
static void recordings_of_a_clock_ahead_keep_nobody_out(void)
{
    struct world *world = recorded(&records);
    const uint64_t right = world_config(0).handshake.clock_ns;
    for (int i = 0; i < 8; i++) {
        start_with_clock(world, right + HOUR);
        world_run(world, 100 * NC_NS_PER_MS);
    }
    world->observer = repeat_everything;
    world_start(world, 1, NULL);
    start_with_clock(world, right);
    world_run(world, 100 * NC_NS_PER_MS);
    CHECK(world_up(world, 0, 1) && world_carries(world, 0, 1, NC_NS_PER_S));
    world_free(world);
}

/* A recorded INIT is the first message that a responder receives after its start. It creates keys that nobody confirms,
 * and the genuine initiator needs one more round trip. */
static void a_recording_that_comes_first_costs_one_round_trip(void)
{
    struct world *world = recorded(&records);
    world_run(world, 100 * NC_NS_PER_MS);
    world_start(world, 1, NULL);
    world_start(world, 0, NULL);
    world_inject(world, 1, 99, records.at[0].at, records.at[0].n);
    CHECK_EQ(counted(world, 1)->completed, 1);
    world_run(world, 4 * world->delay_ns + 50 * NC_NS_PER_MS);
    CHECK(world_up(world, 0, 1));
    CHECK_EQ(lft_link_peer(world->link[1]).at[0], 1);
    world_free(world);
}

int main(void)
{
    RUN(another_key_gets_no_answer);
    RUN(another_name_gets_no_answer);
    RUN(another_cipher_gets_no_answer);
    RUN(one_key_at_three_gateways);
    RUN(version_1_is_refused_by_name);
    RUN(changed_messages_change_nothing);
    RUN(a_response_from_another_address_does_not_count);
    RUN(a_repeated_response_does_not_count);
    RUN(an_older_init_does_not_count);
    RUN(either_end_restarts_in_each_state);
    RUN(a_clock_that_was_set_keeps_nobody_out);
    RUN(recordings_of_a_clock_ahead_keep_nobody_out);
    RUN(a_recording_that_comes_first_costs_one_round_trip);
    return 0;
}
