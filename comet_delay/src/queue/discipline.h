/* A queue discipline: which packets wait at the bottleneck, and which of them goes next, is marked (ECN) or is dropped.
 * A discipline is one file that owns the packets it holds, in one list or in many (queued_list.h):
 * aqm_params.h lists them with the specifications that they follow.
 *
 * The code is pure and is built into a kernel, too (scenarios/virtual/comet): time is passed in, chance is drawn from
 * (key, packet number), the caller allocates packets and the discipline's own memory, and nothing here parses, prints or
 * calls libm. RED and PIE compute in double precision, which user-mode Linux can. There are no timers: PIE's periodic updates are made up
 * for at the next call, exactly as a timer would have made them, because nothing they depend on changes between calls.
 * Invariants for the caller: calls come in the order of time. After a packet that dequeue drops, the caller calls
 * dequeue again at the same time. The settings come with each call, because they may change between any two.
 * Rejected: disciplines that judge a queue which the bottleneck owns, as it was. One queue cannot be 1,024 of them.
 *
 * ECN: with `ecn` on, an ECN-capable packet is marked where another packet would be dropped. Beyond RED's upper end and
 * above PIE's threshold it is dropped all the same, as RFC 3168, 7 and RFC 8033, 5.1 require. */
#ifndef COMET_DISCIPLINE_H
#define COMET_DISCIPLINE_H

#include <stddef.h>

#include "aqm_params.h"
#include "fate.h"
#include "queued_list.h"

/* Each bound covers the packets that wait and those on the line together; 0: no bound. A packet that finds both empty
 * is always taken. */
struct queue_settings {
    const struct aqm_params *aqm;
    uint64_t bytes_max, packets_max;
    uint64_t key;   /* from random_key */
    bool drop_head; /* a full queue drops the oldest packet, where the discipline leaves the choice open */
};

/* Starts as all zero, without a discipline. */
struct queue {
    const struct discipline *discipline;
    int algorithm;                     /* enum aqm_algorithm, of the discipline */
    void *own;                         /* the discipline's memory */
    uint64_t bytes, packets;           /* that wait; the discipline counts */
    uint64_t line_bytes, line_packets; /* bytes and packets on the line, counted by the caller */
    struct queued_list dropped;        /* packets that enqueue dropped after accepting them, each with its fate; the
                                        * caller empties the list */
};

/* What dequeue would return next. `time_ns`: the earliest time; UINT64_MAX: nothing waits. `certain`: the next packet,
 * if no later arrival or delay can change it (except a drop at the head); otherwise NULL. */
struct queue_next {
    uint64_t time_ns;
    struct queued *certain;
};

/* A figure of a discipline's state, for `show`. */
struct queue_fact {
    const char *name;
    uint64_t value;
};
enum { QUEUE_FACTS_MAX = 8 };

struct discipline {
    size_t own_bytes; /* size of the memory that it needs, zeroed at first */
    bool by_flow;     /* looks at the flows of packets */
    /* Offers a packet at its arrival. FATE_PASS: it waits now, perhaps marked. Otherwise it is dropped, and the
     * caller's. */
    enum fate (*enqueue)(struct queue *queue, const struct queue_settings *settings, struct queued *packet);
    /* The line is free at `now_ns`: the packet that goes next, perhaps marked, with FATE_PASS, or one that is dropped
     * now, with its fate. NULL: nothing waits. The packet is the caller's. */
    struct queued *(*dequeue)(struct queue *queue, const struct queue_settings *settings, uint64_t now_ns,
                              enum fate *fate);
    struct queue_next (*next)(const struct queue *queue);
    /* Writes up to QUEUE_FACTS_MAX figures and returns how many. NULL: it has none. */
    size_t (*state)(const struct queue *queue, struct queue_fact *facts);
    /* When the discipline changes: `leave` moves all packets to the list, in the order in which it would have sent
     * them, and `start` takes them from it. Neither judges them or counts them. */
    void (*start)(struct queue *queue, const struct queue_settings *settings, struct queued_list *waiting);
    void (*leave)(struct queue *queue, struct queued_list *waiting);
};

#define AQM_EXTERN(number, name, file) extern const struct discipline discipline_##file;
AQM_DISCIPLINES(AQM_EXTERN)

/* The discipline of an algorithm. */
const struct discipline *discipline_of(int algorithm);

/* Gives the queue the discipline of settings->aqm, with `own` for its memory: own_bytes, all zero. Waiting packets stay
 * in the queue. Returns the memory of the discipline before it, or NULL. */
void *queue_change(struct queue *queue, const struct queue_settings *settings, void *own);

/* What waits and what is on the line. */
static inline uint64_t queue_backlog_bytes(const struct queue *queue)
{
    return queue->bytes + queue->line_bytes;
}

/* Whether a packet of `bytes` keeps within the bounds. */
static inline bool queue_fits(const struct queue *queue, const struct queue_settings *settings, uint32_t bytes)
{
    uint64_t packets = queue->packets + queue->line_packets;
    return packets == 0 || ((!settings->bytes_max || queue_backlog_bytes(queue) + bytes <= settings->bytes_max) &&
                            (!settings->packets_max || packets + 1 <= settings->packets_max));
}

/* Counts a packet that joins or leaves the queue. */
static inline void queue_count(struct queue *queue, const struct queued *packet)
{
    queue->bytes += packet->bytes;
    queue->packets++;
}
static inline void queue_uncount(struct queue *queue, const struct queued *packet)
{
    queue->bytes -= packet->bytes;
    queue->packets--;
}

#endif
