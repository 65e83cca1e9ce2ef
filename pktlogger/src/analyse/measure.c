/* Measures a joined transfer: counts, round-trip times and delays. */
#include "transfer.h"

#include <stdlib.h>

static void measure_delays(struct pl_transfer *t)
{
    for (size_t i = 0; i < t->segments.n; i++) {
        int64_t delay_ns = t->segments.at[i].delay_ns;
        if (t->segments.at[i].t_received_ns < 0)
            continue;
        if (t->min_delay_ns < 0 || delay_ns < t->min_delay_ns)
            t->min_delay_ns = delay_ns;
        if (delay_ns > t->max_delay_ns)
            t->max_delay_ns = delay_ns;
    }
}

static int compare_i64(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

/* Measures how long the queue on the path is when it is long. Rejected: the largest delay, because one late wake-up of
 * the machine would determine it. */
static int measure_queue(struct pl_transfer *t)
{
    int64_t *delays = malloc((t->segments.n + 1) * sizeof *delays);
    size_t n = 0;
    if (!delays)
        return -1;
    for (size_t i = 0; i < t->segments.n; i++)
        if (t->segments.at[i].t_received_ns >= 0)
            delays[n++] = t->segments.at[i].delay_ns;
    if (n > 1)
        qsort(delays, n, sizeof *delays, compare_i64);
    t->typical_queue_ns = n ? delays[n - 1 - n / 20] - t->min_delay_ns : 0;
    free(delays);
    return 0;
}

static void note_rtt(struct pl_transfer *t, int64_t rtt_ns)
{
    if (rtt_ns < 0)
        return;
    if (t->min_rtt_ns < 0 || rtt_ns < t->min_rtt_ns)
        t->min_rtt_ns = rtt_ns;
    if (rtt_ns > t->max_rtt_ns)
        t->max_rtt_ns = rtt_ns;
}

/* The handshake gives a sample without delayed acknowledgements: from the SYN, if there was only one, to its answer. */
static void measure_handshake(struct pl_transfer *t)
{
    const struct pl_packet *syn = NULL;
    for (size_t i = 0; i < t->sender_n; i++) {
        const struct pl_packet *packet = &t->sender[i];
        if (packet->dir == t->dir) {
            if (syn || !(packet->flags & NC_TCP_SYN))
                return;
            syn = packet;
        } else if (syn && packet->ack != PL_NO_ACK) {
            if (packet->ack == syn->seq + 1)
                note_rtt(t, packet->t_ns - syn->t_ns);
            return;
        }
    }
}

/* The newest part sent for the first time that `una` covers and earlier acknowledgements did not. `*next` moves behind
 * it. */
static const struct pl_segment *newest_covered(const struct pl_transfer *t, size_t *next, uint64_t una, int64_t now_ns)
{
    const struct pl_segment *newest = NULL;
    for (; *next < t->segments.n && t->segments.at[*next].t_sent_ns <= now_ns; ++*next) {
        const struct pl_segment *segment = &t->segments.at[*next];
        if (segment->transmission > 1)
            continue;
        if (segment->seq + segment->len > una)
            break;
        newest = segment;
    }
    return newest;
}

/* Takes one sample for every acknowledgement of new data: the time since the newest part that it covers was sent, if no
 * byte of that part was ever sent twice (Karn; RFC 6298 section 3). The last such acknowledgement ends the transfer. */
static void measure_rtt(struct pl_transfer *t)
{
    size_t next = 0;
    uint64_t una = 0;
    for (size_t i = 0; i < t->sender_n; i++) {
        const struct pl_packet *packet = &t->sender[i];
        if (packet->dir == t->dir || packet->ack >= UINT64_MAX / 4 || packet->ack <= una)
            continue;
        una = packet->ack;
        const struct pl_segment *newest = newest_covered(t, &next, una, packet->t_ns);
        if (newest && newest->sent_once)
            note_rtt(t, packet->t_ns - newest->t_sent_ns);
        if (newest && packet->t_ns > t->last_ns)
            t->last_ns = packet->t_ns;
    }
}

static void count(struct pl_transfer *t)
{
    for (size_t i = 0; i < t->segments.n; i++) {
        const struct pl_segment *segment = &t->segments.at[i];
        if (segment->transmission == 1)
            t->bytes += segment->len;
        else {
            t->retransmitted++;
            t->retransmitted_bytes += segment->len;
            t->spurious += segment->repeats;
        }
        if (pl_lost(t, segment)) {
            t->lost++;
            t->lost_bytes += segment->len;
        } else if (segment->t_received_ns < 0)
            t->in_flight_at_end++;
    }
}

int pl_measure(struct pl_transfer *t)
{
    t->min_rtt_ns = t->max_rtt_ns = t->min_delay_ns = t->max_delay_ns = -1;
    if (t->segments.n == 0)
        return 0;
    t->first_ns = t->last_ns = t->segments.at[0].t_sent_ns;
    measure_handshake(t);
    measure_rtt(t);
    measure_delays(t);
    if (t->segments.at[t->segments.n - 1].t_sent_ns > t->last_ns)
        t->last_ns = t->segments.at[t->segments.n - 1].t_sent_ns;
    count(t);
    return measure_queue(t);
}

int64_t pl_stop_threshold_ns(const struct pl_transfer *t)
{
    const int64_t least_ns = 100 * 1000 * 1000;
    return t->min_rtt_ns <= least_ns / 4 ? least_ns : t->min_rtt_ns < INT64_MAX / 4 ? 4 * t->min_rtt_ns : INT64_MAX;
}

void pl_transfer_free(struct pl_transfer *t)
{
    free(t->segments.at);
    free(t->acks.at);
    free(t->events.at);
    free(t->bursts.at);
    free(t->stops.at);
}
