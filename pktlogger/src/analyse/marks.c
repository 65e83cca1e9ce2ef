/* Implements marks.h. */
#include "marks.h"

enum { ACE_FIRST = 5, ACE_N = 8, COUNTER_MASK = 0xffffff };

struct pl_marks pl_marks_begin(const struct pl_transfer *t)
{
    bool whole = t->flow->side[0].syn && t->flow->side[1].syn; /* both SYNs are in the capture, so the counters have
                                                                * their initial values */
    return (struct pl_marks){.mode = pl_flow_ecn(t->flow), .ace = ACE_FIRST, .ace_known = whole, .eceb_known = whole};
}

/* How many more octets the option now reports as received with CE. */
static uint64_t new_bytes(struct pl_marks *marks, const struct pl_row *row)
{
    if (!(row->accecn & NC_ACCECN_ECEB))
        return 0;
    uint32_t bytes = marks->eceb_known ? (row->eceb - marks->eceb) & COUNTER_MASK : 0;
    if (bytes > COUNTER_MASK / 2) /* an acknowledgement that was overtaken */
        return 0;
    marks->eceb = row->eceb;
    marks->eceb_known = true;
    return bytes;
}

/* Counts the packets that ACE newly reports, modulo 8. How often ACE wrapped follows from the octets that the option
 * has reported: no packet is longer than a segment. Not every acknowledgement carries the option, so only the running
 * sums can be compared. */
static void count_packets(struct pl_marks *marks, struct pl_mark_sum *sum, const struct pl_row *row, uint32_t mss)
{
    uint8_t ace = NC_TCP_ACE(row->flags);
    sum->ce_reported += marks->ace_known ? (ace - marks->ace) & (ACE_N - 1) : 0;
    marks->ace = ace;
    marks->ace_known = true;
    uint64_t least = mss ? (sum->ce_reported_bytes + mss - 1) / mss : 0;
    if (sum->ce_reported < least)
        sum->ce_reported += (least - sum->ce_reported + ACE_N - 1) / ACE_N * ACE_N;
}

/* True when the acknowledgement reports marks. Only acknowledgements of data, in order, are counted: the
 * acknowledgement that ends the handshake uses ACE for another code, and a late one has an old counter. The last
 * acknowledgement of a peer in TIME-WAIT does not count either: the peer has forgotten its counters, and Linux sends
 * 0. */
static bool reports(struct pl_marks *marks, struct pl_transfer *t, const struct pl_row *row, uint64_t una)
{
    if (marks->mode != PL_ECN_ACCURATE) {
        bool echo = row->flags & NC_TCP_ECE;
        t->marks.ece_received += echo;
        return echo;
    }
    bool ended = marks->peer_ended;
    marks->peer_ended |= (row->flags & NC_TCP_FIN) != 0;
    if (row->ack < una || row->ack < 2 || (ended && row->ack > t->data_end))
        return false;
    uint64_t before = t->marks.ce_reported;
    t->marks.ce_reported_bytes += new_bytes(marks, row);
    count_packets(marks, &t->marks, row, t->mss);
    return t->marks.ce_reported > before;
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
    if (marks->unheeded || !(accurate ? marks->calls : cwr) || !marks->reports)
        return false;
    *event = (struct pl_event){.t0_ns = marks->first_ns,
                               .t1_ns = row->t_ns,
                               .seq = una,
                               .bytes = high > una ? high - una : 0,
                               .packets = marks->reports};
    marks->reports = 0;
    marks->calls = false;
    marks->reduced_at = high;
    t->marks.reductions += !recovering;
    return !recovering;
}
