/* Implements replay.h. */
#include "replay.h"

#include <linux/virtio_net.h>
#include <stdlib.h>
#include <string.h>

/* The box keeps its packets in memory. So a record with more packets in the box at once than this is damaged. */
enum { FIRST = 1024, FRAME_MAX = 65536 + 256, HELD_PARTS_MAX = 1 << 25 };

void pl_replay_init(struct pl_replay *replay, const struct pl_replay_sink *sink)
{
    *replay = (struct pl_replay){.sink = *sink};
}

static void free_frame(struct pl_replay_frame *frame)
{
    free(frame->copies);
    free(frame->data);
    free(frame);
}

void pl_replay_free(struct pl_replay *replay)
{
    for (int i = 0; i < 2; i++) {
        struct pl_replay_direction *d = &replay->direction[i];
        for (; d->done != d->head; d->done++)
            free_frame(d->frames[d->done & d->mask]);
        free(d->frames);
        free(d->outs);
    }
}

/* Makes room for one more element of `size` bytes. Returns the ring, perhaps moved, or NULL. */
static void *grow(void *ring, uint64_t *mask, uint64_t tail, uint64_t head, size_t size)
{
    uint64_t room = ring ? *mask + 1 : 0, more = room ? 2 * room : FIRST;
    if (ring && head - tail < room)
        return ring;
    uint8_t *bigger = malloc(more * size);
    if (!bigger)
        return NULL;
    for (uint64_t i = tail; i != head; i++)
        memcpy(bigger + (i & (more - 1)) * size, (uint8_t *)ring + (i & *mask) * size, size);
    free(ring);
    *mask = more - 1;
    return bigger;
}

/* The frame of which packet `number` is a part, or NULL. */
static struct pl_replay_frame *find(const struct pl_replay_direction *d, uint64_t number)
{
    uint64_t low = d->done, high = d->head;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        struct pl_replay_frame *frame = d->frames[middle & d->mask];
        if (number < frame->number)
            high = middle;
        else if (number >= frame->number + frame->parts)
            low = middle + 1;
        else
            return frame;
    }
    return NULL;
}

/* Decodes the headers of the frame. The headers of a super-packet were recorded whole; of its payload only the length
 * is used. */
static bool understand(struct pl_replay_frame *frame)
{
    const uint8_t *data = frame->data;
    struct nc_super *super = &frame->super;
    if (data[1] == VIRTIO_NET_HDR_GSO_NONE) {
        nc_packet_decode(NC_LINK_ETHERNET, data + NC_VNET_LEN, frame->captured, frame->frame_len, &super->packet);
        super->header_len = super->frame_len = frame->frame_len;
        super->parts = 1;
        return frame->parts == 1;
    }
    uint8_t *whole = calloc(1, NC_VNET_LEN + (size_t)frame->frame_len);
    if (!whole)
        return false;
    memcpy(whole, data, NC_VNET_LEN + frame->captured);
    enum nc_super_status status = nc_super_read(whole, NC_VNET_LEN + (size_t)frame->frame_len, super);
    free(whole);
    return status == NC_SUPER_OK && super->parts == frame->parts && frame->captured >= super->header_len;
}

static void take_frame(struct pl_replay *replay, struct pl_replay_direction *d, const struct comet_record *r)
{
    if (r->number < d->next_number || r->frame_len > FRAME_MAX || d->held_parts + r->count > HELD_PARTS_MAX) {
        d->damaged++;
        return;
    }
    struct pl_replay_frame *frame = calloc(1, sizeof *frame + r->count * sizeof frame->part[0]);
    struct pl_replay_frame **frames = grow(d->frames, &d->mask, d->done, d->head, sizeof *d->frames);
    d->frames = frames ? frames : d->frames;
    if (frame)
        frame->data = malloc(NC_VNET_LEN + r->captured);
    if (!frame || !frame->data || !frames) {
        replay->no_memory = true;
        free(frame);
        return;
    }
    frame->number = r->number;
    frame->arrival_ns = r->t_ns;
    frame->parts = frame->undecided = r->count;
    frame->frame_len = r->frame_len;
    frame->captured = r->captured;
    memcpy(frame->data, r->data, NC_VNET_LEN + r->captured);
    if (!understand(frame)) {
        d->damaged++;
        free_frame(frame);
        return;
    }
    d->frames[d->head++ & d->mask] = frame;
    d->held_parts += r->count;
    d->next_number = r->number + r->count;
    d->packets += r->count;
}

static struct pl_replay_copy *add_copy(struct pl_replay *replay, struct pl_replay_frame *frame)
{
    if (frame->copy_n == frame->copy_room) {
        uint32_t room = frame->copy_room ? 2 * frame->copy_room : 4;
        void *copies = realloc(frame->copies, room * sizeof *frame->copies);
        if (!copies) {
            replay->no_memory = true;
            return NULL;
        }
        frame->copies = copies;
        frame->copy_room = room;
    }
    return &frame->copies[frame->copy_n++];
}

static void decide(struct pl_replay *replay, struct pl_replay_direction *d, struct pl_replay_frame *frame, uint32_t i,
                   const struct comet_record *r, uint64_t behind_ns)
{
    bool passed = r->fate == FATE_PASS;
    struct pl_replay_part times = {.exit_ns = r->exit_ns ? r->exit_ns + behind_ns : 0,
                                   .t_ns = r->t_ns + behind_ns,
                                   .fate = (uint8_t)r->fate,
                                   .edits = r->edits,
                                   .decided = true,
                                   .unsent = passed};
    if (r->copy) {
        struct pl_replay_copy *copy = frame->copy_n < UINT16_MAX ? add_copy(replay, frame) : NULL;
        if (!copy)
            return;
        *copy = (struct pl_replay_copy){i, times};
        d->copies++;
    } else if (frame->part[i].decided) {
        d->unmatched++;
        return;
    } else {
        frame->part[i] = times;
        frame->undecided--;
    }
    frame->unsent += passed;
    if (!passed)
        d->dropped[r->fate]++;
}

static void take_decided(struct pl_replay *replay, struct pl_replay_direction *d, const struct comet_record *r)
{
    struct pl_replay_frame *frame = NULL;
    uint64_t behind_ns = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        uint64_t number = r->number + i;
        uint16_t step = 0;
        if (i)
            memcpy(&step, r->step + 2 * (i - 1), sizeof step);
        behind_ns += step;
        if (!frame || number >= frame->number + frame->parts)
            frame = find(d, number);
        if (frame)
            decide(replay, d, frame, (uint32_t)(number - frame->number), r, behind_ns);
        else
            d->unmatched++;
    }
}

/* Packet number i, or its first copy if the packet itself has been sent already. */
static struct pl_replay_part *waiting(struct pl_replay_frame *frame, uint32_t i)
{
    if (frame->part[i].unsent)
        return &frame->part[i];
    for (uint32_t c = 0; c < frame->copy_n; c++)
        if (frame->copies[c].part == i && frame->copies[c].times.unsent)
            return &frame->copies[c].times;
    return NULL;
}

static void take_sent(struct pl_replay *replay, struct pl_replay_direction *d, const struct comet_record *r)
{
    struct pl_replay_frame *frame = find(d, r->number);
    uint32_t first = frame ? (uint32_t)(r->number - frame->number) : 0;
    if (!frame || r->count > frame->parts - first) {
        d->unmatched += r->count;
        return;
    }
    bool ok = r->fate == FATE_PASS;
    uint32_t i = first;
    for (; i < first + r->count; i++) {
        struct pl_replay_part *part = waiting(frame, i);
        if (!part) {
            d->unmatched += first + r->count - i;
            break;
        }
        part->unsent = false;
        part->sent_ns = ok ? r->t_ns : 0;
        part->fate = (uint8_t)r->fate;
        frame->unsent--;
        d->sent += ok;
        if (!ok)
            d->dropped[r->fate]++;
    }
    if (!ok || i == first)
        return;
    struct pl_replay_out *outs = grow(d->outs, &d->out_mask, d->out_tail, d->out_head, sizeof *d->outs);
    if (!outs) {
        replay->no_memory = true;
        return;
    }
    d->outs = outs;
    d->outs[d->out_head++ & d->out_mask] = (struct pl_replay_out){frame, r->t_ns, first, i - first};
    frame->out_waiting++;
}

static void saw(struct pl_replay_direction *d, uint64_t t_ns)
{
    if (t_ns > d->seen_ns)
        d->seen_ns = t_ns;
}

uint64_t pl_replay_read(struct pl_replay *replay, unsigned direction, const uint8_t *at, const uint8_t *end,
                        uint64_t slots_max)
{
    struct pl_replay_direction *d = &replay->direction[direction];
    const uint8_t *start = at;
    struct comet_record r;
    while ((uint64_t)(at - start) / COMET_RECORD_SLOT < slots_max) {
        enum comet_record_next next = comet_record_read(&at, end, &r);
        if (next == COMET_RECORD_END)
            break;
        if (next == COMET_RECORD_BAD) {
            d->damaged++;
            continue;
        }
        switch (r.type) {
        case COMET_RECORD_FRAME:
            saw(d, r.t_ns);
            take_frame(replay, d, &r);
            break;
        case COMET_RECORD_DECIDED:
            take_decided(replay, d, &r);
            break;
        case COMET_RECORD_SENT:
            saw(d, r.t_ns);
            take_sent(replay, d, &r);
            break;
        case COMET_RECORD_GAP:
            d->gaps++;
            d->gap_packets += r.gap_packets;
            replay->sink.gap(replay->sink.context, direction, &r);
            break;
        case COMET_RECORD_LINE: /* the record's time may be in the future, so it does not advance seen_ns */
            if (replay->sink.line)
                replay->sink.line(replay->sink.context, direction, &r);
            break;
        case COMET_RECORD_PAD:
        case COMET_RECORD_TYPES:
            break;
        }
    }
    return (uint64_t)(at - start) / COMET_RECORD_SLOT;
}

/* Frees the oldest frames after all their events have been emitted. */
static void retire(struct pl_replay *replay, unsigned direction, bool last)
{
    struct pl_replay_direction *d = &replay->direction[direction];
    for (; d->done != d->emitted; d->done++) {
        struct pl_replay_frame *frame = d->frames[d->done & d->mask];
        if (!last && (frame->unsent || frame->out_waiting))
            return;
        d->held_parts -= frame->parts;
        replay->sink.done(replay->sink.context, direction, frame);
        free_frame(frame);
    }
}

/* The next event of one of the four streams: its time, and whether it may be emitted yet. */
struct next_event {
    uint64_t t_ns;
    bool there, ready;
};

static struct next_event next_in(const struct pl_replay_direction *d, uint64_t least_ns)
{
    if (d->emitted == d->head)
        return (struct next_event){least_ns, false, false};
    const struct pl_replay_frame *frame = d->frames[d->emitted & d->mask];
    return (struct next_event){frame->arrival_ns, true, !frame->undecided || least_ns == UINT64_MAX};
}

static struct next_event next_out(const struct pl_replay_direction *d, uint64_t least_ns)
{
    if (d->out_tail == d->out_head)
        return (struct next_event){least_ns, false, false};
    return (struct next_event){d->outs[d->out_tail & d->out_mask].t_ns, true, true};
}

static void emit_one(struct pl_replay *replay, unsigned stream)
{
    unsigned direction = stream & 1;
    struct pl_replay_direction *d = &replay->direction[direction];
    if (stream < 2) {
        struct pl_replay_frame *frame = d->frames[d->emitted++ & d->mask];
        replay->sink.in(replay->sink.context, direction, frame);
    } else {
        struct pl_replay_out out = d->outs[d->out_tail++ & d->out_mask];
        replay->sink.out(replay->sink.context, direction, &out);
        out.frame->out_waiting--;
    }
    retire(replay, direction, false);
}

void pl_replay_emit(struct pl_replay *replay, const uint64_t least_ns[2])
{
    for (;;) {
        unsigned first = 0;
        struct next_event events[4];
        for (unsigned s = 0; s < 4; s++) {
            const struct pl_replay_direction *d = &replay->direction[s & 1];
            events[s] = s < 2 ? next_in(d, least_ns[s]) : next_out(d, least_ns[s & 1]);
            if (events[s].t_ns < events[first].t_ns || (events[s].t_ns == events[first].t_ns && !events[first].there))
                first = s;
        }
        if (!events[first].there || !events[first].ready)
            break;
        emit_one(replay, first);
    }
    for (unsigned d = 0; d < 2; d++)
        if (least_ns[d] == UINT64_MAX)
            retire(replay, d, true);
}
