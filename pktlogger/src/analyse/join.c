/* Finds the parts that were sent and when each arrived.
 *
 * Both captures may show super-packets, but with different borders: segmentation offload at the sender, GRO at the
 * receiver, and a box in between that splits them. So the packets of both captures are first split into wire parts by
 * the MSS in use, and the parts into pieces at every border of any part in either capture. The resulting pieces are the
 * same in both captures and are paired by pl_match. A part has arrived when all its pieces have arrived.
 * The token of a part is its IPv4 identification, which Linux increases by one for each part of a super-packet; RFC
 * 6864 allows any number. Where the identification is absent (IPv6) or always zero, the token is the TCP timestamp.
 * Without either only the order remains.
 * Overlapping parts could be cut into quadratically many pieces. A budget limits this; `unresolved` counts the parts
 * that are left out. */
#include "transfer.h"

#include <stdlib.h>

#include "match.h"

enum { PARTS_MAX = 1024, PIECES_A_PART = 8, PIECES_SPARE = 4096 };
enum token_kind { TOKEN_NONE, TOKEN_IP_ID, TOKEN_TIMESTAMP };

struct part {
    uint64_t seq;
    uint32_t len;
    uint32_t token;
};

struct join {
    struct pl_transfer *transfer;
    enum token_kind token;
    PL_VECTOR(uint64_t) borders; /* ascending, each once, after sort_borders() */
    PL_VECTOR(struct pl_piece) sent, received;
    size_t budget;
    uint32_t *got; /* for each segment, the number of its pieces that arrived */
};

/* Makes part i of a packet; false when there is none. */
static bool part_of(const struct join *join, const struct pl_packet *packet, uint64_t seq, uint32_t i,
                    struct part *part)
{
    uint32_t step = join->transfer->mss ? join->transfer->mss : packet->len;
    if (packet->len / step >= PARTS_MAX) /* no real packet has so many; this bounds the work of one packet */
        step = packet->len / (PARTS_MAX - 1) + 1;
    uint64_t offset = (uint64_t)i * step;
    if (offset >= packet->len)
        return false;
    uint64_t left = packet->len - offset;
    *part = (struct part){.seq = seq + offset, .len = left < step ? (uint32_t)left : step};
    if (join->token == TOKEN_IP_ID)
        part->token = (uint16_t)(packet->ip_id + i);
    else if (join->token == TOKEN_TIMESTAMP)
        part->token = packet->tsval;
    return true;
}

/* Translates the sequence number of the receiver's packet into the sender's. False when the packet has no data or no
 * usable number. */
static bool received_seq(const struct pl_transfer *transfer, const struct pl_packet *packet, uint64_t *seq)
{
    if (!pl_is_data(packet, transfer->receiver_dir))
        return false;
    *seq = packet->seq + (uint64_t)transfer->delta;
    return *seq < UINT64_MAX / 4;
}

static bool any_id(const struct pl_packet *packets, size_t n, unsigned dir)
{
    for (size_t i = 0; i < n; i++)
        if (pl_is_data(&packets[i], dir) && packets[i].ip_id)
            return true;
    return false;
}

static enum token_kind choose_token(const struct pl_transfer *t)
{
    if (any_id(t->sender, t->sender_n, t->dir) && any_id(t->receiver, t->receiver_n, t->receiver_dir))
        return TOKEN_IP_ID;
    return pl_flow_timestamps(t->flow) ? TOKEN_TIMESTAMP : TOKEN_NONE;
}

static int add_borders(struct join *join, const struct part *part)
{
    return PL_APPEND(&join->borders, part->seq) || PL_APPEND(&join->borders, part->seq + part->len) ? -1 : 0;
}

static int take_apart_sent(struct join *join)
{
    struct pl_transfer *t = join->transfer;
    struct part part;
    for (size_t i = 0; i < t->sender_n; i++) {
        const struct pl_packet *packet = &t->sender[i];
        for (uint32_t k = 0; pl_is_data(packet, t->dir) && part_of(join, packet, packet->seq, k, &part); k++) {
            struct pl_segment segment = {
                .flow = t->number,
                .seq = part.seq,
                .len = part.len,
                .token = part.token,
                .t_sent_ns = packet->t_ns,
                .t_received_ns = -1,
                .delay_ns = -1,
                .sender_frame = packet->frame,
                .transmission = 1,
            };
            if (PL_APPEND(&t->segments, segment) < 0 || add_borders(join, &part) < 0)
                return -1;
        }
    }
    return 0;
}

static int add_received_borders(struct join *join)
{
    const struct pl_transfer *t = join->transfer;
    struct part part;
    uint64_t seq;
    for (size_t i = 0; i < t->receiver_n; i++)
        for (uint32_t k = 0; received_seq(t, &t->receiver[i], &seq) && part_of(join, &t->receiver[i], seq, k, &part);
             k++)
            if (add_borders(join, &part) < 0)
                return -1;
    return 0;
}

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static void sort_borders(struct join *join)
{
    size_t kept = 0, n = join->borders.n;
    uint64_t *at = join->borders.at;
    if (n > 1)
        qsort(at, n, sizeof *at, compare_u64);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || at[i] != at[kept - 1])
            at[kept++] = at[i];
    join->borders.n = kept;
}

/* The index of the border at `seq`. */
static size_t border_at(const struct join *join, uint64_t seq)
{
    size_t low = 0, high = join->borders.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (join->borders.at[middle] < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Cuts a part into pieces. Returns their number, 0 when they exceed the budget, -1 without memory. */
static long cut(struct join *join, bool sent, const struct part *part, int64_t t_ns, uint64_t owner)
{
    size_t first = border_at(join, part->seq), end = border_at(join, part->seq + part->len);
    if (end - first > join->budget)
        return 0;
    join->budget -= end - first;
    for (size_t b = first; b < end; b++) {
        struct pl_piece piece = {.start = b, .t_ns = t_ns, .owner = owner, .token = part->token};
        if ((sent ? PL_APPEND(&join->sent, piece) : PL_APPEND(&join->received, piece)) < 0)
            return -1;
    }
    return (long)(end - first);
}

static int cut_sent(struct join *join)
{
    struct pl_transfer *t = join->transfer;
    for (size_t i = 0; i < t->segments.n; i++) {
        struct pl_segment *segment = &t->segments.at[i];
        struct part part = {segment->seq, segment->len, segment->token};
        long pieces = cut(join, true, &part, segment->t_sent_ns, i);
        if (pieces < 0)
            return -1;
        segment->border = border_at(join, segment->seq);
        segment->pieces = (size_t)pieces;
        t->unresolved += pieces == 0;
    }
    return 0;
}

static int cut_received(struct join *join)
{
    struct pl_transfer *t = join->transfer;
    struct part part;
    uint64_t seq;
    for (size_t i = 0; i < t->receiver_n; i++)
        for (uint32_t k = 0; received_seq(t, &t->receiver[i], &seq) && part_of(join, &t->receiver[i], seq, k, &part);
             k++)
            if (cut(join, false, &part, t->receiver[i].t_ns, i) < 0)
                return -1;
    return 0;
}

/* The arrival of a part is that of its last piece; its frame is that of its first piece. */
static int collect_arrivals(struct join *join)
{
    struct pl_transfer *t = join->transfer;
    join->got = calloc(t->segments.n + 1, sizeof *join->got);
    if (!join->got)
        return -1;
    for (size_t i = 0; i < join->sent.n; i++) { /* in order of borders */
        const struct pl_piece *piece = &join->sent.at[i];
        if (piece->match == PL_UNMATCHED)
            continue;
        struct pl_segment *segment = &t->segments.at[piece->owner];
        const struct pl_packet *arrival = &t->receiver[piece->match];
        if (arrival->t_ns > segment->t_received_ns)
            segment->t_received_ns = arrival->t_ns;
        if (join->got[piece->owner]++ == 0)
            segment->receiver_frame = arrival->frame;
    }
    for (size_t i = 0; i < t->segments.n; i++) {
        struct pl_segment *segment = &t->segments.at[i];
        if (segment->pieces && join->got[i] == segment->pieces)
            segment->delay_ns = segment->t_received_ns - segment->t_sent_ns;
        else {
            segment->t_received_ns = -1;
            segment->receiver_frame = 0;
        }
    }
    return 0;
}

static uint64_t highest_ack(const struct pl_transfer *t)
{
    uint64_t highest = 0;
    for (size_t i = 0; i < t->sender_n; i++)
        if (t->sender[i].dir != t->dir && t->sender[i].ack < UINT64_MAX / 4 && t->sender[i].ack > highest)
            highest = t->sender[i].ack;
    return highest;
}

/* Counts for each segment how often its bytes were sent, and notes whether an earlier copy arrived. */
static int count_copies(struct join *join)
{
    struct pl_transfer *t = join->transfer;
    struct copies {
        uint16_t n;
        bool arrived;
    } *copies = calloc(join->borders.n + 1, sizeof *copies);
    if (!copies)
        return -1;
    for (size_t i = 0; i < t->segments.n; i++) {
        struct pl_segment *segment = &t->segments.at[i];
        uint16_t before = 0;
        segment->repeats = segment->pieces > 0;
        for (size_t b = segment->border; b < segment->border + segment->pieces; b++) {
            before = copies[b].n > before ? copies[b].n : before;
            segment->repeats = segment->repeats && copies[b].arrived;
            copies[b].n += copies[b].n < UINT16_MAX - 1;
            copies[b].arrived = copies[b].arrived || segment->t_received_ns >= 0;
        }
        segment->transmission = (uint16_t)(before + 1);
    }
    uint64_t acked = highest_ack(t);
    for (size_t b = 0; b + 1 < join->borders.n; b++)
        if (copies[b].n && !copies[b].arrived && join->borders.at[b + 1] <= acked)
            t->acked_unseen_bytes += join->borders.at[b + 1] - join->borders.at[b];
    for (size_t i = 0; i < t->segments.n; i++) {
        struct pl_segment *segment = &t->segments.at[i];
        segment->sent_once = segment->pieces > 0;
        for (size_t b = segment->border; b < segment->border + segment->pieces; b++)
            segment->sent_once = segment->sent_once && copies[b].n == 1;
    }
    free(copies);
    return 0;
}

int pl_join_segments(struct pl_transfer *transfer)
{
    struct join join = {.transfer = transfer, .token = choose_token(transfer)};
    int result = take_apart_sent(&join) < 0 || add_received_borders(&join) < 0 ? -1 : 0;
    sort_borders(&join);
    join.budget = PIECES_A_PART * join.borders.n + PIECES_SPARE;
    if (result == 0)
        result = cut_sent(&join) < 0 || cut_received(&join) < 0 ? -1 : 0;
    if (result == 0)
        result = pl_match(join.sent.at, join.sent.n, join.received.at, join.received.n, join.token != TOKEN_NONE);
    if (result == 0)
        result = collect_arrivals(&join) < 0 || count_copies(&join) < 0 ? -1 : 0;
    free(join.borders.at);
    free(join.sent.at);
    free(join.received.at);
    free(join.got);
    return result;
}
