#include "places.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SHARE 4 /* an origin may have a SHARE-th of all places waiting; N = 1: its share is that one */

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

uint64_t rttcp_places_waiting(const struct rttcp_places *places, const struct rttcp_origin *origin)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < places->n; i++)
        n += state_of(places, i) == PLACE_WAITING && rttcp_origin_same(&places->at[i].origin, origin);
    return n;
}

/* How many waiting places the origin of place i has, when that is more than its share and the peer at the door is
 * from elsewhere; 0 otherwise. */
static uint64_t count_over_share(const struct rttcp_places *places, uint64_t i, const struct rttcp_origin *newcomer)
{
    const struct rttcp_origin *origin = &places->at[i].origin;
    uint64_t waiting = rttcp_places_waiting(places, origin);
    return waiting > 1 && waiting * SHARE > places->n && !(newcomer && rttcp_origin_same(origin, newcomer)) ? waiting
                                                                                                            : 0;
}

int64_t rttcp_places_loser(const struct rttcp_places *places, const struct rttcp_origin *origin, uint64_t now_ns)
{
    int64_t loser = -1;
    uint64_t most = 0;
    for (uint64_t i = 0; i < places->n; i++) {
        uint64_t since = places->at[i].since_ns;
        if (state_of(places, i) != PLACE_WAITING || since + RTTCP_SHARE_GRACE_NS >= now_ns)
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

bool rttcp_place_lose(struct rttcp_place_state *state)
{
    int waiting = PLACE_WAITING;
    return atomic_compare_exchange_strong(&state->is, &waiting, PLACE_LOST);
}

bool rttcp_place_begin(struct rttcp_place_state *state)
{
    int was = PLACE_WAITING;
    return atomic_compare_exchange_strong(&state->is, &was, PLACE_BEGUN) || was == PLACE_BEGUN;
}

uint64_t rttcp_places_reserve(const struct rttcp_places *places, uint64_t i, uint64_t wanted_bytes, uint64_t most_bytes)
{
    uint64_t others = 0;
    atomic_store(&places->states[i].memory_bytes, wanted_bytes);
    for (uint64_t other = 0; other < places->n; other++)
        others += other == i ? 0 : atomic_load(&places->states[other].memory_bytes);
    uint64_t left = others < most_bytes ? most_bytes - others : 0;
    if (wanted_bytes <= left)
        return wanted_bytes;
    atomic_store(&places->states[i].memory_bytes, 0);
    return left;
}

bool rttcp_places_has(const struct rttcp_places *places, enum rttcp_place_is is)
{
    for (uint64_t i = 0; i < places->n; i++)
        if (state_of(places, i) == (int)is)
            return true;
    return false;
}
