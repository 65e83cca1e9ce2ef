/* Implements analyse.h. It analyses one flow at a time, so that memory is bounded by the largest flow. */
#include "analyse.h"

/* The sender's relative number less the receiver's. Where one capture missed the SYN, its numbers start at 2^32 with
 * the first packet it has. That packet is then taken to lie within the first 4 GiB of the other capture's numbers. */
static int64_t delta_of(const struct pl_side *sender, const struct pl_side *receiver)
{
    if (!sender->based || !receiver->based)
        return 0;
    if (sender->syn == receiver->syn)
        return (int32_t)(receiver->base - sender->base);
    if (sender->syn)
        return (int64_t)(uint32_t)(receiver->base - sender->base) - (int64_t)PL_UNSEEN_BASE;
    return (int64_t)PL_UNSEEN_BASE - (int64_t)(uint32_t)(sender->base - receiver->base);
}

/* False when the SYNs differ: then it is another connection between the same ports. */
static bool same_connection(const struct pl_flow *a, const struct pl_flow *b, bool flipped)
{
    for (int i = 0; i < 2; i++) {
        const struct pl_side *x = &a->side[i], *y = &b->side[i ^ flipped];
        if (x->syn && y->syn && x->base != y->base)
            return false;
    }
    return true;
}

/* The direction in which packets leave the sender's machine: they appear first in the sender's capture. */
static unsigned outgoing(const struct pl_flow *sender, const struct pl_flow *receiver, bool flipped)
{
    int64_t lead_ns[2] = {0, 0};
    for (unsigned d = 0; d < 2; d++)
        if (sender->side[d].packets && receiver->side[d ^ flipped].packets)
            lead_ns[d] = receiver->side[d ^ flipped].first_ns - sender->side[d].first_ns;
    return lead_ns[1] > lead_ns[0];
}

static struct pl_transfer transfer_of(const struct pl_trace *sender, uint32_t sender_flow,
                                      const struct pl_trace *receiver, uint32_t receiver_flow, bool flipped)
{
    const struct pl_flow *a = &sender->index.flows.at[sender_flow], *b = &receiver->index.flows.at[receiver_flow];
    unsigned dir = outgoing(a, b, flipped);
    struct pl_transfer t = {
        .flow = a,
        .dir = dir,
        .receiver_dir = dir ^ flipped,
        .mss = pl_flow_mss(a),
        .sender = sender->packets + sender->first[sender_flow],
        .sender_n = sender->first[sender_flow + 1] - sender->first[sender_flow],
        .receiver = receiver->packets + receiver->first[receiver_flow],
        .receiver_n = receiver->first[receiver_flow + 1] - receiver->first[receiver_flow],
        .delta = delta_of(&a->side[dir], &b->side[dir ^ flipped]),
        .receiver_last_ns = receiver->index.counts.last_ns,
        .sender_last_ns = sender->index.counts.last_ns,
    };
    if (!t.mss)
        t.mss = pl_flow_mss(b);
    return t;
}

/* Finds the connection in the box's record, if it is there. */
static void find_in_box(struct pl_transfer *t, const struct pl_box *box)
{
    bool flipped = false;
    uint32_t flow = box ? pl_box_lookup(box, t->flow, &flipped) : UINT32_MAX;
    if (flow == UINT32_MAX)
        return;
    t->box = box;
    t->box_flow = flow;
    t->box_dir = t->dir ^ flipped;
    t->box_delta = delta_of(&t->flow->side[t->dir], &box->flows[flow].side[t->box_dir]);
}

static int analyse_one(struct pl_transfer *t, pl_transfer_sink *sink, void *context, bool *sink_failed)
{
    int result = pl_join_segments(t);
    if (result == 0)
        result = pl_join_acks(t);
    if (result == 0)
        result = pl_join_box(t);
    if (result == 0)
        result = pl_measure(t);
    if (result == 0)
        result = pl_find_bursts(t);
    if (result == 0)
        result = pl_walk_sender(t);
    if (result == 0) {
        result = sink(context, t);
        *sink_failed = result < 0;
    }
    pl_transfer_free(t);
    return result;
}

enum pl_status pl_analyse(const struct pl_trace *sender, const struct pl_trace *receiver, const struct pl_box *box,
                          pl_transfer_sink *sink, void *context, struct pl_joined *joined)
{
    *joined = (struct pl_joined){0};
    for (uint32_t i = 0; i < sender->index.flows.n; i++) {
        const struct pl_flow *flow = &sender->index.flows.at[i];
        bool flipped = false, sink_failed = false;
        uint32_t other = pl_flows_lookup(&receiver->index.flows, flow, &flipped);
        if (other == UINT32_MAX || !same_connection(flow, &receiver->index.flows.at[other], flipped)) {
            joined->unmatched_sender++;
            continue;
        }
        struct pl_transfer transfer = transfer_of(sender, i, receiver, other, flipped);
        transfer.number = joined->flows++;
        find_in_box(&transfer, box);
        if (analyse_one(&transfer, sink, context, &sink_failed) < 0)
            return sink_failed ? PL_SINK_FAILED : PL_NO_MEMORY;
    }
    joined->unmatched_receiver = receiver->index.flows.n > joined->flows ? receiver->index.flows.n - joined->flows : 0;
    return PL_OK;
}
