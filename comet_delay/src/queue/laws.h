/* What disciplines decide of one packet, apart from the queue in which it waits: the state of a law is plain data, and
 * a call says whether a packet passes, is marked or is dropped. So FQ-CoDel has CoDel's law a thousand times, and tests
 * work laws out by hand. */
#ifndef COMET_LAWS_H
#define COMET_LAWS_H

#include "discipline.h"
#include "random.h"

enum aqm_verdict { AQM_PASS, AQM_MARK, AQM_DROP };

/* A packet as a law sees it. Most laws look at a few members only. */
struct aqm_packet {
    uint64_t now_ns, sojourn_ns;
    uint64_t backlog_bytes; /* backlog without this packet: what it finds on arrival, what remains when it leaves */
    uint32_t bytes;
    uint32_t largest_bytes; /* of all seen, this one included: the "MTU" of safeguards for almost empty queues */
    bool ect;
    uint64_t key, number;
};

/* All states start as all zero. A change of the parameters does not start them again. */
struct red_state {
    double average_bytes;
    uint64_t idle_since_ns; /* meaningful when `idle` */
    uint64_t since_bytes;   /* since the last mark or drop, when `counting` */
    bool idle, counting;
};
struct codel_state {
    uint64_t first_above_ns; /* when the sojourn time will have been above target for an interval; 0: it is below */
    uint64_t drop_next_ns;
    uint32_t count, last_count;
    bool dropping;
    bool dropped; /* the packet before was dropped at this same time: the next drop is still to be scheduled */
};
struct pie_state {
    uint64_t next_update_ns, delay_ns, delay_old_ns, burst_ns;
    double probability, accumulated;
    bool started;
};

/* Called for a packet that arrives, and for one that leaves the queue for the line. */
enum aqm_verdict red_comes(struct red_state *red, const struct aqm_params *params, const struct aqm_packet *packet);
void red_leaves(struct red_state *red, const struct aqm_params *params, const struct aqm_packet *packet);
enum aqm_verdict codel_leaves(struct codel_state *codel, const struct codel_params *params, bool ecn,
                              const struct aqm_packet *packet);
enum aqm_verdict pie_comes(struct pie_state *pie, const struct aqm_params *params, const struct aqm_packet *packet);
void pie_leaves(struct pie_state *pie, const struct pie_params *params, const struct aqm_packet *packet);

static inline struct aqm_packet aqm_coming(const struct queue *queue, const struct queue_settings *settings,
                                           const struct queued *packet)
{
    return (struct aqm_packet){.now_ns = packet->arrival_ns,
                               .backlog_bytes = queue_backlog_bytes(queue),
                               .bytes = packet->bytes,
                               .ect = packet->ect,
                               .key = settings->key,
                               .number = packet->number};
}

/* The same for a packet that has already left the queue. Nothing is on the line at its turn. */
static inline struct aqm_packet aqm_leaving(const struct queue *queue, const struct queue_settings *settings,
                                            const struct queued *packet, uint64_t now_ns)
{
    return (struct aqm_packet){.now_ns = now_ns,
                               .sojourn_ns = now_ns > packet->arrival_ns ? now_ns - packet->arrival_ns : 0,
                               .backlog_bytes = queue->bytes,
                               .bytes = packet->bytes,
                               .ect = packet->ect,
                               .key = settings->key,
                               .number = packet->number};
}

/* Marks a packet if that is the verdict. */
static inline enum fate aqm_fate(struct queued *packet, enum aqm_verdict verdict)
{
    if (verdict == AQM_MARK)
        packet->marked = true;
    return verdict == AQM_DROP ? FATE_AQM : FATE_PASS;
}

/* How the sender of this packet learns of congestion. */
static inline enum aqm_verdict aqm_signal(bool ecn, const struct aqm_packet *packet)
{
    return ecn && packet->ect ? AQM_MARK : AQM_DROP;
}

/* True with probability p. */
static inline bool aqm_chance(const struct aqm_packet *packet, double p)
{
    return (double)(random_u64(packet->key, packet->number) >> 11) * 0x1p-53 < p;
}

#endif
