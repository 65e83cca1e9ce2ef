#include "proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "nc_bytes.h"
#include "nc_clock.h"
#include "nc_range.h"
#include "watch.h"

/* Frames of one key that the outsider keeps. */
enum { FRAMES_KEPT = 2, TURNS_MAX = 64 };

const char *const start_names[STARTS] = {"nothing has happened",
                                         "the tunnel is up",
                                         "the tunnel was up, and the responder has restarted",
                                         "the tunnel was up, and the initiator has restarted",
                                         "the tunnel is up, and keys are replaced each 2 s",
                                         "the tunnel is up a second time, and the initiator has restarted again"};
static const uint64_t waits_ns[] = {300 * NC_NS_PER_MS, 3 * NC_NS_PER_S, 25 * NC_NS_PER_S};
static const char *const end_names[ENDS] = {"the initiator", "the responder"};

struct world *world;

static void create(int end, bool set_back)
{
    static const uint8_t psk[LFT_PSK_BYTES] = {7, 7, 7};
    const struct lft_link_config config = {
        .engine = {.recovery = LFT_SELECTIVE,
                   .rate_bps = 20000000,
                   .payload_max = LFT_PAYLOAD_MIN,
                   .outer_bytes = 28,
                   .window_frames = 64,
                   .tx_memory_bytes = 1 << 16,
                   .rx_memory_bytes = 1 << 16},
        .session = {.streams_max = 1, .tx_memory_bytes = 1 << 16},
        .handshake = {.initiator = end == INITIATOR,
                      .cipher = LFT_AES_128_GCM,
                      .psk = psk,
                      .clock_ns = (set_back ? 1799996400 : UINT64_C(1800000000)) * NC_NS_PER_S},
        .peer = {.at = {RESPONDER_ADDRESS}, .n = end == INITIATOR},
        .rekey_ns = world->rekey_ns};
    world->acting = end;
    world->incarnation[end]++;
    world->draws[end] = 0;
    world->link[end] = lft_link_create(&config, world->now_ns);
    CHECK(world->link[end]);
}

static void destroy(int end)
{
    world->acting = end;
    lft_link_destroy(world->link[end]);
    watch_gone(end);
}

/* Records a datagram that an end has sent, unless it repeats an earlier one or enough frames are recorded. */
static void keep(int by, uint8_t to, const uint8_t *at, size_t n)
{
    (void)to; /* the outsider chooses */
    uint32_t spi = nc_get32(at);
    unsigned alike = 0;
    for (unsigned i = 0; i < world->messages_n; i++) {
        const struct message *message = &world->messages[i];
        if (message->by != by)
            continue;
        if (message->n == n && memcmp(message->at, at, n) == 0)
            return;
        alike += spi && message->spi == spi;
    }
    if (alike >= FRAMES_KEPT)
        return;
    CHECK(world->messages_n < MESSAGES_MAX);
    struct message *message = &world->messages[world->messages_n++];
    *message = (struct message){.by = (uint8_t)by, .type = spi ? 0 : at[LFT_TYPE_AT], .spi = spi, .n = n};
    memcpy(message->at, at, n);
}

void world_transmit(world_emit *emit)
{
    struct lft_batch batch;
    for (int end = 0; end < ENDS; end++) {
        world->acting = end;
        for (int turns = 0; lft_link_transmit(world->link[end], world->now_ns, &batch); turns++) {
            CHECK(turns < TURNS_MAX);
            for (size_t at = 0; at < batch.bytes; at += batch.segment)
                emit(end, batch.to.at[0], batch.at + at, nc_min(batch.segment, batch.bytes - at));
            lft_link_left(world->link[end], world->now_ns);
        }
    }
    watch_keys();
}

uint64_t world_next_ns(void)
{
    uint64_t next = UINT64_MAX;
    for (int end = 0; end < ENDS; end++) {
        world->acting = end;
        next = nc_min(next, lft_link_next_ns(world->link[end], world->now_ns));
    }
    return next;
}

static void wait_until(uint64_t until_ns)
{
    while (world->now_ns < until_ns) {
        world->now_ns = nc_min(nc_max(world_next_ns(), world->now_ns + NC_NS_PER_US), until_ns);
        world_transmit(keep);
    }
}

void world_deliver(int to, uint8_t from, const uint8_t *at, size_t n)
{
    const struct lft_address address = {.at = {from}, .n = 1};
    struct lft_link *link = world->link[to];
    unsigned replies = link->replies_n;
    world->acting = to;
    lft_link_receive(link, world->now_ns, at, n, &address);
    watch_answers(link->replies_n - replies, link->replies_n ? link->replies[link->replies_n - 1].n : 0, n);
    watch_keys();
}

static void deliver_message(struct message *message, uint8_t from, bool strip)
{
    int to = !message->by;
    uint8_t at[OCTETS_MAX];
    struct watch_frames before = watch_frames(to);
    memcpy(at, message->at, message->n);
    if (strip)
        memset(at + LFT_INIT_MAC2_AT, 0, LFT_MAC_BYTES);
    world_deliver(to, from, at, message->n);
    if (message->type == 0)
        watch_frame(to, before, message);
}

/* Runs an honest network for this long, with 10 ms each way. */
static void run_honestly(uint64_t ns)
{
    bool delivered[MESSAGES_MAX] = {false};
    for (uint64_t end_ns = world->now_ns + ns; world->now_ns < end_ns;) {
        unsigned n = world->messages_n;
        for (unsigned i = 0; i < n; i++)
            if (!delivered[i]) {
                deliver_message(&world->messages[i], world->messages[i].by + 1, false);
                delivered[i] = true;
            }
        world_transmit(keep);
        wait_until(world->now_ns + 10 * NC_NS_PER_MS);
    }
}

static void restart(int end, bool set_back)
{
    destroy(end);
    create(end, set_back);
    world_transmit(keep);
}

void world_begin(enum start start)
{
    static struct world only;
    world = &only;
    memset(world, 0, sizeof *world);
    watch_begin();
    world->now_ns = NC_NS_PER_S;
    world->rekey_ns = start == REKEYING ? 2 * NC_NS_PER_S : 0;
    for (int end = 0; end < ENDS; end++)
        create(end, false);
    world_transmit(keep);
    if (start != FRESH)
        run_honestly(300 * NC_NS_PER_MS);
    if (start == INITIATOR_TWICE) {
        restart(INITIATOR, false);
        run_honestly(300 * NC_NS_PER_MS);
    }
    if (start == INITIATOR_NEW || start == INITIATOR_TWICE)
        restart(INITIATOR, false);
    if (start == RESPONDER_NEW)
        restart(RESPONDER, false);
}

void world_end(void)
{
    for (int end = 0; end < ENDS; end++)
        destroy(end);
    watch_end();
}

bool world_allows(struct action action)
{
    const struct message *message = &world->messages[action.which];
    switch ((enum action_kind)action.kind) {
    case DELIVER:
        return action.which < world->messages_n;
    case COPY:
        return action.which < world->messages_n && (message->type == LFT_INIT || message->type == 0);
    case STRIP:
        return action.which < world->messages_n && message->type == LFT_INIT &&
               lft_get64(message->at + LFT_INIT_MAC2_AT);
    case WAIT:
        return action.which < sizeof waits_ns / sizeof *waits_ns;
    case RESTART:
        return action.which < ENDS && world->restarts[action.which] == 0;
    case SET_BACK:
        return action.which == INITIATOR && world->restarts[INITIATOR] == 0;
    }
    return false;
}

void world_act(struct action action)
{
    struct message *message = &world->messages[action.which];
    switch ((enum action_kind)action.kind) {
    case DELIVER:
    case STRIP:
        deliver_message(message, message->by + 1, action.kind == STRIP);
        break;
    case COPY:
        deliver_message(message, OUTSIDER_ADDRESS, false);
        break;
    case WAIT:
        wait_until(world->now_ns + waits_ns[action.which]);
        break;
    case RESTART:
    case SET_BACK:
        world->restarts[action.which]++;
        restart(action.which, action.kind == SET_BACK);
        break;
    }
    world_transmit(keep);
}

void world_describe(struct action action)
{
    static const char *const types[] = {"frame", "INIT", "COOKIE", "RESPONSE"};
    static const char *const how[] = {"arrives", "arrives from the outsider's address", "arrives without its mac2"};
    const struct message *message = &world->messages[action.which];
    switch ((enum action_kind)action.kind) {
    case DELIVER:
    case COPY:
    case STRIP:
        printf("    message %u (%s by %s) %s\n", action.which, types[message->type & 3], end_names[message->by],
               how[action.kind]);
        break;
    case WAIT:
        printf("    %.1f s pass\n", (double)waits_ns[action.which] / NC_NS_PER_S);
        break;
    case RESTART:
    case SET_BACK:
        printf("    %s restarts%s\n", end_names[action.which], action.kind == SET_BACK ? ", its clock set back" : "");
        break;
    }
}

bool world_is_up(void)
{
    return lft_link_ready(world->link[INITIATOR]) && lft_link_ready(world->link[RESPONDER]) && watch_same_keys();
}
