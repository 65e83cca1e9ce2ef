/* Joins the acknowledgements of a block, and finds what the box did with its parts and acknowledgements. pl_match pairs
 * all of these, too. */
#include "block.h"

/* Makes pieces of an acknowledgement. Each part of a packet with data carries the packet's acknowledgement, and each
 * part may be lost by itself. */
static int collect_ack(struct pl_block *block, size_t i)
{
    const struct pl_join *join = block->join;
    const struct pl_ack *ack = &join->acks.at[i];
    struct pl_piece piece = {.start = ack->ack, .t_ns = ack->t_sent_ns, .owner = i};
    for (uint32_t part = 0; part < ack->parts; part++) {
        piece.token = join->t->ack_ids ? (uint16_t)(ack->token + part) : ack->token;
        if (PL_APPEND(&block->sent, piece) < 0)
            return -1;
    }
    return 0;
}

static int collect_arrived(struct pl_block *block, struct pl_arrival *ack)
{
    struct pl_piece piece = {
        .start = ack->number, .t_ns = ack->t_ns, .owner = (uint64_t)ack->t_ns, .token = ack->token};
    ack->taken = true;
    return PL_APPEND(&block->received, piece);
}

/* The next acknowledgement that was sent below the cut, from *i on; NULL at the end. */
static struct pl_ack *next_ack(const struct pl_block *block, size_t *i)
{
    struct pl_join *join = block->join;
    for (; (*i = pl_lowest_below(&join->lowest_acks, *i, join->acks.n, block->cut)) < join->acks.n; ++*i)
        if (join->acks.at[*i].ack < block->cut && !join->acks.at[*i].joined)
            return &join->acks.at[*i];
    return NULL;
}

/* The next acknowledgement below the cut that reached the sender, from *i on; NULL at the end. */
static struct pl_arrival *next_arrived(const struct pl_block *block, size_t *i)
{
    struct pl_arrivals *arrivals = &block->join->acks_arrived;
    for (; (*i = pl_lowest_below(&arrivals->lowest, *i, arrivals->list.n, block->cut)) < arrivals->list.n; ++*i)
        if (arrivals->list.at[*i].number < block->cut && !arrivals->list.at[*i].taken)
            return &arrivals->list.at[*i];
    return NULL;
}

/* Joins an acknowledgement at once if it was sent once and arrived once. block.c does the same with parts. */
static bool join_plain(struct pl_join *join, struct pl_ack *ack, struct pl_arrival *arrival)
{
    bool plain = ack && arrival && ack->ack == arrival->number && ack->parts == 1 && arrival->t_ns >= ack->t_sent_ns &&
                 join->t->ends == PL_BOTH_ENDS && !join->t->box && !join->by_borders;
    if (!plain)
        return false;
    ack->t_received_ns = arrival->t_ns;
    ack->joined = arrival->taken = true;
    if (ack->t_received_ns - ack->t_sent_ns < join->acks_min_delay_ns)
        join->acks_min_delay_ns = ack->t_received_ns - ack->t_sent_ns;
    return true;
}

/* Joins the plain acknowledgements below the cut, and makes pieces of the others. */
static int collect_acks(struct pl_block *block)
{
    struct pl_stretches again = {.list.n = 0};
    size_t s = block->join->acks_written, a = block->join->acks_arrived.first, touched = 0;
    int result = pl_stretches_take(&block->join->acks_again, block->cut, &again);
    block->sent.n = block->received.n = 0;
    while (result == 0) {
        struct pl_ack *ack = next_ack(block, &s);
        struct pl_arrival *arrival = next_arrived(block, &a);
        uint64_t sent = !ack ? UINT64_MAX : ack->again ? 0 : ack->ack;
        uint64_t arrived = !arrival ? UINT64_MAX : arrival->again ? 0 : arrival->number;
        if (!ack && !arrival)
            break;
        if (sent == arrived && sent > 0 && !pl_stretches_touch(&again, &touched, sent, sent + 1) &&
            join_plain(block->join, ack, arrival)) {
            s++;
            a++;
            continue;
        }
        if (sent <= arrived)
            result = collect_ack(block, s++);
        if (result == 0 && arrived <= sent)
            result = collect_arrived(block, arrival), a++;
    }
    free(again.list.at);
    return result;
}

/* Finds when each acknowledgement reached the sender: when the first part of its packet did. Acknowledgements are
 * paired like data, with their number as the border. The owner of a piece that arrived is its time of arrival. */
int pl_block_acks(struct pl_block *block)
{
    struct pl_join *join = block->join;
    bool tokens = join->t->ack_ids || pl_flow_timestamps(join->t->flow);
    if (collect_acks(block) < 0 || pl_match(block->sent.at, block->sent.n, block->received.at, block->received.n,
                                            tokens, &join->acks_min_delay_ns) < 0)
        return -1;
    for (size_t i = 0; i < block->sent.n; i++) {
        struct pl_ack *ack = &join->acks.at[block->sent.at[i].owner];
        int64_t t_ns = (int64_t)block->sent.at[i].match;
        if (block->sent.at[i].match != PL_UNMATCHED && (ack->t_received_ns < 0 || t_ns < ack->t_received_ns))
            ack->t_received_ns = t_ns;
    }
    return 0;
}

/* Makes pieces of the packets below the cut in the box's record. The owner of a piece is its row in the record. */
static int take_seen(struct pl_block *block, struct pl_seen *seen, size_t *n)
{
    size_t kept = 0;
    block->received.n = 0;
    for (size_t i = 0; i < *n; i++) {
        struct pl_piece piece = {
            .start = seen[i].number, .t_ns = seen[i].t_ns, .owner = seen[i].row, .token = seen[i].len};
        if (seen[i].number >= block->cut)
            seen[kept++] = seen[i];
        else if (PL_APPEND(&block->received, piece) < 0)
            return -1;
    }
    *n = kept;
    return 0;
}

/* Finds what the box did with each data part. Packets of data leave their host and enter the box one by one, with the
 * same sequence numbers and nearly always the same number of packets and the same order. So pl_match pairs them, with
 * the length as the token. A part that the path cut into smaller ones still pairs by its first byte. */
int pl_block_parts_seen(struct pl_block *block)
{
    struct pl_join *join = block->join;
    block->sent.n = 0;
    for (size_t i = 0; i < block->members.n; i++) {
        const struct pl_segment *segment = pl_block_segment(block, &block->members.at[i]);
        struct pl_piece piece = {.start = segment->seq, .t_ns = segment->t_sent_ns, .owner = i, .token = segment->len};
        if (PL_APPEND(&block->sent, piece) < 0)
            return -1;
    }
    if (take_seen(block, join->parts_seen.at, &join->parts_seen.n) < 0 ||
        pl_match(block->sent.at, block->sent.n, block->received.at, block->received.n, true, &join->parts_min_seen_ns) <
            0)
        return -1;
    for (size_t i = 0; i < block->sent.n; i++) {
        struct pl_member *member = &block->members.at[block->sent.at[i].owner];
        struct pl_segment *segment = pl_block_segment(block, member);
        if (block->sent.at[i].match == PL_UNMATCHED)
            continue;
        struct pl_box_row row = pl_box_row(join->t->box, (uint32_t)block->sent.at[i].match);
        segment->box_fate = row.fate;
        segment->t_box_in_ns = row.t_in_ns;
        segment->t_box_exit_ns = row.t_exit_ns;
        segment->t_box_out_ns = row.t_out_ns;
        member->corrupted = row.corrupted;
    }
    block->sent.n = block->received.n = 0;
    return 0;
}

/* True when the box's row is better evidence of an acknowledgement than the row found so far. The best row is the first
 * part that the box let pass, else the first part of all. */
static bool tells_more(const struct pl_box_row *row, const struct pl_ack *ack)
{
    if (ack->box_fate == PL_NO_FATE || pl_box_dropped(ack->box_fate) != pl_box_dropped(row->fate))
        return ack->box_fate == PL_NO_FATE || pl_box_dropped(ack->box_fate);
    return row->t_in_ns < ack->t_box_in_ns;
}

/* Finds what the box did with each acknowledgement. They are paired by number alone. */
int pl_block_acks_seen(struct pl_block *block)
{
    struct pl_join *join = block->join;
    if (collect_acks(block) < 0 || take_seen(block, join->acks_seen.at, &join->acks_seen.n) < 0 ||
        pl_match(block->sent.at, block->sent.n, block->received.at, block->received.n, false, &join->acks_min_seen_ns) <
            0)
        return -1;
    for (size_t i = 0; i < block->sent.n; i++) {
        struct pl_ack *ack = &join->acks.at[block->sent.at[i].owner];
        if (block->sent.at[i].match == PL_UNMATCHED)
            continue;
        struct pl_box_row row = pl_box_row(join->t->box, (uint32_t)block->sent.at[i].match);
        if (!tells_more(&row, ack))
            continue;
        ack->box_fate = row.fate;
        ack->t_box_in_ns = row.t_in_ns;
        ack->t_box_out_ns = row.t_out_ns;
    }
    return 0;
}
