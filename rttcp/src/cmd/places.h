/* A place is a slot for one session; the receiver has --sessions of them. A place is waiting until its session has
 * begun: until the data connections are established or, with a key, until the peer has proved that it has the key. A
 * session that has begun keeps its place while data move in it. When all places are taken and another peer, the
 * newcomer, connects, one session may lose its place. So peers that send a hello and nothing else, or begin and then
 * send nothing, cannot hold all places. The place to lose is, in this order:
 *
 *   - that of the session idle for longest, if that is more than RTTCP_IDLE_NS, its origin has half of all places, and
 *     the newcomer is from another origin;
 *   - the oldest waiting place of the origin with the most waiting places, if these are more than a quarter of all
 *     places, the newcomer is from another origin, and the place is older than RTTCP_SHARE_GRACE_NS;
 *   - otherwise the oldest waiting place that is older than RTTCP_GRACE_NS.
 *
 * So many honest sessions that begin at the same time keep their places for as long as a handshake takes.
 * The state of a place is shared with the session's process: the first of the two processes to change it from waiting
 * decides. The amount of memory that the session uses is shared, too, so that peers' proposals cannot use up the
 * machine's memory.
 * No origin gets more than half (rounded up) of the places, so that a peer from another origin need not wait for a
 * running session to end: with k other origins each finds (k + 1) / 2k of an equal share, which is at least half of it.
 * No origin gets more than a quarter of the memory, because a session is refused when memory is short instead of
 * waiting for it; the rest is for other origins.
 * Rejected: an equal share for each address. Measurements of many sessions come from one address, too. */
#ifndef RTTCP_PLACES_H
#define RTTCP_PLACES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "origin.h"

/* A handshake takes four round trips, so the first two allow for round trips of 0.25 s and 0.75 s. */
#define RTTCP_SHARE_GRACE_NS UINT64_C(1000000000)
#define RTTCP_GRACE_NS UINT64_C(3000000000)
#define RTTCP_IDLE_NS UINT64_C(5000000000)

enum rttcp_place_is { PLACE_FREE, PLACE_WAITING, PLACE_BEGUN, PLACE_LOST };

struct rttcp_place_state {
    _Atomic int is; /* enum rttcp_place_is */
    _Atomic uint64_t memory_bytes;
    /* The origin's address, here and not only in `at`, because the processes of earlier sessions do not see changes of
     * `at`. */
    _Atomic uint64_t network;
    _Atomic bool ipv4;
    _Atomic uint64_t moved_ns; /* when data last moved in a session that has begun */
};

struct rttcp_place {
    pid_t pid;
    uint64_t since_ns;
    struct rttcp_origin origin;
};

struct rttcp_places {
    uint64_t n, taken;
    struct rttcp_place *at;
    struct rttcp_place_state *states; /* in memory that forked processes share */
};

/* Returns 0 or -1 without memory; rttcp_places_release is allowed after either. */
int rttcp_places_create(struct rttcp_places *places, uint64_t n);
void rttcp_places_release(struct rttcp_places *places);

/* Takes a free place, of which there must be one, for a session that has not begun. Returns its index. */
uint64_t rttcp_places_take(struct rttcp_places *places, const struct rttcp_origin *origin, uint64_t now_ns);

/* Frees the place of a process that has exited. Returns the state that the place had, PLACE_FREE when the process had
 * none. */
enum rttcp_place_is rttcp_places_free(struct rttcp_places *places, pid_t pid);

/* Return how many places an origin has, and how many of these are waiting. */
uint64_t rttcp_places_taken(const struct rttcp_places *places, const struct rttcp_origin *origin);
uint64_t rttcp_places_waiting(const struct rttcp_places *places, const struct rttcp_origin *origin);

/* Chooses the place that a session must give up to a peer of `origin` when no place is free for that peer; -1 when
 * there is none. If the free places are reserved for other origins, it is a waiting place of the same origin. `origin`
 * NULL: a peer of any other origin. */
int64_t rttcp_places_loser(const struct rttcp_places *places, const struct rttcp_origin *origin, uint64_t now_ns);

/* Returns whether no place is free for an origin: all are taken, or the remaining ones are reserved for other
 * origins. */
bool rttcp_places_full_for(const struct rttcp_places *places, const struct rttcp_origin *origin);

/* Takes a place away from a session that has not begun or is idle; false when the session has just begun or its data
 * move again. */
bool rttcp_place_lose(struct rttcp_place_state *state, uint64_t now_ns);

/* For the session's process: true when the session keeps its place from now on, false when it has lost it. */
bool rttcp_place_begin(struct rttcp_place_state *state);

/* For the session's process: reserves memory for the session of place i until its process exits. Returns
 * `wanted_bytes`. When less is left for the origin, reserves nothing and returns what is left. Two sessions that ask at
 * the same moment may both be refused; all sessions together never get more than `most_bytes`, and an origin's sessions
 * never more than its share. */
uint64_t rttcp_places_reserve(const struct rttcp_places *places, uint64_t i, uint64_t wanted_bytes,
                              uint64_t most_bytes);

/* Returns whether any place is in this state. A place stays PLACE_LOST until its process has ended. */
bool rttcp_places_has(const struct rttcp_places *places, enum rttcp_place_is is);

#endif
