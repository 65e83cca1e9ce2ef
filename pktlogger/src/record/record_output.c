/* Implements record_output.h. */
#include "record_output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "pcapng.h"

enum { GAPS_MAX = 10000, NO_FLOW = -1, PORT_A = 0, PORT_B = 1, BOTH = 2 };

/* A wire packet, or a copy of one. */
struct row {
    uint64_t number, seq, ack;
    int64_t t_arrival_ns, t_queue_exit_ns, t_departure_ns, t_release_ns, t_drop_ns;
    uint32_t wire_len, len, flow;
    uint16_t flags;
    uint8_t direction, dir, copy, fate, edits;
};

/* clang-format off */
static const struct pl_column columns[] = {
    PL_COLUMN(struct row, direction, "|u1"),       PL_COLUMN(struct row, number, "<u8"),
    PL_COLUMN(struct row, copy, "|u1"),            PL_COLUMN(struct row, fate, "|u1"),
    PL_COLUMN(struct row, edits, "|u1"),           PL_COLUMN(struct row, t_arrival_ns, "<i8"),
    PL_COLUMN(struct row, t_queue_exit_ns, "<i8"), PL_COLUMN(struct row, t_departure_ns, "<i8"),
    PL_COLUMN(struct row, t_release_ns, "<i8"),    PL_COLUMN(struct row, t_drop_ns, "<i8"),
    PL_COLUMN(struct row, wire_len, "<u4"),        PL_COLUMN(struct row, flow, "<u4"),
    PL_COLUMN(struct row, dir, "|u1"),             PL_COLUMN(struct row, seq, "<u8"),
    PL_COLUMN(struct row, ack, "<u8"),             PL_COLUMN(struct row, len, "<u4"),
    PL_COLUMN(struct row, flags, "<u2"),
};
/* clang-format on */

static int64_t real(const struct pl_record_output *o, uint64_t monotonic_ns)
{
    return monotonic_ns ? (int64_t)(monotonic_ns + (uint64_t)o->realtime_ns) : -1;
}

/* The captured bytes of a wire packet. A part of a super-packet gets headers of its own. */
struct piece {
    const uint8_t *data;
    uint32_t captured, wire;
};

static struct piece cut(const struct pl_replay_frame *frame, uint32_t part, struct nc_run *run)
{
    if (frame->super.parts == 1)
        return (struct piece){frame->data + NC_VNET_LEN, frame->captured, frame->frame_len};
    nc_super_run(&frame->super, frame->data + NC_VNET_LEN, part, 1, run); /* does not read the payload */
    return (struct piece){run->head + NC_VNET_LEN, run->head_len - NC_VNET_LEN, nc_super_wire_len(&frame->super, part)};
}

/* Marks a packet CE as the box does (RFC 3168), if its whole IP header was captured. */
static void mark(const struct nc_packet *packet, struct piece *piece, uint8_t copy[4096])
{
    uint32_t at = packet->l3_offset;
    if (piece->captured > 4096 || !packet->ip_version || at + 40 > piece->captured)
        return;
    memcpy(copy, piece->data, piece->captured);
    piece->data = copy;
    copy[at + 1] |= packet->ip_version == 6 ? 0x30 : 0x03;
    uint32_t bytes = (uint32_t)(copy[at] & 0x0f) * 4;
    if (packet->ip_version == 6 || at + bytes > piece->captured)
        return;
    memset(copy + at + 10, 0, 2);
    uint16_t sum = nc_csum_fold(nc_csum_add(0, copy + at, bytes));
    memcpy(copy + at + 10, &sum, sizeof sum);
}

static void write_packet(struct pl_record_output *o, unsigned port, bool out, uint64_t t_ns, const struct piece *piece,
                         const char *comment)
{
    struct pl_writer_note note = {out, out ? PL_FLAGS_OUTBOUND : PL_FLAGS_INBOUND, comment};
    int64_t t = real(o, t_ns);
    if (o->writer[port].fd >= 0)
        pl_writer_packet_noted(&o->writer[port], t, piece->data, piece->captured, piece->wire, &note);
    note.interface += 2 * port;
    if (o->writer[BOTH].fd >= 0)
        pl_writer_packet_noted(&o->writer[BOTH], t, piece->data, piece->captured, piece->wire, &note);
    o->least_ns = t < o->least_ns ? t : o->least_ns;
    o->most_ns = t > o->most_ns ? t : o->most_ns;
}

static const char *in_comment(const struct pl_replay_part *part, char *text, size_t size)
{
    if (!part->decided)
        return "in the box when the record ended";
    if (part->fate == FATE_PASS)
        return NULL;
    snprintf(text, size, "dropped: %s%s", fate_name((enum fate)part->fate),
             (part->fate == FATE_LOSS || part->fate == FATE_OUTAGE) && part->exit_ns ? " behind the bottleneck" : "");
    return text;
}

/* Sets flow, direction and unwrapped numbers of a frame. Frames must come in order of arrival. */
static void follow_flow(struct pl_record_output *o, struct pl_replay_frame *frame)
{
    const struct nc_tcp *tcp = &frame->super.packet.tcp;
    unsigned dir = 0;
    frame->flow = (uint32_t)NO_FLOW;
    if (frame->super.packet.l4 != NC_L4_TCP)
        return;
    struct pl_flow *flow = pl_flows_find(&o->flows, &frame->super.packet, &dir);
    if (!flow) {
        o->no_memory = true;
        return;
    }
    struct pl_side *side = &flow->side[dir];
    int64_t t = real(o, frame->arrival_ns);
    if (!flow->side[0].packets && !flow->side[1].packets)
        flow->first_ns = t;
    flow->last_ns = t;
    if (!side->packets)
        side->first_ns = t;
    side->packets += frame->parts;
    side->bytes += frame->super.packet.payload_len;
    pl_flow_learn(flow, dir, tcp);
    frame->flow = (uint32_t)(flow - o->flows.at);
    frame->dir = dir;
    frame->seq = pl_unwrap(side, tcp->seq, true);
    frame->ack = tcp->flags & NC_TCP_ACK ? pl_unwrap(&flow->side[!dir], tcp->ack, true) : PL_NO_ACK;
}

static void on_in(void *context, unsigned direction, struct pl_replay_frame *frame)
{
    struct pl_record_output *o = context;
    follow_flow(o, frame);
    for (uint32_t i = 0; i < frame->parts; i++) {
        struct nc_run run;
        char text[64];
        struct piece piece = cut(frame, i, &run);
        write_packet(o, direction, false, frame->arrival_ns, &piece, in_comment(&frame->part[i], text, sizeof text));
    }
    o->in[direction] += frame->parts;
}

static void on_out(void *context, unsigned direction, const struct pl_replay_out *out)
{
    static const char *const comments[] = {NULL, "corrupted: one bit of the payload", "forged: one bit of the payload"};
    struct pl_record_output *o = context;
    for (uint32_t i = out->first; i < out->first + out->count; i++) {
        struct nc_run run;
        uint8_t marked[4096], edits = out->frame->part[i].edits;
        struct piece piece = cut(out->frame, i, &run);
        if (edits & EDIT_CE)
            mark(&out->frame->super.packet, &piece, marked);
        write_packet(o, !direction, true, out->t_ns, &piece,
                     comments[edits & EDIT_CORRUPT ? 1
                              : edits & EDIT_FORGE ? 2
                                                   : 0]);
    }
}

static void put_row(struct pl_record_output *o, unsigned direction, const struct pl_replay_frame *frame, uint32_t i,
                    const struct pl_replay_part *part, bool copy)
{
    const struct nc_packet *packet = &frame->super.packet;
    bool held = !part->decided || part->unsent, dropped = !held && part->fate != FATE_PASS;
    bool tcp = packet->l4 == NC_L4_TCP, split = frame->super.parts > 1;
    uint32_t wire = split ? nc_super_wire_len(&frame->super, i) : frame->frame_len;
    bool last = i + 1 == frame->parts, timed = part->decided && (!dropped || part->fate == FATE_WRITE);
    uint16_t flags = tcp ? packet->tcp.flags : 0;
    if (!last)
        flags &= (uint16_t)~(NC_TCP_FIN | NC_TCP_PSH);
    struct row row = {
        .direction = (uint8_t)direction,
        .number = frame->number + i,
        .copy = copy,
        .fate = held ? (uint8_t)PL_FATE_HELD : part->fate,
        .edits = part->edits,
        .t_arrival_ns = real(o, frame->arrival_ns),
        .t_queue_exit_ns = real(o, part->exit_ns),
        .t_departure_ns = timed ? real(o, part->t_ns) : -1,
        .t_release_ns = real(o, part->sent_ns),
        .t_drop_ns = dropped && !timed ? real(o, part->t_ns) : -1,
        .wire_len = wire,
        .flow = frame->flow,
        .dir = (uint8_t)frame->dir,
        .seq = tcp ? frame->seq + (uint64_t)i * frame->super.part_len : 0,
        .ack = tcp ? frame->ack : PL_NO_ACK,
        .len = !tcp    ? 0
               : split ? wire - frame->super.header_len
                       : packet->payload_len,
        .flags = flags,
    };
    pl_table_put(o->table, &row);
}

static void on_done(void *context, unsigned direction, const struct pl_replay_frame *frame)
{
    struct pl_record_output *o = context;
    for (uint32_t i = 0; i < frame->parts; i++) {
        o->held += !frame->part[i].decided || frame->part[i].unsent;
        if (o->table)
            put_row(o, direction, frame, i, &frame->part[i], false);
    }
    for (uint32_t c = 0; o->table && c < frame->copy_n; c++)
        put_row(o, direction, frame, frame->copies[c].part, &frame->copies[c].times, true);
}

static void on_gap(void *context, unsigned direction, const struct comet_record *r)
{
    struct pl_record_output *o = context;
    if (json_array_size(o->gaps) < GAPS_MAX)
        json_array_append_new(o->gaps,
                              json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "direction", direction ? "ba" : "ab",
                                        "number", (json_int_t)r->number, "packets", (json_int_t)r->gap_packets,
                                        "frames", (json_int_t)r->gap_frames, "t0_ns", (json_int_t)real(o, r->t_ns),
                                        "t1_ns", (json_int_t)real(o, r->exit_ns)));
}

static json_t *bound_json(uint64_t bound)
{
    return bound == COMET_RECORD_UNBOUNDED ? json_null() : json_integer((json_int_t)bound);
}

static void on_line(void *context, unsigned direction, const struct comet_record *r)
{
    struct pl_record_output *o = context;
    json_t *steps = o->line[direction];
    json_int_t t_ns = (json_int_t)real(o, r->t_ns);
    size_t n = json_array_size(steps);
    for (; n && json_integer_value(json_object_get(json_array_get(steps, n - 1), "t_ns")) >= t_ns; n--)
        json_array_remove(steps, n - 1); /* no records that are missing now will come later */
    json_array_append_new(steps,
                          json_pack("{s:I, s:o, s:o, s:I, s:b, s:b}", "t_ns", t_ns, "rate_bps",
                                    bound_json(r->line.rate_bps), "packets_per_s", bound_json(r->line.packets_per_s),
                                    "overhead_bytes", (json_int_t)r->line.overhead_bytes, "mean",
                                    (int)(r->line.mean != 0), "queues_behind", (int)(r->line.queues_behind != 0)));
}

struct pl_replay_sink pl_record_output_sink(struct pl_record_output *output)
{
    return (struct pl_replay_sink){on_in, on_out, on_done, on_gap, output, on_line};
}

static int open_file(struct pl_record_output *o, unsigned file, const char *path, const struct comet_record_head *head)
{
    static const char *const names[4] = {"a-in", "a-out", "b-in", "b-out"};
    char comment[COMET_RECORD_TEXT_BYTES + 64], description[COMET_RECORD_PORT_BYTES + 64];
    unsigned first = file == PORT_B ? 2 : 0, n = file == BOTH ? 4 : 2;
    snprintf(comment, sizeof comment, "comet-delay's record; parameters at the start: %.*s", (int)head->text_bytes,
             head->text);
    for (unsigned i = first; i < first + n; i++) {
        snprintf(description, sizeof description, "%s port %c of comet-delay, %s", i & 1 ? "out of" : "into",
                 "ab"[i / 2], head->port[i / 2]);
        const struct pl_writer_info info = {
            .interface = names[i], .description = description, .comment = comment, .linktype = PL_LINKTYPE_ETHERNET};
        if (i == first && pl_writer_open(&o->writer[file], path, &info) < 0)
            return -1;
        if (i > first)
            pl_writer_interface(&o->writer[file], &info);
    }
    return 0;
}

int pl_record_output_open(struct pl_record_output *o, const struct pl_record_names *names,
                          const struct comet_record_head *head, struct nc_error *error)
{
    *o = (struct pl_record_output){.gaps = json_array(),
                                   .line = {json_array(), json_array()},
                                   .least_ns = INT64_MAX,
                                   .most_ns = -1,
                                   .realtime_ns = (int64_t)(head->realtime_ns - head->monotonic_ns)};
    for (unsigned f = 0; f < PL_RECORD_FILES; f++)
        o->writer[f].fd = -1;
    if (pl_flows_init(&o->flows) < 0)
        return nc_fail(error, NC_EXIT_FAILED, "out of memory");
    for (unsigned f = 0; f < PL_RECORD_FILES; f++)
        if (names->file[f] && open_file(o, f, names->file[f], head) < 0)
            return nc_fail(error, NC_EXIT_USAGE, "'%.200s': cannot create it: %s", names->file[f], strerror(errno));
    if (!names->folder || pl_folder_begin(&o->folder, names->folder, error) < 0)
        return names->folder ? -1 : 0;
    o->table = pl_table_create(o->folder.fd, ".", columns, sizeof columns / sizeof *columns);
    if (o->table)
        return 0;
    nc_fail(error, NC_EXIT_USAGE, "--output '%.200s': %s", names->folder, strerror(errno));
    pl_folder_abort(&o->folder);
    return -1;
}

/* record.json: the meaning of the numbers in the table, and its gaps. */
static json_t *description(const struct pl_record_output *o, const uint64_t skipped[2])
{
    json_t *fates = json_array();
    for (int f = 0; f < FATE_N; f++)
        json_array_append_new(fates, json_string(fate_name((enum fate)f)));
    json_array_append_new(fates, json_string("held"));
    json_t *all =
        json_pack("{s:i, s:o, s:[s, s], s:{s:i, s:i, s:i}, s:{s:I, s:I}, s:O}", "v", 1, "fates", fates, "directions",
                  "ab", "ba", "edits", "ce", EDIT_CE, "corrupt", EDIT_CORRUPT, "forge", EDIT_FORGE, "skipped_packets",
                  "ab", (json_int_t)skipped[0], "ba", (json_int_t)skipped[1], "gaps", o->gaps);
    if (json_array_size(o->line[0]) && json_array_size(o->line[1])) /* earlier boxes did not record it */
        json_object_set_new(all, "line", json_pack("{s:O, s:O}", "ab", o->line[0], "ba", o->line[1]));
    return all;
}

static int finish_folder(struct pl_record_output *o, const uint64_t skipped[2], struct nc_error *error)
{
    struct pl_index index = {.flows = o->flows,
                             .counts = {.frames = o->in[0] + o->in[1], .first_ns = o->least_ns, .last_ns = o->most_ns}};
    int closed = pl_table_close(o->table);
    o->table = NULL;
    if (closed == 0 && pl_json_write(o->folder.fd, "flows.json", pl_json_index(&index)) == 0 &&
        pl_json_write(o->folder.fd, "record.json", description(o, skipped)) == 0)
        return pl_folder_commit(&o->folder, error);
    nc_fail(error, NC_EXIT_FAILED, "--output '%.200s': %s", o->folder.path, strerror(errno));
    pl_folder_abort(&o->folder);
    return -1;
}

int pl_record_output_finish(struct pl_record_output *o, const uint64_t skipped[2], struct nc_error *error)
{
    int result = 0;
    for (unsigned f = 0; f < PL_RECORD_FILES; f++) {
        struct pl_writer *writer = &o->writer[f];
        struct pl_writer_statistics statistics[PL_WRITER_INTERFACES_MAX] = {0};
        if (writer->fd < 0)
            continue;
        for (unsigned i = 0; i < writer->interfaces; i++) {
            unsigned port = f == BOTH ? i / 2 : f;
            statistics[i].dropped_kernel = i & 1 ? 0 : skipped[port];
            statistics[i].accepted = writer->delivered[i] + statistics[i].dropped_kernel;
            statistics[i].start_ns = o->most_ns < o->least_ns ? 0 : o->least_ns;
            statistics[i].end_ns = o->most_ns < o->least_ns ? 0 : o->most_ns;
        }
        if (pl_writer_finish(writer, statistics) < 0) {
            nc_fail(error, NC_EXIT_FAILED, "'%.200s': cannot write it: %s; nothing of it was kept", writer->path,
                    strerror(errno));
            result = -1;
        }
    }
    if (o->table && finish_folder(o, skipped, error) < 0)
        result = -1;
    pl_flows_free(&o->flows);
    json_decref(o->gaps);
    json_decref(o->line[0]);
    json_decref(o->line[1]);
    return result;
}

void pl_record_output_abort(struct pl_record_output *o)
{
    for (unsigned f = 0; f < PL_RECORD_FILES; f++)
        pl_writer_abort(&o->writer[f]);
    if (o->table) {
        pl_table_close(o->table);
        pl_folder_abort(&o->folder);
    }
    pl_flows_free(&o->flows);
    json_decref(o->gaps);
    json_decref(o->line[0]);
    json_decref(o->line[1]);
}
