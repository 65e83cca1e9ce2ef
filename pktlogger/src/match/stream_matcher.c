/* Implements stream_matcher.h as the reader of the connections' streams. The engine's stream is opened at the first
 * byte of a direction, because most directions of most connections carry no data. */
#include "stream_matcher.h"

#include <stdlib.h>

#include "nc_range.h"
#include "nc_tunnel.h"

struct pl_matcher {
    const struct pl_rules *rules;
    struct pl_patterns *patterns;
    struct pl_connections table;
    struct pl_matcher_counts counts;
    pl_on_hit *on_hit;
    void *context;
    bool finished, failed;
    uint64_t frame; /* of the packet at hand */
    int64_t t_ns;
};

/* The engine's state for one direction. */
struct scan {
    void *stream;
    uint64_t base; /* the engine counts its offsets from here: 0, or the end of the last gap */
};

/* The context of on_match. */
struct place {
    struct pl_matcher *matcher;
    const struct pl_connection *connection;
    unsigned dir;
    uint64_t base;
};

static void on_match(void *context, unsigned number, uint64_t start, uint64_t end)
{
    const struct place *place = context;
    struct pl_matcher *matcher = place->matcher;
    const struct pl_rule *rule = &matcher->rules->at[number];
    if (rule->flags & (place->dir == 0 ? PL_RULE_ANSWERER : PL_RULE_OPENER))
        return;
    struct pl_hit hit = {.rule = rule,
                         .connection = place->connection,
                         .dir = place->dir,
                         .start = start == UINT64_MAX ? PL_START_UNKNOWN : place->base + start,
                         .end = place->base + end,
                         .gaps = place->connection->dir[place->dir].gaps,
                         .frame = matcher->frame,
                         .t_ns = matcher->t_ns};
    matcher->counts.hits++;
    matcher->on_hit(matcher->context, &hit);
}

static uint64_t scan_cost(const struct pl_matcher *matcher)
{
    return sizeof(struct scan) + pl_patterns_stream_bytes(matcher->patterns);
}

static struct scan *open_scan(struct pl_matcher *matcher, const struct pl_connection *connection, uint64_t offset)
{
    if (!pl_connections_charge(&matcher->table, connection, scan_cost(matcher)))
        return NULL;
    struct scan *scan = malloc(sizeof *scan);
    if (scan && (scan->stream = pl_patterns_open(matcher->patterns))) {
        scan->base = offset;
        return scan;
    }
    free(scan);
    pl_connections_discharge(&matcher->table, scan_cost(matcher));
    return NULL;
}

static void on_data(void *context, struct pl_connection *connection, unsigned dir, uint64_t offset, const uint8_t *data,
                    size_t len)
{
    struct pl_matcher *matcher = context;
    struct scan *scan = connection->dir[dir].user;
    if (!scan)
        connection->dir[dir].user = scan = open_scan(matcher, connection, offset);
    if (!scan) {
        matcher->counts.unscanned_bytes += len;
        return;
    }
    struct place place = {matcher, connection, dir, scan->base};
    matcher->counts.scanned_bytes += len;
    if (pl_patterns_scan(matcher->patterns, scan->stream, data, len, on_match, &place) < 0)
        matcher->failed = true;
}

static void on_gap(void *context, struct pl_connection *connection, unsigned dir, uint64_t from, uint64_t to)
{
    struct pl_matcher *matcher = context;
    struct scan *scan = connection->dir[dir].user;
    (void)from;
    if (!scan)
        return;
    pl_patterns_reset(matcher->patterns, scan->stream);
    scan->base = to;
}

static void on_end(void *context, struct pl_connection *connection, unsigned dir, bool whole)
{
    struct pl_matcher *matcher = context;
    struct scan *scan = connection->dir[dir].user;
    if (!scan)
        return;
    struct place place = {matcher, connection, dir, scan->base};
    pl_patterns_close(matcher->patterns, scan->stream, whole ? on_match : NULL, &place);
    free(scan);
    connection->dir[dir].user = NULL;
    pl_connections_discharge(&matcher->table, scan_cost(matcher));
}

struct pl_matcher *pl_matcher_new(const struct pl_rules *rules, struct pl_patterns *patterns,
                                  const struct pl_connections_limits *limits, uint64_t seed, pl_on_hit *on_hit,
                                  void *context)
{
    struct pl_matcher *matcher = calloc(1, sizeof *matcher);
    if (!matcher)
        return NULL;
    matcher->rules = rules;
    matcher->patterns = patterns;
    matcher->on_hit = on_hit;
    matcher->context = context;
    struct pl_connection_reader reader = {on_data, on_gap, on_end, matcher};
    if (pl_connections_init(&matcher->table, limits, &reader, seed) == 0)
        return matcher;
    free(matcher);
    return NULL;
}

static enum nc_decoded decode(struct pl_matcher *matcher, const struct pl_matcher_frame *frame,
                              struct nc_packet *packet)
{
    unsigned depth;
    if (!frame->tunnels)
        return nc_packet_decode(frame->link, frame->data, frame->captured, frame->wire, packet);
    enum nc_decoded decoded = nc_tunnel_decode(frame->link, frame->data, frame->captured, frame->wire, packet, &depth);
    matcher->counts.tunnelled += depth && decoded == NC_DECODED && packet->l4 == NC_L4_TCP && !packet->fragment;
    return decoded;
}

int pl_matcher_frame(struct pl_matcher *matcher, const struct pl_matcher_frame *frame)
{
    struct nc_packet packet;
    enum nc_decoded decoded = decode(matcher, frame, &packet);
    matcher->frame = frame->number;
    matcher->t_ns = frame->t_ns;
    matcher->counts.frames++;
    if (packet.fragment) { /* fragments are not reassembled, so the offset of the payload in the stream is not known */
        matcher->counts.fragments++;
        return 0;
    }
    if (decoded != NC_DECODED || packet.l4 != NC_L4_TCP) {
        matcher->counts.undecoded += decoded != NC_DECODED;
        return 0;
    }
    matcher->counts.tcp++;
    uint32_t have = frame->captured > packet.payload_offset ? frame->captured - packet.payload_offset : 0;
    if (pl_connections_packet(&matcher->table, &packet, frame->data + packet.payload_offset,
                              (uint32_t)nc_min(have, packet.payload_len)) < 0)
        return -1;
    return matcher->failed ? -1 : 0;
}

void pl_matcher_finish(struct pl_matcher *matcher)
{
    if (!matcher->finished)
        pl_connections_free(&matcher->table);
    matcher->finished = true;
}

const struct pl_matcher_counts *pl_matcher_counts(const struct pl_matcher *matcher)
{
    return &matcher->counts;
}

const struct pl_connections *pl_matcher_connections(const struct pl_matcher *matcher)
{
    return &matcher->table;
}

void pl_matcher_free(struct pl_matcher *matcher)
{
    if (!matcher)
        return;
    pl_matcher_finish(matcher);
    free(matcher);
}
