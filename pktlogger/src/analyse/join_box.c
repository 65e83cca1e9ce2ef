/* Finds what the box did with each data part and each acknowledgement. Both leave their host and enter the box wire
 * packet by wire packet with the same sequence or acknowledgement number, nearly always as many and in the same order.
 * So pl_match pairs them, data with their length as token; a part that was cut anew on the way still pairs by its first
 * byte. The box dates an arrival back by the time that it took to wake up, so the recorded arrival may be a little
 * earlier than the departure from the host: up to EARLY_NS. */
#include "transfer.h"

#include <stdlib.h>

#include "match.h"

#define EARLY_NS (1000 * INT64_C(1000))
#define LATEST_NS (INT64_C(1) << 62) /* as in captures; the record is foreign input and may hold any number */

typedef PL_VECTOR(struct pl_piece) pieces;

/* Collects the box's packets that carry data, or that acknowledge. The owner of a piece is its row of the record. */
static int collect_box(const struct pl_transfer *t, bool data, pieces *list)
{
    for (size_t k = t->box->first[t->box_flow]; k < t->box->first[t->box_flow + 1]; k++) {
        struct pl_box_row row = pl_box_row(t->box, t->box->order[k]);
        uint64_t number = (data ? row.seq : row.ack) + (uint64_t)t->box_delta;
        if (row.t_in_ns < 0 || row.t_in_ns > LATEST_NS)
            continue;
        if ((row.dir == t->box_dir) != data || (data ? row.len == 0 : row.ack == PL_NO_ACK) || number >= UINT64_MAX / 4)
            continue;
        struct pl_piece piece = {
            .start = number, .t_ns = row.t_in_ns + EARLY_NS, .owner = t->box->order[k], .token = data ? row.len : 0};
        if (PL_APPEND(list, piece) < 0)
            return -1;
    }
    return 0;
}

static int join_data(struct pl_transfer *t, pieces *sent, pieces *seen)
{
    for (size_t i = 0; i < t->segments.n; i++) {
        const struct pl_segment *segment = &t->segments.at[i];
        struct pl_piece piece = {.start = segment->seq, .t_ns = segment->t_sent_ns, .owner = i, .token = segment->len};
        if (PL_APPEND(sent, piece) < 0)
            return -1;
    }
    if (collect_box(t, true, seen) < 0 || pl_match(sent->at, sent->n, seen->at, seen->n, true) < 0)
        return -1;
    for (size_t i = 0; i < sent->n; i++) {
        struct pl_segment *segment = &t->segments.at[sent->at[i].owner];
        if (sent->at[i].match == PL_UNMATCHED)
            continue;
        struct pl_box_row row = pl_box_row(t->box, (uint32_t)sent->at[i].match);
        segment->box_fate = row.fate;
        segment->t_box_in_ns = row.t_in_ns;
        segment->t_box_exit_ns = row.t_exit_ns;
        segment->t_box_out_ns = row.t_out_ns;
    }
    return 0;
}

static int join_acks(struct pl_transfer *t, pieces *sent, pieces *seen)
{
    for (size_t i = 0; i < t->acks.n; i++) {
        struct pl_piece piece = {.start = t->acks.at[i].ack, .t_ns = t->acks.at[i].t_sent_ns, .owner = i};
        if (PL_APPEND(sent, piece) < 0)
            return -1;
    }
    if (collect_box(t, false, seen) < 0 || pl_match(sent->at, sent->n, seen->at, seen->n, false) < 0)
        return -1;
    for (size_t i = 0; i < sent->n; i++) {
        struct pl_ack *ack = &t->acks.at[sent->at[i].owner];
        if (sent->at[i].match == PL_UNMATCHED)
            continue;
        struct pl_box_row row = pl_box_row(t->box, (uint32_t)sent->at[i].match);
        ack->box_fate = row.fate;
        ack->t_box_in_ns = row.t_in_ns;
        ack->t_box_out_ns = row.t_out_ns;
    }
    return 0;
}

static void nothing_known(struct pl_transfer *t)
{
    for (size_t i = 0; i < t->segments.n; i++) {
        struct pl_segment *segment = &t->segments.at[i];
        segment->box_fate = PL_NO_FATE;
        segment->t_box_in_ns = segment->t_box_exit_ns = segment->t_box_out_ns = -1;
    }
    for (size_t i = 0; i < t->acks.n; i++) {
        struct pl_ack *ack = &t->acks.at[i];
        ack->box_fate = PL_NO_FATE;
        ack->t_box_in_ns = ack->t_box_out_ns = -1;
    }
}

int pl_join_box(struct pl_transfer *t)
{
    pieces sent = {0}, seen = {0};
    int result = 0;
    nothing_known(t);
    if (t->box) {
        result = join_data(t, &sent, &seen);
        sent.n = seen.n = 0;
        if (result == 0)
            result = join_acks(t, &sent, &seen);
    }
    for (size_t i = 0; t->box && i < t->segments.n; i++)
        t->box_fates[t->segments.at[i].box_fate]++;
    free(sent.at);
    free(seen.at);
    return result;
}
