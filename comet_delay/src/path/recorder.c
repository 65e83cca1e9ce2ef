#include "recorder.h"

#include <assert.h>
#include <string.h>

enum {
    STEPS_FIRST = (COMET_RECORD_SLOT - COMET_RECORD_STEP_AT) / 2,
    STEPS_MORE = COMET_RECORD_SLOT / 2,
    SLOTS_MAX = 255
};

void recorder_init(struct recorder *r, struct comet_record_ring *shared, void *slots, uint64_t n, uint64_t header_bytes)
{
    *r = (struct recorder){.shared = shared, .slots = slots, .n = n, .header_bytes = header_bytes};
}

static uint64_t room(const struct recorder *r)
{
    return r->n - (r->head - r->tail);
}

/* Whether `slots` are free. It reads the reader's tail only when necessary. */
static bool has_room(struct recorder *r, uint64_t slots)
{
    if (room(r) >= slots)
        return true;
    r->tail = atomic_load_explicit(&r->shared->tail, memory_order_acquire);
    if (r->head - r->tail > r->n) /* only a faulty reader can have written this value */
        r->tail = r->head - r->n;
    return room(r) >= slots;
}

/* Takes consecutive `slots` at the head, which do not cross the ring's end. */
static struct comet_record_slot *claim(struct recorder *r, uint8_t slots, enum comet_record_type type)
{
    struct comet_record_slot *slot = &r->slots[r->index];
    assert(r->index + slots <= r->n);
    r->head += slots;
    r->index = r->index + slots == r->n ? 0 : r->index + slots;
    memset(slot, 0, sizeof *slot);
    slot->mark = COMET_RECORD_MARK;
    slot->type = (uint8_t)type;
    slot->slots = slots;
    return slot;
}

static void pad_to_end(struct recorder *r)
{
    while (r->index != 0) {
        uint64_t left = r->n - r->index;
        claim(r, (uint8_t)(left > SLOTS_MAX ? SLOTS_MAX : left), COMET_RECORD_PAD);
    }
}

static void close_run(struct recorder *r)
{
    r->open.slot = NULL;
}

void recorder_flush(struct recorder *r)
{
    struct comet_record_ring *shared = r->shared;
    if (atomic_load_explicit(&shared->head, memory_order_relaxed) == r->head && !r->gap.packets)
        return;
    close_run(r); /* a published record never changes */
    atomic_store_explicit(&shared->packets, r->packets, memory_order_relaxed);
    atomic_store_explicit(&shared->skipped_first, r->skipped_first, memory_order_relaxed);
    atomic_store_explicit(&shared->skipped_frames, r->skipped_frames, memory_order_relaxed);
    atomic_store_explicit(&shared->skipped_copies, r->skipped_copies, memory_order_relaxed);
    atomic_store_explicit(&shared->skipped_packets, r->skipped_packets, memory_order_relaxed);
    atomic_store_explicit(&shared->head, r->head, memory_order_release);
}

static void skip(struct recorder *r, uint32_t parts, uint64_t number, uint64_t arrival_ns)
{
    if (!r->gap.packets) {
        r->gap.first = number;
        r->gap.from_ns = arrival_ns;
    }
    if (!r->skipped_packets)
        r->skipped_first = number;
    r->gap.to_ns = arrival_ns;
    r->gap.packets += parts;
    r->gap.frames++;
    r->skipped_packets += parts;
    r->skipped_frames++;
}

static void add_gap(struct recorder *r)
{
    struct comet_record_slot *slot = claim(r, 1, COMET_RECORD_GAP);
    slot->number = r->gap.first;
    slot->t_ns = r->gap.from_ns;
    slot->to_ns = r->gap.to_ns;
    slot->gap.packets = r->gap.packets;
    slot->gap.frames = r->gap.frames;
    memset(&r->gap, 0, sizeof r->gap);
}

static void add_line(struct recorder *r, uint64_t t_ns, const struct comet_record_line *line)
{
    struct comet_record_slot *slot = claim(r, 1, COMET_RECORD_LINE);
    slot->t_ns = t_ns;
    slot->line = *line;
    r->line.waits = false;
}

void recorder_line(struct recorder *r, uint64_t t_ns, const struct comet_record_line *line)
{
    close_run(r);
    if (has_room(r, r->reserved + 1)) {
        add_line(r, t_ns, line);
        return;
    }
    r->line.waits = true;
    r->line.t_ns = t_ns;
    r->line.line = *line;
}

/* Bytes kept of a frame. A super-packet's headers are kept completely, because the headers of its parts are derived
 * from them. TCP payload is not kept, because nothing uses it. Of all other frames `header_bytes` are kept. */
static uint32_t captured_of(const struct recorder *r, const struct nc_super *super)
{
    if (super->part_len)
        return super->header_len;
    uint32_t bytes = super->packet.l4 == NC_L4_TCP ? super->packet.payload_offset : super->frame_len;
    return bytes < r->header_bytes ? bytes : (uint32_t)r->header_bytes;
}

bool recorder_frame(struct recorder *r, const uint8_t *data, const struct nc_super *super, uint64_t number,
                    uint64_t arrival_ns)
{
    uint32_t captured = captured_of(r, super);
    uint32_t bytes = COMET_RECORD_DATA_AT + NC_VNET_LEN + captured;
    uint8_t slots = (uint8_t)((bytes + COMET_RECORD_SLOT - 1) / COMET_RECORD_SLOT);
    /* room for a GAP and a LINE record, for a pad before the ring's end, for the frame, and two records for each
     * packet */
    if (super->parts > COMET_RECORD_PARTS_MAX ||
        !has_room(r, r->reserved + 1 + r->line.waits + 2 * slots + 2 * (uint64_t)super->parts)) {
        skip(r, super->parts, number, arrival_ns);
        return false;
    }
    close_run(r);
    if (r->gap.packets)
        add_gap(r);
    if (r->line.waits)
        add_line(r, r->line.t_ns, &r->line.line);
    if (r->index + slots > r->n)
        pad_to_end(r);
    struct comet_record_slot *slot = claim(r, slots, COMET_RECORD_FRAME);
    slot->count = super->parts;
    slot->number = number;
    slot->t_ns = arrival_ns;
    slot->frame.frame_len = super->frame_len;
    slot->frame.captured = captured;
    memcpy((uint8_t *)slot + COMET_RECORD_DATA_AT, data, NC_VNET_LEN + captured);
    r->reserved += 2 * (uint64_t)super->parts;
    r->packets += super->parts;
    return true;
}

/* Whether the packet continues the open run: everything is equal except for a step in time. */
static bool extends(const struct recorder *r, const struct comet_record_slot *run, uint64_t number, uint64_t exit_ns,
                    uint64_t t_ns, enum fate fate, uint8_t edits, bool copy)
{
    uint64_t step = t_ns - r->open.last_ns; /* huge when it falls */
    bool same_lag = run->exit_ns ? exit_ns && t_ns - exit_ns == run->t_ns - run->exit_ns : !exit_ns;
    return number == run->number + run->count && run->count < COMET_RECORD_COUNT_MAX && step <= UINT16_MAX &&
           same_lag && fate == (enum fate)run->decided.fate && edits == run->decided.edits && copy == run->decided.copy;
}

/* Adds a step to the open run. False when the step needs another slot and the next slot is not free or not adjacent. */
static bool extend(struct recorder *r, struct comet_record_slot *run, uint64_t t_ns)
{
    uint32_t held = STEPS_FIRST + (run->slots - 1u) * STEPS_MORE;
    if (run->count - 1 == held) {
        if (r->index == 0 || run->slots == SLOTS_MAX || !has_room(r, 1))
            return false;
        r->head++;
        r->index = r->index + 1 == r->n ? 0 : r->index + 1;
        run->slots++;
    }
    uint16_t step = (uint16_t)(t_ns - r->open.last_ns);
    memcpy((uint8_t *)run + COMET_RECORD_STEP_AT + 2 * (run->count - 1), &step, sizeof step);
    run->count++;
    r->open.last_ns = t_ns;
    return true;
}

static void release(struct recorder *r, uint64_t slots)
{
    assert(r->reserved >= slots);
    r->reserved -= slots;
}

void recorder_decided(struct recorder *r, uint64_t number, uint64_t exit_ns, uint64_t t_ns, enum fate fate,
                      uint8_t edits, bool copy)
{
    if (copy)
        r->reserved += fate == FATE_PASS; /* room for its SENT record */
    else
        release(r, fate == FATE_PASS ? 1 : 2);
    struct comet_record_slot *run = r->open.slot;
    if (run && extends(r, run, number, exit_ns, t_ns, fate, edits, copy) && extend(r, run, t_ns))
        return;
    close_run(r);
    if (!has_room(r, 1)) { /* only duplicates can use up slots that were reserved for others */
        r->skipped_copies++;
        return;
    }
    run = claim(r, 1, COMET_RECORD_DECIDED);
    run->count = 1;
    run->number = number;
    run->t_ns = t_ns;
    run->exit_ns = exit_ns;
    run->decided.fate = (uint8_t)fate;
    run->decided.edits = edits;
    run->decided.copy = copy;
    r->open = (struct recorder_open){run, t_ns};
}

void recorder_sent(struct recorder *r, uint64_t number, uint32_t count, uint64_t now_ns, enum fate fate)
{
    release(r, count);
    close_run(r);
    if (!has_room(r, 1)) {
        r->skipped_copies++;
        return;
    }
    struct comet_record_slot *slot = claim(r, 1, COMET_RECORD_SENT);
    slot->count = count;
    slot->number = number;
    slot->t_ns = now_ns;
    slot->sent_fate = (uint8_t)fate;
}

uint64_t recorder_skipped(const struct recorder *r)
{
    return atomic_load_explicit(&r->shared->skipped_packets, memory_order_relaxed) +
           atomic_load_explicit(&r->shared->skipped_copies, memory_order_relaxed);
}
