/* Joins one block of a connection (join.h): all open parts and acknowledgements below a cut.
 *
 * Most parts are plain. They were sent once and in order, arrived once and in order, and have the same borders in both
 * captures, and no other part overlaps them. A plain part sent and a plain part received form a pair, which is joined
 * at once. The following steps handle the remaining parts.
 * Parts are cut into pieces at every border of any part in either capture. The resulting pieces are the same in both
 * captures and are paired by pl_match. A part has arrived when all its pieces have arrived.
 * Overlapping parts could be cut into quadratically many pieces. A budget limits the number of pieces, and `unresolved`
 * counts the parts that are left out. */
#include "block.h"

#include "sort.h"

enum { PIECES_A_PART = 8, PIECES_SPARE = 4096 };

static int add_borders(struct pl_block *block, uint64_t start, uint64_t end)
{
    size_t n = block->borders.n;
    if ((n == 0 || block->borders.at[n - 1] != start) && PL_APPEND(&block->borders, start) < 0)
        return -1;
    return PL_APPEND(&block->borders, end);
}

static int collect_part(struct pl_block *block, size_t i)
{
    const struct pl_segment *segment = &block->join->segments.at[i];
    struct pl_member member = {.segment = i};
    return PL_APPEND(&block->members, member) < 0 ? -1 : add_borders(block, segment->seq, segment->seq + segment->len);
}

static int collect_arrival(struct pl_block *block, struct pl_arrival *part)
{
    part->taken = true;
    return PL_APPEND(&block->arrivals, *part) < 0 ? -1 : add_borders(block, part->number, part->number + part->len);
}

/* A part that no other part overlaps is counted as sent once and arrived once. */
static void join_plain(struct pl_join *join, struct pl_segment *segment, struct pl_arrival *arrival)
{
    segment->t_received_ns = arrival->t_ns;
    segment->delay_ns = arrival->t_ns - segment->t_sent_ns;
    segment->receiver_frame = arrival->frame;
    segment->ecn_received = arrival->ecn;
    segment->sent_once = segment->seq >= join->first;
    segment->transmission += segment->seq < join->first;
    segment->joined = arrival->taken = true;
    if (segment->delay_ns < join->parts_min_delay_ns)
        join->parts_min_delay_ns = segment->delay_ns;
}

/* Iterates over the parts below the cut, in order of sending and of arrival. */
struct parts {
    struct pl_block *block;
    struct pl_stretches again; /* octets that were not both sent and received once and in order */
    size_t touched;            /* cursor in `again` */
    size_t sent, arrived;      /* indexes of the next part sent and of the next part received */
    uint64_t clear;            /* the parts collected so far end at or below this number */
};

/* Finds the next part that was sent and lies after all parts before it in the stream; NULL at the end. Collects the
 * parts that it skips. */
static int next_sent(struct parts *parts, struct pl_segment **next)
{
    struct pl_join *join = parts->block->join;
    uint64_t cut = parts->block->cut;
    size_t n = join->segments.n;
    for (; (parts->sent = pl_lowest_below(&join->lowest_segments, parts->sent, n, cut)) < n; parts->sent++) {
        *next = &join->segments.at[parts->sent];
        if ((*next)->seq >= cut || (*next)->joined)
            continue;
        if (!(*next)->again)
            return 0;
        if (collect_part(parts->block, parts->sent) < 0)
            return -1;
    }
    *next = NULL;
    return 0;
}

/* The same for the parts that arrived. */
static int next_arrived(struct parts *parts, struct pl_arrival **next)
{
    struct pl_arrivals *arrivals = &parts->block->join->parts_arrived;
    uint64_t cut = parts->block->cut;
    size_t n = arrivals->list.n;
    for (; (parts->arrived = pl_lowest_below(&arrivals->lowest, parts->arrived, n, cut)) < n; parts->arrived++) {
        *next = &arrivals->list.at[parts->arrived];
        if ((*next)->number >= cut || (*next)->taken)
            continue;
        if (!(*next)->again)
            return 0;
        if (collect_arrival(parts->block, *next) < 0)
            return -1;
    }
    *next = NULL;
    return 0;
}

static bool is_plain(struct parts *parts, const struct pl_segment *segment, const struct pl_arrival *arrival)
{
    return segment->seq == arrival->number && segment->len == arrival->len && segment->seq >= parts->clear &&
           arrival->t_ns >= segment->t_sent_ns &&
           !pl_stretches_touch(&parts->again, &parts->touched, segment->seq, segment->seq + segment->len);
}

/* Collects the part that ends first of the two, or both if they end together, because they do not form a plain pair. */
static int collect_first(struct parts *parts, const struct pl_segment *segment, struct pl_arrival *arrival)
{
    uint64_t sent_end = segment ? segment->seq + segment->len : UINT64_MAX;
    uint64_t arrived_end = arrival ? arrival->number + arrival->len : UINT64_MAX;
    uint64_t end = sent_end < arrived_end ? sent_end : arrived_end;
    if (sent_end == end && collect_part(parts->block, parts->sent++) < 0)
        return -1;
    if (arrived_end == end) {
        parts->arrived++;
        if (collect_arrival(parts->block, arrival) < 0)
            return -1;
    }
    parts->clear = end > parts->clear ? end : parts->clear;
    return 0;
}

/* Joins the plain parts below the cut, which are nearly all parts, and collects the others. */
static int collect_parts(struct pl_block *block)
{
    struct pl_join *join = block->join;
    struct parts parts = {
        .block = block, .sent = join->segments_written, .arrived = join->parts_arrived.first, .clear = join->joined};
    bool plain = join->t->ends == PL_BOTH_ENDS && !join->t->box && !join->by_borders;
    struct pl_segment *segment;
    struct pl_arrival *arrival;
    int result = pl_stretches_take(&join->parts_again, block->cut, &parts.again);
    while (result == 0) {
        if (next_sent(&parts, &segment) < 0 || next_arrived(&parts, &arrival) < 0)
            result = -1;
        else if (plain && segment && arrival && is_plain(&parts, segment, arrival)) {
            join_plain(join, segment, arrival);
            parts.sent++;
            parts.arrived++;
        } else if (segment || arrival)
            result = collect_first(&parts, segment, arrival);
        else
            break;
    }
    free(parts.again.list.at);
    return result;
}

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static int sort_borders(struct pl_block *block)
{
    uint64_t *at = block->borders.at;
    size_t kept = 0, n = block->borders.n;
    if (pl_sort(at, n, sizeof *at, compare_u64) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || at[i] != at[kept - 1])
            at[kept++] = at[i];
    block->borders.n = kept;
    block->budget = PIECES_A_PART * kept + PIECES_SPARE;
    return 0;
}

/* The index of the border at `number`. `likely` is a guess of that index. */
static size_t border_at(const struct pl_block *block, uint64_t number, size_t likely)
{
    size_t low = 0, high = block->borders.n;
    if (likely < high && block->borders.at[likely] == number)
        return likely;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (block->borders.at[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Cuts a part into pieces and appends them to `pieces`, unless that is NULL. *border is the index of the border where
 * the part begins; afterwards it is the index where the next part probably begins. Returns the number of pieces, 0 if
 * the budget is exceeded, or -1 without memory. */
static long cut_part(struct pl_block *block, pl_pieces *pieces, struct pl_piece piece, uint64_t end_number,
                     size_t *border)
{
    size_t first = border_at(block, piece.start, *border), end = border_at(block, end_number, first + 1);
    *border = first;
    if (end - first > block->budget)
        return 0;
    block->budget -= end - first;
    for (size_t b = first; pieces && b < end; b++) {
        struct pl_piece *cut = PL_MORE(pieces);
        if (!cut)
            return -1;
        *cut = (struct pl_piece){.start = b, .t_ns = piece.t_ns, .owner = piece.owner, .token = piece.token};
    }
    return (long)(end - first);
}

/* No arrival belongs to a copy that the box dropped by its record, so such a copy gets no pieces. */
static int cut_all(struct pl_block *block)
{
    size_t border = 0;
    for (size_t i = 0; i < block->members.n; i++) {
        struct pl_member *member = &block->members.at[i];
        const struct pl_segment *segment = pl_block_segment(block, member);
        struct pl_piece piece = {
            .start = segment->seq, .t_ns = segment->t_sent_ns, .owner = i, .token = segment->token};
        bool paired = !pl_box_dropped(segment->box_fate) && block->join->t->ends == PL_BOTH_ENDS;
        long pieces = cut_part(block, paired ? &block->sent : NULL, piece, segment->seq + segment->len, &border);
        if (pieces < 0)
            return -1;
        member->border = border;
        member->pieces = (size_t)pieces;
        border += member->pieces;
        block->join->t->unresolved += pieces == 0;
    }
    border = 0;
    for (size_t i = 0; i < block->arrivals.n; i++) {
        const struct pl_arrival *part = &block->arrivals.at[i];
        struct pl_piece piece = {.start = part->number, .t_ns = part->t_ns, .owner = i, .token = part->token};
        long pieces = cut_part(block, &block->received, piece, part->number + part->len, &border);
        if (pieces < 0)
            return -1;
        border += (size_t)pieces;
    }
    return 0;
}

/* A part arrives when its last piece arrives; its frame is that of its first piece. It is marked CE if any of its
 * pieces is. */
static void collect_arrivals(struct pl_block *block)
{
    for (size_t i = 0; i < block->sent.n; i++) { /* in order of borders */
        const struct pl_piece *piece = &block->sent.at[i];
        if (piece->match == PL_UNMATCHED)
            continue;
        struct pl_member *member = &block->members.at[piece->owner];
        struct pl_segment *segment = pl_block_segment(block, member);
        const struct pl_arrival *arrival = &block->arrivals.at[piece->match];
        if (arrival->t_ns > segment->t_received_ns)
            segment->t_received_ns = arrival->t_ns;
        if (member->arrived++ == 0)
            segment->receiver_frame = arrival->frame;
        if (segment->ecn_received != NC_CE)
            segment->ecn_received = arrival->ecn;
    }
    for (size_t i = 0; i < block->members.n; i++) {
        const struct pl_member *member = &block->members.at[i];
        struct pl_segment *segment = pl_block_segment(block, member);
        if (member->pieces && member->arrived == member->pieces)
            segment->delay_ns = segment->t_received_ns - segment->t_sent_ns;
        else {
            segment->t_received_ns = -1;
            segment->receiver_frame = 0;
            segment->ecn_received = PL_NO_ECN;
        }
        if (member->corrupted) /* the receiver's TCP dropped this arrival (pl_corrupted) */
            segment->t_received_ns = segment->delay_ns = -1;
    }
}

/* How often the bytes between two borders were sent, and whether they have arrived. */
struct copies {
    uint16_t n;
    bool arrived;
};

static void count_part(struct copies *copies, const struct pl_member *member, uint64_t first,
                       struct pl_segment *segment)
{
    uint16_t before = 0;
    segment->repeats = member->pieces > 0;
    for (size_t b = member->border; b < member->border + member->pieces; b++) {
        before = copies[b].n > before ? copies[b].n : before;
        segment->repeats = segment->repeats && copies[b].arrived;
        copies[b].n += copies[b].n < UINT16_MAX - 1;
        copies[b].arrived = copies[b].arrived || segment->t_received_ns >= 0;
    }
    segment->transmission = (uint16_t)(before + 1 + (segment->seq < first));
}

/* Finds the parts that the receiver's capture missed: their bytes were acknowledged, but no copy is in the capture. Of
 * several copies, the last one that is not known to have been dropped counts as missed. */
static void find_unseen(struct pl_block *block, struct copies *copies)
{
    const struct pl_join *join = block->join;
    const uint64_t *borders = block->borders.at;
    for (size_t i = block->members.n; i-- > 0;) {
        const struct pl_member *member = &block->members.at[i];
        struct pl_segment *segment = pl_block_segment(block, member);
        if (segment->t_received_ns >= 0 || segment->receiver_frame || pl_box_dropped(segment->box_fate))
            continue;
        for (size_t b = member->border; b < member->border + member->pieces; b++) {
            segment->unseen = segment->unseen || (!copies[b].arrived && borders[b + 1] <= join->acked);
            copies[b].arrived = copies[b].arrived || segment->unseen;
        }
    }
}

/* Counts for each segment how often its bytes were sent, and notes whether an earlier copy arrived. Bytes below this
 * block belong to earlier blocks: they were sent and acknowledged. */
static int count_copies(struct pl_block *block)
{
    struct pl_join *join = block->join;
    const uint64_t *borders = block->borders.at;
    struct copies *copies = calloc(block->borders.n + 1, sizeof *copies);
    if (!copies)
        return -1;
    for (size_t b = 0; b < block->borders.n && borders[b] < join->joined; b++)
        copies[b] = (struct copies){1, true};
    for (size_t i = 0; i < block->members.n; i++)
        count_part(copies, &block->members.at[i], join->first, pl_block_segment(block, &block->members.at[i]));
    for (size_t b = 0; b + 1 < block->borders.n; b++)
        if (copies[b].n && !copies[b].arrived && borders[b + 1] <= join->acked)
            join->t->acked_unseen_bytes += borders[b + 1] - borders[b];
    find_unseen(block, copies);
    for (size_t i = 0; i < block->members.n; i++) {
        const struct pl_member *member = &block->members.at[i];
        struct pl_segment *segment = pl_block_segment(block, member);
        segment->sent_once = member->pieces > 0 && segment->seq >= join->first;
        for (size_t b = member->border; b < member->border + member->pieces; b++)
            segment->sent_once = segment->sent_once && copies[b].n == 1;
        segment->joined = true;
    }
    free(copies);
    return 0;
}

static int join_parts(struct pl_block *block)
{
    struct pl_join *join = block->join;
    bool tokens = join->t->data_ids || pl_flow_timestamps(join->t->flow);
    if (collect_parts(block) < 0 || sort_borders(block) < 0 || (join->t->box && pl_block_parts_seen(block) < 0) ||
        cut_all(block) < 0)
        return -1;
    if (join->t->ends != PL_BOTH_ENDS)
        return pl_block_shown(block);
    if (pl_match(block->sent.at, block->sent.n, block->received.at, block->received.n, tokens,
                 &join->parts_min_delay_ns) < 0)
        return -1;
    collect_arrivals(block);
    return count_copies(block);
}

int pl_join_block(struct pl_join *join, uint64_t cut)
{
    struct pl_block block = {.join = join, .cut = cut};
    int result = join_parts(&block);
    if (result == 0 && join->t->ends == PL_BOTH_ENDS)
        result = pl_block_acks(&block);
    else
        join->acks_again.list.n = 0; /* nothing is paired */
    if (result == 0 && join->t->box)
        result = pl_block_acks_seen(&block);
    for (size_t i = join->acks_written; (i = pl_lowest_below(&join->lowest_acks, i, join->acks.n, cut)) < join->acks.n;
         i++)
        join->acks.at[i].joined = join->acks.at[i].joined || join->acks.at[i].ack < cut;
    if (cut != UINT64_MAX && cut > join->joined)
        join->joined = cut;
    free(block.members.at);
    free(block.arrivals.at);
    free(block.borders.at);
    free(block.sent.at);
    free(block.received.at);
    return result;
}
