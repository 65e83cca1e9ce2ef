/* Implements join.h: takes packets in, decides when a block is joined, and writes joined rows. */
#include "join.h"

#include <string.h>

enum { PARTS_MAX = 1024, COMPACT_FROM = 64, OPEN_MAX = 1500000, HELD_MAX = 300000 };
enum { SPARE = 4 }; /* up to 1 / SPARE of an array may be elements that are already written */
#define HORIZON_NS (2 * INT64_C(1000000000))
#define MARK_NS (HORIZON_NS / (PL_MARKS - 2))
#define EARLY_NS (1000 * INT64_C(1000)) /* see pl_join_box */
#define LATEST_NS                                                                                                      \
    (INT64_C(1) << 62) /* the range of times in captures; the record is foreign input and may hold any number */

struct pl_join *pl_join_new(struct pl_transfer *transfer, size_t *open)
{
    struct pl_join *join = calloc(1, sizeof *join);
    if (!join)
        return NULL;
    join->t = transfer;
    join->open = open;
    join->parts_min_delay_ns = join->acks_min_delay_ns = join->parts_min_seen_ns = join->acks_min_seen_ns = INT64_MAX;
    pl_tally_begin(&join->tally, transfer);
    return join;
}

void pl_join_free(struct pl_join *join)
{
    if (!join)
        return;
    pl_tally_free(&join->tally);
    free(join->segments.at);
    free(join->lowest_segments.at);
    free(join->acks.at);
    free(join->lowest_acks.at);
    free(join->parts_arrived.list.at);
    free(join->parts_arrived.lowest.at);
    free(join->acks_arrived.list.at);
    free(join->acks_arrived.lowest.at);
    free(join->parts_again.list.at);
    free(join->acks_again.list.at);
    free(join->parts_seen.at);
    free(join->acks_seen.at);
    free(join->shown.list.at);
    free(join);
}

/* The payload of each part of a packet with data. */
static uint32_t step_of(const struct pl_transfer *t, const struct pl_row *row)
{
    uint32_t step = row->part_len ? row->part_len : t->mss_option ? pl_part_len(t->mss_option, row->options) : row->len;
    if (row->len / step >= PARTS_MAX) /* No real packet has so many parts. This bounds the work per packet. */
        step = row->len / (PARTS_MAX - 1) + 1;
    return step;
}

bool pl_part_of(const struct pl_transfer *t, const struct pl_row *row, uint32_t i, struct pl_arrival *part)
{
    uint32_t step = step_of(t, row);
    uint64_t offset = (uint64_t)i * step;
    if (offset >= row->len)
        return false;
    uint64_t left = row->len - offset;
    *part = (struct pl_arrival){
        .number = row->seq + offset,
        .frame = row->frame,
        .t_ns = row->t_ns,
        .len = left < step ? (uint32_t)left : step,
        .token = t->data_ids ? (uint16_t)(row->ip_id + i) : row->tsval,
        .ecn = row->ecn,
    };
    return true;
}

/* The token of an acknowledgement, in part `i` of its packet. */
static uint32_t ack_token(const struct pl_transfer *t, const struct pl_row *row, uint32_t i)
{
    return t->ack_ids ? (uint16_t)(row->ip_id + i) : row->tsval;
}

static uint16_t ack_parts(const struct pl_transfer *t, const struct pl_row *row)
{
    return row->len ? (uint16_t)((row->len - 1) / step_of(t, row) + 1) : 1;
}

/* Advances *high, the end of all octets so far. Sets *again if the octets begin below it; then it also adds them to the
 * stretches. Returns 0, or -1 without memory. */
static int note_again(struct pl_stretches *stretches, uint64_t *high, uint64_t start, uint64_t end, bool *again)
{
    *again = start < *high;
    *high = end > *high ? end : *high;
    return *again ? pl_stretches_add(stretches, start, end) : 0;
}

/* Takes an arrival that ends at `end`. Returns 0, or -1 without memory. */
static int arrive(struct pl_arrivals *arrivals, struct pl_arrival *arrival, uint64_t end,
                  struct pl_stretches *stretches)
{
    if (note_again(stretches, &arrivals->high, arrival->number, end, &arrival->again) < 0 ||
        pl_lowest_note(&arrivals->lowest, arrivals->list.n, arrival->number) < 0)
        return -1;
    return PL_APPEND(&arrivals->list, *arrival);
}

static int send_parts(struct pl_join *join, const struct pl_row *row)
{
    struct pl_arrival part;
    if (!join->first && !join->t->flow->side[join->t->dir].syn)
        join->first = row->seq;
    for (uint32_t i = 0; pl_part_of(join->t, row, i, &part); i++) {
        uint64_t end = part.number + part.len;
        struct pl_segment *segment = NULL;
        if (note_again(&join->parts_again, &join->high, part.number, end, &part.again) == 0 &&
            pl_lowest_note(&join->lowest_segments, join->segments.n, part.number) == 0)
            segment = PL_MORE(&join->segments);
        if (!segment)
            return -1;
        *segment = (struct pl_segment){
            .flow = join->t->number,
            .seq = part.number,
            .len = part.len,
            .token = part.token,
            .t_sent_ns = part.t_ns,
            .t_received_ns = -1,
            .delay_ns = -1,
            .t_acked_ns = -1,
            .rtt_ns = -1,
            .sender_frame = part.frame,
            .ecn_sent = part.ecn,
            .ecn_received = PL_NO_ECN,
            .transmission = 1,
            .box_fate = PL_NO_FATE,
            .t_box_in_ns = -1,
            .t_box_exit_ns = -1,
            .t_box_out_ns = -1,
            .again = part.again,
        };
        ++*join->open;
    }
    return 0;
}

/* The lowest beginning of the open parts that lie on both sides of `cut`; `cut` if there is none. */
static uint64_t lowest_across(const struct pl_join *join, uint64_t cut)
{
    uint64_t lowest = cut;
    const struct pl_arrivals *arrived = &join->parts_arrived;
    size_t sent_n = join->segments.n, arrived_n = arrived->list.n;
    for (size_t i = join->segments_written; (i = pl_lowest_below(&join->lowest_segments, i, sent_n, cut)) < sent_n;
         i++) {
        const struct pl_segment *segment = &join->segments.at[i];
        if (segment->seq < lowest && segment->seq + segment->len > cut && !segment->joined)
            lowest = segment->seq;
    }
    for (size_t i = arrived->first; (i = pl_lowest_below(&arrived->lowest, i, arrived_n, cut)) < arrived_n; i++) {
        const struct pl_arrival *part = &arrived->list.at[i];
        if (part->number < lowest && part->number + part->len > cut && !part->taken)
            lowest = part->number;
    }
    return lowest;
}

/* Releases the memory of a list's first elements when many of them are no longer needed. Groups stay whole. */
#define FORGET(list, first, lowest)                                                                                    \
    do {                                                                                                               \
        size_t gone_ = *(first) / PL_GROUP * PL_GROUP;                                                                 \
        if (*(first) >= COMPACT_FROM && *(first) * SPARE > (list)->n) {                                                \
            (list)->n -= gone_;                                                                                        \
            memmove((list)->at, (list)->at + gone_, (list)->n * sizeof *(list)->at);                                   \
            *(first) -= gone_;                                                                                         \
            pl_lowest_forget(lowest, gone_ / PL_GROUP);                                                                \
        }                                                                                                              \
    } while (0)

static void forget_taken(struct pl_arrivals *arrivals)
{
    while (arrivals->first < arrivals->list.n && arrivals->list.at[arrivals->first].taken)
        arrivals->first++;
    FORGET(&arrivals->list, &arrivals->first, &arrivals->lowest);
}

static int write_joined(struct pl_join *join, struct pl_tables *tables)
{
    size_t first = join->segments_written;
    for (; first < join->segments.n && join->segments.at[first].joined; first++)
        if (pl_tally_segment(&join->tally, &join->segments.at[first]) < 0)
            return -1;
    if (first > join->segments_written) /* otherwise the list may not exist */
        pl_tables_put_segments(tables, join->t, &join->segments.at[join->segments_written],
                               first - join->segments_written);
    *join->open -= first - join->segments_written;
    join->segments_written = first;
    FORGET(&join->segments, &join->segments_written, &join->lowest_segments);
    first = join->acks_written;
    while (first < join->acks.n && join->acks.at[first].joined)
        first++;
    if (first > join->acks_written)
        pl_tables_put_acks(tables, join->t, &join->acks.at[join->acks_written], first - join->acks_written);
    *join->open -= first - join->acks_written;
    join->acks_written = first;
    FORGET(&join->acks, &join->acks_written, &join->lowest_acks);
    forget_taken(&join->parts_arrived);
    forget_taken(&join->acks_arrived);
    return 0;
}

/* Joins the block below `cut`, up to which data is acknowledged. If this would divide a part, the cut is lowered. */
static int join_below(struct pl_join *join, uint64_t cut, struct pl_tables *tables)
{
    enum { TRIES = 16 };
    uint64_t lower = cut;
    for (int i = 0; i < TRIES && (lower = lowest_across(join, cut)) < cut; i++)
        cut = lower;
    if (lower < cut || cut <= join->joined)
        return 0; /* too many parts overlap at this cut; a later cut will be better */
    return pl_join_block(join, cut) < 0 ? -1 : write_joined(join, tables);
}

static int forget_mark(struct pl_join *join, struct pl_tables *tables)
{
    uint64_t cut = join->marks[0].acked;
    memmove(join->marks, join->marks + 1, --join->mark_n * sizeof *join->marks);
    return join_below(join, cut, tables);
}

static void add_mark(struct pl_join *join, int64_t now_ns)
{
    if (join->mark_n && now_ns - join->marks[join->mark_n - 1].t_ns < MARK_NS)
        return;
    if (join->mark_n == PL_MARKS) /* time ran backwards */
        join->mark_n--;
    join->marks[join->mark_n].t_ns = now_ns;
    join->marks[join->mark_n++].acked = join->acked;
}

static size_t open_of(const struct pl_join *join)
{
    return join->segments.n - join->segments_written + join->acks.n - join->acks_written;
}

/* Called when many elements are open. Joins the acknowledged data without waiting for the horizon, each time the number
 * of open elements has grown by a quarter. If more elements are open than any path holds, joins everything. */
static int force(struct pl_join *join, struct pl_tables *tables)
{
    if (open_of(join) < join->force_from)
        return 0;
    join->mark_n = 0;
    if (join_below(join, join->acked, tables) < 0)
        return -1;
    bool endless = *join->open > OPEN_MAX && join->segments.n - join->segments_written >= OPEN_MAX / 2;
    if (endless && pl_join_finish(join, tables) < 0)
        return -1;
    join->force_from = open_of(join) + open_of(join) / 4 + PL_GROUP;
    return 0;
}

/* Holds an acknowledgement until its block is joined. Returns 0, or -1 without memory. */
static int hold_ack(struct pl_join *join, const struct pl_row *row, uint64_t number, int64_t t_sent_ns,
                    int64_t t_received_ns)
{
    bool again;
    struct pl_ack *ack = NULL;
    if (note_again(&join->acks_again, &join->acks_high, number, number + 1, &again) == 0 &&
        pl_lowest_note(&join->lowest_acks, join->acks.n, number) == 0)
        ack = PL_MORE(&join->acks);
    if (!ack)
        return -1;
    *ack = (struct pl_ack){
        .flow = join->t->number,
        .ack = number,
        .t_sent_ns = t_sent_ns,
        .t_received_ns = t_received_ns,
        .window = row->window,
        .len = row->len,
        .box_fate = PL_NO_FATE,
        .t_box_in_ns = -1,
        .t_box_out_ns = -1,
        .ace = NC_TCP_ACE(row->flags),
        .again = again,
        .parts = ack_parts(join->t, row),
        .token = ack_token(join->t, row, 0),
    };
    ++*join->open;
    return 0;
}

/* Handles an acknowledgement if there is no receiver's capture. Then only acknowledgements show what arrived. */
static int take_word(struct pl_join *join, const struct pl_row *row)
{
    bool shows = !(row->flags & (NC_TCP_SYN | NC_TCP_RST));
    if (shows && pl_shown_add(&join->shown, row, join->acked, join->high, join->t->mss) < 0)
        return -1;
    return hold_ack(join, row, row->ack, -1, row->t_ns);
}

static int receive_ack(struct pl_join *join, const struct pl_row *row, struct pl_tables *tables)
{
    bool alone = join->t->ends != PL_BOTH_ENDS;
    if (alone && take_word(join, row) < 0)
        return -1;
    for (uint32_t i = 0; !alone && i < ack_parts(join->t, row); i++) {
        struct pl_arrival ack = {
            .number = row->ack, .frame = row->frame, .t_ns = row->t_ns, .token = ack_token(join->t, row, i)};
        if (arrive(&join->acks_arrived, &ack, ack.number + 1, &join->acks_again) < 0)
            return -1;
    }
    if (row->ack > join->acked) {
        join->acked = row->ack;
        add_mark(join, row->t_ns);
    }
    if (join->mark_n && row->t_ns - join->marks[0].t_ns >= HORIZON_NS)
        return forget_mark(join, tables);
    return 0;
}

/* True for a keep-alive with an octet of garbage (RFC 1122, 4.2.3.6): all data sent is acknowledged, and the packet has
 * the number of the last octet. No segment is written for it, and the walk skips packets without segments. */
static bool is_keep_alive(const struct pl_join *join, const struct pl_row *row)
{
    return row->len == 1 && row->seq + 1 == join->high && join->acked >= join->high;
}

/* True for a packet that probes a closed window (RFC 9293, 3.8.6.1): nothing is outstanding, and the packet carries the
 * next octet, for which the window has no room. The receiver drops such a probe and the sender repeats it, so the probe
 * does not count as data. */
static bool is_window_probe(const struct pl_join *join, const struct pl_row *row)
{
    return join->closed && row->seq == join->acked && row->seq >= join->high;
}

/* Decides that the probe was data after all, when it is acknowledged or when data after it follows. */
static int end_probe(struct pl_join *join, uint64_t taken)
{
    bool data = join->probing && taken > join->probe.seq;
    join->probing = false;
    return data ? send_parts(join, &join->probe) : 0;
}

static int send_data(struct pl_join *join, const struct pl_row *row)
{
    if (is_keep_alive(join, row))
        return 0;
    if (end_probe(join, row->seq) < 0)
        return -1;
    if (!is_window_probe(join, row))
        return send_parts(join, row);
    join->probe = *row;
    join->probing = true;
    return 0;
}

int pl_join_sender(struct pl_join *join, const struct pl_row *row, struct pl_tables *tables)
{
    struct pl_transfer *t = join->t;
    bool is_ack = row->dir != t->dir && row->ack < UINT64_MAX / 4;
    if (pl_tally_packet(&join->tally, row) < 0)
        return -1;
    if (pl_is_data(row, t->dir) && send_data(join, row) < 0)
        return -1;
    if (is_ack && row->ack >= join->acked) {
        join->closed = row->window == 0 && !(row->flags & NC_TCP_SYN);
        if (join->probing && row->ack > join->probe.seq && end_probe(join, row->ack) < 0)
            return -1;
    }
    if (is_ack && receive_ack(join, row, tables) < 0)
        return -1;
    return *join->open > HELD_MAX ? force(join, tables) : 0;
}

int pl_join_receiver(struct pl_join *join, const struct pl_row *row)
{
    struct pl_transfer *t = join->t;
    struct pl_arrival part;
    bool data = pl_is_data(row, t->receiver_dir) && row->seq + (uint64_t)t->delta < UINT64_MAX / 4;
    t->marks.ce_received += row->dir == t->receiver_dir && !data && row->ecn == NC_CE; /* parts count when joined */
    if (data)
        for (uint32_t i = 0; pl_part_of(t, row, i, &part); i++) {
            part.number += (uint64_t)t->delta;
            if (arrive(&join->parts_arrived, &part, part.number + part.len, &join->parts_again) < 0)
                return -1;
        }
    uint64_t number = row->ack + (uint64_t)t->delta;
    if (row->dir == t->receiver_dir || row->ack >= UINT64_MAX / 4 || number >= UINT64_MAX / 4)
        return 0;
    return hold_ack(join, row, number, row->t_ns, -1);
}

/* The box corrects the time of an arrival for its own late wake-up. So the recorded arrival may be up to EARLY_NS
 * earlier than the departure from the host. */
int pl_join_box(struct pl_join *join, uint32_t number)
{
    const struct pl_transfer *t = join->t;
    struct pl_box_row row = pl_box_row(t->box, number);
    bool data = row.dir == t->box_dir;
    if (pl_lateness_add(&join->t->lateness, data, row.t_due_ns, row.t_released_ns) < 0)
        return -1;
    join->t->marks.box_marked += data && row.marked;
    if (row.t_in_ns < 0 || row.t_in_ns > LATEST_NS || (data ? row.len == 0 : row.ack == PL_NO_ACK))
        return 0;
    struct pl_seen seen = {
        .number = (data ? row.seq : row.ack) + (uint64_t)t->box_delta,
        .t_ns = row.t_in_ns + EARLY_NS,
        .row = number,
        .len = data ? row.len : 0,
    };
    if (seen.number >= UINT64_MAX / 4)
        return 0;
    return data ? PL_APPEND(&join->parts_seen, seen) : PL_APPEND(&join->acks_seen, seen);
}

int pl_join_finish(struct pl_join *join, struct pl_tables *tables)
{
    return pl_join_block(join, UINT64_MAX) < 0 ? -1 : write_joined(join, tables);
}
