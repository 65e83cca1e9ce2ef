/* Implements marks.h. */
#include "marks.h"

enum { ACE_FIRST = 5, ACE_N = 8, COUNTER_MASK = 0xffffff };

struct pl_marks pl_marks_begin(const struct pl_transfer *t)
{
    bool whole = t->flow->side[0].syn && t->flow->side[1].syn; /* so that the counters have their first values */
    return (struct pl_marks){.mode = pl_flow_ecn(t->flow), .ace = ACE_FIRST, .ace_known = whole, .eceb_known = whole};
}

/* How many octets the option has newly reported as CE; -1 without it. */
static int64_t new_bytes(struct pl_marks *marks, const struct pl_row *row)
{
    if (!(row->accecn & NC_ACCECN_ECEB))
        return -1;
    uint32_t bytes = marks->eceb_known ? (row->eceb - marks->eceb) & COUNTER_MASK : 0;
    if (bytes > COUNTER_MASK / 2) /* an acknowledgement that was overtaken */
        return 0;
    marks->eceb = row->eceb;
    marks->eceb_known = true;
    return bytes;
}

/* How many packets ACE has newly reported. It counts modulo 8, and the option's octets tell how often it went round. */
static uint64_t new_packets(struct pl_marks *marks, const struct pl_row *row, int64_t bytes, uint32_t mss)
{
    uint8_t ace = NC_TCP_ACE(row->flags);
    uint64_t packets = marks->ace_known ? (ace - marks->ace) & (ACE_N - 1) : 0;
    marks->ace = ace;
    marks->ace_known = true;
    uint64_t least = bytes > 0 && mss ? ((uint64_t)bytes + mss - 1) / mss : 0;
    while (packets < least)
        packets += ACE_N;
    return packets;
}

/* True when the acknowledgement reports marks. The last one of the handshake has another code in ACE, so only those of
 * data count, and only in order: ACE is no number of its packet. */
static bool reports(struct pl_marks *marks, struct pl_transfer *t, const struct pl_row *row, uint64_t una)
{
    if (marks->mode != PL_ECN_ACCURATE) {
        bool echo = row->flags & NC_TCP_ECE;
        t->marks.ece_received += echo;
        return echo;
    }
    if (row->ack < una || row->ack < 2)
        return false;
    int64_t bytes = new_bytes(marks, row);
    uint64_t packets = new_packets(marks, row, bytes, t->mss);
    t->marks.ce_reported += packets;
    t->marks.ce_reported_bytes += bytes > 0 ? (uint64_t)bytes : 0;
    return packets > 0;
}

void pl_marks_ack(struct pl_marks *marks, struct pl_transfer *t, const struct pl_row *row, uint64_t una)
{
    if (!reports(marks, t, row, una))
        return;
    if (!marks->reports++)
        marks->first_ns = row->t_ns;
    marks->calls = marks->calls || una > marks->reduced_at;
}

bool pl_marks_send(struct pl_marks *marks, struct pl_transfer *t, const struct pl_row *row, uint64_t una, uint64_t high,
                   bool recovering, struct pl_event *event)
{
    bool accurate = marks->mode == PL_ECN_ACCURATE, cwr = !accurate && row->flags & NC_TCP_CWR;
    t->marks.cwr_sent += cwr;
    if (!(accurate ? marks->calls : cwr) || !marks->reports)
        return false;
    *event = (struct pl_event){
        .t0_ns = marks->first_ns, .t1_ns = row->t_ns, .seq = una, .bytes = high - una, .packets = marks->reports};
    marks->reports = 0;
    marks->calls = false;
    marks->reduced_at = high;
    t->marks.reductions += !recovering;
    return !recovering;
}
