/* A queue discipline: which packets wait at the bottleneck, and which of them goes next, is marked (ECN) or is dropped.
 * A discipline is one file that owns its packets, in one list or in many (queued_list.h). aqm_params.h lists the
 * disciplines with their specifications.
 *
 * The code is pure and is built into a kernel, too (scenarios/virtual/comet): time is passed in, random numbers depend
 * on (key, packet number), the caller allocates packets and the discipline's own memory, and nothing here parses,
 * prints or calls libm. RED and PIE compute in double precision, which user-mode Linux supports. There are no timers:
 * PIE's overdue periodic updates are made at the next call, with the same result as by a timer, because nothing they
 * depend on changes between calls. Invariants for the caller: calls are in the order of time. After dequeue has dropped
 * a packet, the caller calls dequeue again at the same time. Settings are passed with each call, because they may
 * change between any two.
 * Rejected: a queue that the bottleneck owns and disciplines only judge, as in an earlier version; FQ-CoDel needs 1,024
 * queues.
 *
 * ECN: with `ecn` on, an ECN-capable packet is marked instead of dropped. Beyond RED's upper end and above PIE's
 * threshold it is dropped nevertheless, as RFC 3168, 7 and RFC 8033, 5.1 require. */
#ifndef COMET_DISCIPLINE_H
#define COMET_DISCIPLINE_H

#include <stddef.h>

#include "aqm_params.h"
#include "fate.h"
#include "queued_list.h"

/* Each bound covers waiting packets and packets on the line together; 0: no bound. A packet that finds both empty is
 * always accepted. */
struct queue_settings {
    const struct aqm_params *aqm;
    uint64_t bytes_max, packets_max;
    uint64_t key;   /* from random_key */
    bool drop_head; /* a full queue drops the oldest packet, if the discipline leaves the choice open */
};

/* A queue starts as all zero, without a discipline. */
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
 * if neither later arrivals nor delay can change that (except a drop at the head); otherwise NULL. */
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
    bool by_flow;     /* depends on the flows of packets */
    /* Offers a packet at its arrival. FATE_PASS: it waits now, perhaps marked. Otherwise it is dropped, and the caller
     * owns it. */
    enum fate (*enqueue)(struct queue *queue, const struct queue_settings *settings, struct queued *packet);
    /* The line is free at `now_ns`: returns the next packet, perhaps marked, with FATE_PASS, or a packet that is
     * dropped now, with its fate. NULL: nothing waits. The caller then owns the packet. */
    struct queued *(*dequeue)(struct queue *queue, const struct queue_settings *settings, uint64_t now_ns,
                              enum fate *fate);
    struct queue_next (*next)(const struct queue *queue);
    /* Writes up to QUEUE_FACTS_MAX figures and returns their number. NULL: the discipline has none. */
    size_t (*state)(const struct queue *queue, struct queue_fact *facts);
    /* When the discipline changes: `leave` of the old one moves all packets to the list, in the order in which it would
     * have sent them, and `start` of the new one takes them from it. Neither judges nor counts them. */
    void (*start)(struct queue *queue, const struct queue_settings *settings, struct queued_list *waiting);
    void (*leave)(struct queue *queue, struct queued_list *waiting);
};

#define AQM_EXTERN(number, name, file) extern const struct discipline discipline_##file;
AQM_DISCIPLINES(AQM_EXTERN)

/* The discipline of an algorithm. */
const struct discipline *discipline_of(int algorithm);

/* Gives the queue the discipline of settings->aqm. `own`: its memory, own_bytes of zeros. Waiting packets stay in the
 * queue. Returns the memory of the previous discipline, or NULL. */
void *queue_change(struct queue *queue, const struct queue_settings *settings, void *own);

/* The bytes that wait or are on the line. */
static inline uint64_t queue_backlog_bytes(const struct queue *queue)
{
    return queue->bytes + queue->line_bytes;
}

/* Whether the queue stays within the bounds with another packet of `bytes`. */
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
