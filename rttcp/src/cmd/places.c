#include "places.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* One origin may have 1/SHARE of the waiting places and of the memory; with --sessions 1 it may have all. */
#define SHARE 4
#define KEPT 2 /* One origin may have all places except 1/KEPT. */

static int state_of(const struct rttcp_places *places, uint64_t i)
{
    return atomic_load(&places->states[i].is);
}

int rttcp_places_create(struct rttcp_places *places, uint64_t n)
{
    void *shared = mmap(NULL, n * sizeof *places->states, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *places = (struct rttcp_places){.n = n, .at = calloc(n, sizeof *places->at)};
    places->states = shared == MAP_FAILED ? NULL : shared; /* zeros are PLACE_FREE */
    return places->at && places->states ? 0 : -1;
}

void rttcp_places_release(struct rttcp_places *places)
{
    if (places->states)
        munmap(places->states, places->n * sizeof *places->states);
    free(places->at);
    *places = (struct rttcp_places){0};
}

uint64_t rttcp_places_take(struct rttcp_places *places, const struct rttcp_origin *origin, uint64_t now_ns)
{
    uint64_t i = 0;
    while (i < places->n && state_of(places, i) != PLACE_FREE)
        i++;
    assert(i < places->n);
    places->at[i] = (struct rttcp_place){.since_ns = now_ns, .origin = *origin};
    uint64_t network;
    memcpy(&network, origin->octets, sizeof network);
    atomic_store(&places->states[i].network, network);
    atomic_store(&places->states[i].ipv4, origin->ipv4);
    atomic_store(&places->states[i].moved_ns, now_ns);
    atomic_store(&places->states[i].is, PLACE_WAITING);
    places->taken++;
    return i;
}

enum rttcp_place_is rttcp_places_free(struct rttcp_places *places, pid_t pid)
{
    for (uint64_t i = 0; i < places->n; i++) {
        int was = state_of(places, i);
        if (was == PLACE_FREE || places->at[i].pid != pid)
            continue;
        atomic_store(&places->states[i].memory_bytes, 0);
        atomic_store(&places->states[i].is, PLACE_FREE);
        places->taken--;
        return (enum rttcp_place_is)was;
    }
    return PLACE_FREE;
}

uint64_t rttcp_places_taken(const struct rttcp_places *places, const struct rttcp_origin *origin)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < places->n; i++)
        n += state_of(places, i) != PLACE_FREE && rttcp_origin_same(&places->at[i].origin, origin);
    return n;
}

uint64_t rttcp_places_waiting(const struct rttcp_places *places, const struct rttcp_origin *origin)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < places->n; i++)
        n += state_of(places, i) == PLACE_WAITING && rttcp_origin_same(&places->at[i].origin, origin);
    return n;
}

/* Returns the number of waiting places that the origin of place i has. Returns 0 if that number is within its share, or
 * if the connecting peer is from the same origin. */
static uint64_t count_over_share(const struct rttcp_places *places, uint64_t i, const struct rttcp_origin *newcomer)
{
    const struct rttcp_origin *origin = &places->at[i].origin;
    uint64_t waiting = rttcp_places_waiting(places, origin);
    return waiting > 1 && waiting * SHARE > places->n && !(newcomer && rttcp_origin_same(origin, newcomer)) ? waiting
                                                                                                            : 0;
}

/* Returns whether an origin has as many places as it may have. */
static bool has_all(const struct rttcp_places *places, const struct rttcp_origin *origin)
{
    return rttcp_places_taken(places, origin) + places->n / KEPT >= places->n;
}

bool rttcp_places_full_for(const struct rttcp_places *places, const struct rttcp_origin *origin)
{
    return places->taken == places->n || has_all(places, origin);
}

static bool is_idle(const struct rttcp_place_state *state, uint64_t now_ns)
{
    return atomic_load(&state->moved_ns) + RTTCP_IDLE_NS < now_ns;
}

/* Among origins that have used up their share of places, returns the place of the session that has been idle longest;
 * -1: there is none. */
static int64_t idle_loser(const struct rttcp_places *places, const struct rttcp_origin *newcomer, uint64_t now_ns)
{
    int64_t loser = -1;
    uint64_t since = UINT64_MAX;
    for (uint64_t i = 0; i < places->n; i++) {
        const struct rttcp_origin *origin = &places->at[i].origin;
        uint64_t moved_ns = atomic_load(&places->states[i].moved_ns);
        if (state_of(places, i) != PLACE_BEGUN || moved_ns >= since || !is_idle(&places->states[i], now_ns) ||
            (newcomer && rttcp_origin_same(origin, newcomer)) || places->n == 1 || !has_all(places, origin))
            continue;
        loser = (int64_t)i;
        since = moved_ns;
    }
    return loser;
}

int64_t rttcp_places_loser(const struct rttcp_places *places, const struct rttcp_origin *origin, uint64_t now_ns)
{
    bool all_taken = places->taken == places->n;
    int64_t loser = all_taken ? idle_loser(places, origin, now_ns) : -1;
    uint64_t most = 0;
    if (loser >= 0)
        return loser;
    for (uint64_t i = 0; i < places->n; i++) {
        uint64_t since = places->at[i].since_ns;
        bool other = origin && !rttcp_origin_same(&places->at[i].origin, origin);
        if (state_of(places, i) != PLACE_WAITING || since + RTTCP_SHARE_GRACE_NS >= now_ns || (!all_taken && other))
            continue;
        uint64_t over = count_over_share(places, i, origin);
        if (over == 0 && since + RTTCP_GRACE_NS >= now_ns)
            continue;
        if (loser < 0 || over > most || (over == most && since < places->at[loser].since_ns)) {
            loser = (int64_t)i;
            most = over;
        }
    }
    return loser;
}

bool rttcp_place_lose(struct rttcp_place_state *state, uint64_t now_ns)
{
    int waiting = PLACE_WAITING, begun = PLACE_BEGUN;
    if (atomic_compare_exchange_strong(&state->is, &waiting, PLACE_LOST))
        return true;
    return is_idle(state, now_ns) && atomic_compare_exchange_strong(&state->is, &begun, PLACE_LOST);
}

bool rttcp_place_begin(struct rttcp_place_state *state)
{
    int was = PLACE_WAITING;
    return atomic_compare_exchange_strong(&state->is, &was, PLACE_BEGUN) || was == PLACE_BEGUN;
}

static bool same_origin(struct rttcp_place_state *a, struct rttcp_place_state *b)
{
    return atomic_load(&a->network) == atomic_load(&b->network) && atomic_load(&a->ipv4) == atomic_load(&b->ipv4);
}

static uint64_t left_of(uint64_t most, uint64_t taken)
{
    return taken < most ? most - taken : 0;
}

uint64_t rttcp_places_reserve(const struct rttcp_places *places, uint64_t i, uint64_t wanted_bytes, uint64_t most_bytes)
{
    struct rttcp_place_state *own = &places->states[i];
    uint64_t others = 0, same = 0;
    atomic_store(&own->memory_bytes, wanted_bytes);
    for (uint64_t other = 0; other < places->n; other++) {
        uint64_t bytes = other == i ? 0 : atomic_load(&places->states[other].memory_bytes);
        others += bytes;
        same += same_origin(&places->states[other], own) ? bytes : 0;
    }
    uint64_t left = left_of(most_bytes, others);
    uint64_t share = left_of(places->n > 1 ? most_bytes / SHARE : most_bytes, same);
    if (share < left)
        left = share;
    if (wanted_bytes <= left)
        return wanted_bytes;
    atomic_store(&own->memory_bytes, 0);
    return left;
}

bool rttcp_places_has(const struct rttcp_places *places, enum rttcp_place_is is)
{
    for (uint64_t i = 0; i < places->n; i++)
        if (state_of(places, i) == (int)is)
            return true;
    return false;
}
