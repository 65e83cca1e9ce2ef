#include "watch.h"

#include <string.h>

#include "check.h"
#include "nc_clock.h"

const char watch_agreement[] =
    "an end uses only keys that the other end has, too; the responder only after the initiator",
           watch_init_once[] = "the responder derives keys from an INIT once",
           watch_frame_once[] = "a frame is taken once",
           watch_keys_once[] = "an end derives and uses the same keys once",
           watch_epoch_once[] = "an epoch belongs to one association",
           watch_bounded[] = "an end keeps keys of one half-open association at most",
           watch_answer[] = "a message has one answer at most, which is shorter",
           watch_comes_up[] = "copies never keep the tunnel from coming up",
           watch_stays_up[] = "copies never end a tunnel that is up",
           watch_forgery[] = "what an outsider makes up, or sends back, changes nothing";

const struct wrong_product wrong_products[WRONGS] = {
    [RIGHT] = {"right", NULL, FRESH},
    [NO_TIMESTAMP] = {"no-timestamp", watch_init_once, FRESH},
    [NO_CONFIRMATION] = {"no-confirmation", watch_agreement, FRESH},
    [RESPONSE_AGAIN] = {"response-again", watch_keys_once, FRESH},
    [EPOCH_KEPT] = {"epoch-kept", watch_stays_up, INITIATOR_NEW},
    [EPOCH_AGAIN] = {"epoch-again", watch_epoch_once, INITIATOR_TWICE},
    [FRAMES_AGAIN] = {"frames-again", watch_frame_once, UP},
    [PENDING_KEPT] = {"pending-kept", watch_bounded, FRESH},
    [PENDING_YIELDS] = {"pending-yields", watch_comes_up, RESPONDER_NEW},
    [COPIES_COUNT] = {"copies-count", watch_comes_up, FRESH},
    [LONG_ANSWER] = {"long-answer", watch_answer, FRESH},
    [KEY_KNOWN] = {"key-known", watch_forgery, FRESH}};
enum wrong watch_wrong;

/* --- wrappers around functions of the product (--wrap) --- */

#define WRAPPED(type, name, ...)                                                                                       \
    type __real_##name(__VA_ARGS__);                                                                                   \
    type __wrap_##name(__VA_ARGS__)

WRAPPED(void, lft_random, void *at, size_t n);
WRAPPED(struct lft_key *, lft_key_create, enum lft_cipher cipher, const uint8_t *block, bool sealing);
WRAPPED(void, lft_key_destroy, struct lft_key *key);
WRAPPED(bool, lft_message_keys, struct lft_handshake *handshake, const struct lft_noise *noise, uint64_t epoch,
        const struct lft_hello *peer, struct lft_keys *keys);
WRAPPED(bool, lft_hello_get, struct lft_handshake *handshake, bool init, const uint8_t *at, struct lft_hello *hello);
WRAPPED(void, lft_handshake_begun, struct lft_handshake *handshake, uint64_t epoch);
WRAPPED(void, lft_link_await, struct lft_link *link, const struct lft_keys *keys, uint64_t now_ns);
WRAPPED(bool, lft_cookies_pair, struct lft_cookies *cookies, struct lft_hmac *hmac, const uint8_t *mac1,
        struct lft_span address, bool stale);
WRAPPED(enum lft_handshake_result, lft_take_init, struct lft_handshake *handshake, uint64_t now_ns,
        const struct lft_handshake_message *message, struct lft_handshake_answer *answer);
WRAPPED(enum lft_handshake_result, lft_take_response, struct lft_handshake *handshake,
        const struct lft_handshake_message *message, struct lft_handshake_answer *answer);
WRAPPED(void, lft_link_install, struct lft_link *link, struct lft_keys *keys, const struct lft_address *from,
        uint64_t now_ns);
WRAPPED(bool, lft_engine_fresh, struct lft_engine *engine, uint64_t counter);

/* Each end has its own random numbers, so the order in which the two act does not change them. */
void __wrap_lft_random(void *at, size_t n)
{
    uint8_t *octets = at;
    uint64_t z = (uint64_t)(world->acting + 1) << 56 ^ (uint64_t)world->incarnation[world->acting] << 40 ^
                 ++world->draws[world->acting];
    for (size_t i = 0; i < n; i++) {
        if (i % 8 == 0) { /* SplitMix64 */
            z += UINT64_C(0x9e3779b97f4a7c15);
            z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
            z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
            z ^= z >> 31;
        }
        octets[i] = (uint8_t)(z >> i % 8 * 8);
    }
}

struct lft_key *__wrap_lft_key_create(enum lft_cipher cipher, const uint8_t *block, bool sealing)
{
    struct lft_key *key = __real_lft_key_create(cipher, block, sealing);
    struct watched *watched = &world->watched;
    CHECK(watched->keys_n < KEYS_MAX && key);
    watched->keys[watched->keys_n].key = key;
    watched->keys[watched->keys_n].hash = watch_hash(cipher, block, LFT_KEY_BLOCK);
    watched->keys[watched->keys_n++].end = world->acting;
    return key;
}

void __wrap_lft_key_destroy(struct lft_key *key)
{
    struct watched *watched = &world->watched;
    for (unsigned i = 0; key && i < watched->keys_n; i++)
        if (watched->keys[i].key == key)
            watched->keys[i--] = watched->keys[--watched->keys_n];
    __real_lft_key_destroy(key);
}

static uint64_t hash_of(const struct lft_key *key)
{
    for (unsigned i = 0; i < world->watched.keys_n; i++)
        if (world->watched.keys[i].key == key)
            return world->watched.keys[i].hash;
    return 0;
}

bool __wrap_lft_message_keys(struct lft_handshake *handshake, const struct lft_noise *noise, uint64_t epoch,
                             const struct lft_hello *peer, struct lft_keys *keys)
{
    struct watched *watched = &world->watched;
    int end = world->acting;
    if (!__real_lft_message_keys(handshake, noise, epoch, peer, keys))
        return false;
    if (end == OUTSIDER)
        return true;
    for (unsigned i = 0; i < watched->sets_n; i++) {
        const struct key_set *set = &watched->sets[i];
        if (end == RESPONDER && set->end == end && set->incarnation == world->incarnation[end] &&
            set->peer_spi == peer->spi)
            watch_violated(watch_init_once);
        if (set->end == end && set->seal == hash_of(keys->seal))
            watch_violated(watch_keys_once);
    }
    if (watched->violated)
        return true;
    CHECK(watched->sets_n < KEY_SETS_MAX);
    watched->sets[watched->sets_n++] = (struct key_set){.end = end,
                                                        .incarnation = world->incarnation[end],
                                                        .seal = hash_of(keys->seal),
                                                        .unseal = hash_of(keys->unseal),
                                                        .spi_out = keys->spi_out,
                                                        .spi_in = keys->spi_in,
                                                        .epoch = keys->epoch,
                                                        .peer_epoch = keys->peer_epoch,
                                                        .rekey_ns = keys->rekey_ns,
                                                        .peer_spi = peer->spi};
    return true;
}

bool __wrap_lft_hello_get(struct lft_handshake *handshake, bool init, const uint8_t *at, struct lft_hello *hello)
{
    bool good = __real_lft_hello_get(handshake, init, at, hello);
    if (watch_wrong == NO_TIMESTAMP && init)
        hello->timestamp = handshake->response.timestamp + 1;
    return good;
}

void __wrap_lft_handshake_begun(struct lft_handshake *handshake, uint64_t epoch)
{
    if (watch_wrong != EPOCH_KEPT && watch_wrong != EPOCH_AGAIN)
        __real_lft_handshake_begun(handshake, epoch);
}

void __wrap_lft_link_await(struct lft_link *link, const struct lft_keys *keys, uint64_t now_ns)
{
    const struct lft_address address = {.at = {INITIATOR_ADDRESS}, .n = 1};
    struct lft_keys copy = *keys;
    if (watch_wrong == NO_CONFIRMATION) {
        lft_link_install(link, &copy, &address, now_ns);
        return;
    }
    if (watch_wrong == PENDING_KEPT && link->pending.seal) {
        lft_link_drop_keys(&world->watched.forgotten);
        world->watched.forgotten = link->pending;
        memset(&link->pending, 0, sizeof link->pending);
    }
    __real_lft_link_await(link, keys, now_ns);
}

bool __wrap_lft_cookies_pair(struct lft_cookies *cookies, struct lft_hmac *hmac, const uint8_t *mac1,
                             struct lft_span address, bool stale)
{
    return watch_wrong != COPIES_COUNT && __real_lft_cookies_pair(cookies, hmac, mac1, address, stale);
}

enum lft_handshake_result __wrap_lft_take_init(struct lft_handshake *handshake, uint64_t now_ns,
                                               const struct lft_handshake_message *message,
                                               struct lft_handshake_answer *answer)
{
    if (watch_wrong == PENDING_YIELDS)
        handshake->response.awaited = false;
    enum lft_handshake_result result = __real_lft_take_init(handshake, now_ns, message, answer);
    if (watch_wrong == LONG_ANSWER && answer->n)
        answer->n = LFT_INIT_BYTES;
    return result;
}

enum lft_handshake_result __wrap_lft_take_response(struct lft_handshake *handshake,
                                                   const struct lft_handshake_message *message,
                                                   struct lft_handshake_answer *answer)
{
    const struct lft_noise noise = handshake->init.noise;
    enum lft_handshake_result result = __real_lft_take_response(handshake, message, answer);
    if (watch_wrong == RESPONSE_AGAIN && result == LFT_HS_KEYS) {
        handshake->init.noise = noise;
        handshake->init.running = true;
    }
    return result;
}

void __wrap_lft_link_install(struct lft_link *link, struct lft_keys *keys, const struct lft_address *from,
                             uint64_t now_ns)
{
    if (watch_wrong == EPOCH_AGAIN)
        link->epoch++;
    __real_lft_link_install(link, keys, from, now_ns);
}

bool __wrap_lft_engine_fresh(struct lft_engine *engine, uint64_t counter)
{
    return __real_lft_engine_fresh(engine, counter) || watch_wrong == FRAMES_AGAIN;
}

/* --- what must hold --- */

uint64_t watch_hash(uint64_t state, const void *at, size_t n)
{
    state ^= UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++)
        state = (state ^ ((const uint8_t *)at)[i]) * UINT64_C(0x100000001b3);
    return state ^ state >> 29;
}

void watch_begin(void)
{
    world->watched.in_use[INITIATOR] = world->watched.in_use[RESPONDER] = -1;
}

void watch_end(void)
{
    lft_link_drop_keys(&world->watched.forgotten);
}

void watch_violated(const char *property)
{
    if (!world->watched.violated)
        world->watched.violated = property;
}

void watch_gone(int end)
{
    world->watched.in_use[end] = -1;
    world->watched.associations[end] = 0;
}

static struct key_set *set_of(int end, const struct lft_keys *keys)
{
    uint64_t seal = hash_of(keys->seal), unseal = hash_of(keys->unseal);
    for (unsigned i = 0; i < world->watched.sets_n; i++) {
        struct key_set *set = &world->watched.sets[i];
        if (set->end == end && set->seal == seal && set->unseal == unseal)
            return set;
    }
    return NULL;
}

/* Checks that both ends have the same keys. */
static struct key_set *mirror_of(const struct key_set *set)
{
    for (unsigned i = 0; i < world->watched.sets_n; i++) {
        struct key_set *other = &world->watched.sets[i];
        if (other->end != set->end && other->seal == set->unseal && other->unseal == set->seal &&
            other->spi_in == set->spi_out && other->spi_out == set->spi_in && other->epoch == set->peer_epoch &&
            other->peer_epoch == set->epoch && other->rekey_ns == set->rekey_ns)
            return other;
    }
    return NULL;
}

static void check_new_keys(int end, struct key_set *set)
{
    const struct key_set *mirror = mirror_of(set);
    if (!mirror || set->incarnation != world->incarnation[end] || (end == RESPONDER && !mirror->used))
        watch_violated(watch_agreement);
    if (set->used)
        watch_violated(watch_keys_once);
    set->used = true;
}

static void check_epoch(int end, const struct lft_link *link)
{
    struct watched *watched = &world->watched;
    if (link->counters.associations == watched->associations[end])
        return;
    watched->associations[end] = link->counters.associations;
    for (unsigned i = 0; i < watched->begun_n; i++)
        if (watched->begun[i].end == end && watched->begun[i].epoch == link->epoch)
            watch_violated(watch_epoch_once);
    CHECK(watched->begun_n < EPOCHS_MAX);
    watched->begun[watched->begun_n].end = end;
    watched->begun[watched->begun_n++].epoch = link->epoch;
}

/* Checks that an end has no other keys than these: the current association's, the previous ones for ten seconds, and
 * keys that wait for their first frame. */
static void check_keys_alive(int end, const struct lft_link *link)
{
    unsigned alive = 0, wanted = 2U * (!!link->current.seal + !!link->previous.seal + !!link->pending.seal);
    for (unsigned i = 0; i < world->watched.keys_n; i++)
        alive += world->watched.keys[i].end == end;
    if (alive != wanted)
        watch_violated(watch_bounded);
}

void watch_keys(void)
{
    struct watched *watched = &world->watched;
    for (int end = 0; end < ENDS; end++) {
        const struct lft_link *link = world->link[end];
        struct key_set *set = link->current.seal ? set_of(end, &link->current) : NULL;
        int in_use = set ? (int)(set - watched->sets) : -1;
        if (link->current.seal && !set)
            watch_violated(watch_agreement);
        if (set && in_use != watched->in_use[end])
            check_new_keys(end, set);
        watched->in_use[end] = in_use;
        check_epoch(end, link);
        check_keys_alive(end, link);
    }
}

bool watch_same_keys(void)
{
    int mine = world->watched.in_use[INITIATOR];
    const struct key_set *mirror = mine < 0 ? NULL : mirror_of(&world->watched.sets[mine]);
    return mirror && mirror - world->watched.sets == world->watched.in_use[RESPONDER];
}

void watch_answers(unsigned answers, size_t answer_n, size_t question_n)
{
    if (answers > 1 || (answers && answer_n >= question_n))
        watch_violated(watch_answer);
}

struct watch_frames watch_frames(int end)
{
    const struct lft_link *link = world->link[end];
    return (struct watch_frames){.associations = link->counters.associations,
                                 .taken = link->engine ? lft_engine_counters(link->engine)->rx_frames : 0};
}

void watch_frame(int to, struct watch_frames before, struct message *message)
{
    const struct watch_frames after = watch_frames(to);
    bool taken = after.associations != before.associations || after.taken != before.taken;
    if (taken && message->taken)
        watch_violated(watch_frame_once);
    message->taken |= taken;
}
