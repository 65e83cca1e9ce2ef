/* The laws of disciplines: their decisions about one packet, separate from the queue in which it waits. The state of a
 * law is plain data, and a call returns whether a packet passes, is marked or is dropped. So FQ-CoDel can have a
 * thousand states of CoDel's law, and tests can compute laws by hand. */
#ifndef COMET_LAWS_H
#define COMET_LAWS_H

#include "discipline.h"
#include "random.h"

enum aqm_verdict { AQM_PASS, AQM_MARK, AQM_DROP };

/* The input of a law about a packet. Most laws use only a few members. */
struct aqm_packet {
    uint64_t now_ns, sojourn_ns;
    uint64_t backlog_bytes; /* backlog without this packet: on arrival before it, on departure after it */
    uint32_t bytes;
    uint32_t largest_bytes; /* of all packets so far, including this one: the "MTU" of safeguards for almost empty
                             * queues */
    bool ect;
    uint64_t key, number;
};

/* All states start as all zero. A change of the parameters does not reset them. */
struct red_state {
    double average_bytes;
    uint64_t idle_since_ns; /* meaningful when `idle` */
    uint64_t since_bytes;   /* since the last mark or drop, when `counting` */
    bool idle, counting;
};
struct codel_state {
    uint64_t first_above_ns; /* when the sojourn time will have been above target for an interval; 0: it is below
                              * target */
    uint64_t drop_next_ns;
    uint32_t count, last_count;
    bool dropping;
    bool dropped; /* the previous packet was dropped at this time, and the next drop is not scheduled yet */
};
struct pie_state {
    uint64_t next_update_ns, delay_ns, delay_old_ns, burst_ns;
    double probability, accumulated;
    bool started;
};

/* *_comes is called for an arriving packet, *_leaves for a packet that leaves the queue for the line. */
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

/* The same for a packet that has already left the queue, when nothing is on the line. */
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

/* How to signal congestion to this packet's sender: mark or drop. */
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
