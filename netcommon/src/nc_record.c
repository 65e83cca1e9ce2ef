/* Purpose: nc_record.h. Reading only; the box writes its own records. */
#include "nc_record.h"

#include <stdio.h>
#include <string.h>

#include "nc_vnet.h"

static bool fits(const struct nc_record_slot *slot, uint32_t bytes)
{
    switch ((enum nc_record_type)slot->type) {
    case NC_RECORD_FRAME:
        return slot->count >= 1 && slot->count <= NC_RECORD_PARTS_MAX && slot->frame.captured <= slot->frame.frame_len &&
               slot->frame.captured <= bytes && NC_RECORD_DATA_AT + NC_VNET_LEN + slot->frame.captured <= bytes;
    case NC_RECORD_DECIDED:
        return slot->exit_ns <= slot->t_ns && slot->count >= 1 && slot->count <= NC_RECORD_COUNT_MAX && slot->decided.fate < NC_FATE_N &&
               NC_RECORD_STEP_AT + 2 * (slot->count - 1) <= bytes;
    case NC_RECORD_SENT: return slot->count >= 1 && slot->count <= NC_RECORD_PARTS_MAX && slot->sent_fate < NC_FATE_N;
    case NC_RECORD_GAP:
    case NC_RECORD_PAD: return true;
    case NC_RECORD_TYPES: break;
    }
    return false;
}

enum nc_record_next nc_record_read(const uint8_t **at, const uint8_t *end, struct nc_record *out)
{
    struct nc_record_slot slot;
    if (end - *at < NC_RECORD_SLOT)
        return NC_RECORD_END;
    memcpy(&slot, *at, sizeof slot);
    uint32_t bytes = slot.slots * (uint32_t)NC_RECORD_SLOT;
    if (slot.mark != NC_RECORD_MARK || slot.type >= NC_RECORD_TYPES || bytes == 0 || bytes > (size_t)(end - *at) ||
        slot.number > UINT64_MAX / 2 || slot.t_ns > UINT64_MAX / 2 || !fits(&slot, bytes)) {
        *at += NC_RECORD_SLOT;
        return NC_RECORD_BAD;
    }
    *out = (struct nc_record){.type = (enum nc_record_type)slot.type, .slots = slot.slots, .count = slot.count,
                              .number = slot.number, .t_ns = slot.t_ns};
    if (out->type == NC_RECORD_FRAME) {
        out->frame_len = slot.frame.frame_len;
        out->captured = slot.frame.captured;
        out->data = *at + NC_RECORD_DATA_AT;
    } else if (out->type == NC_RECORD_DECIDED) {
        out->exit_ns = slot.exit_ns;
        out->fate = (enum nc_fate)slot.decided.fate;
        out->edits = slot.decided.edits;
        out->copy = slot.decided.copy;
        out->step = *at + NC_RECORD_STEP_AT;
    } else if (out->type == NC_RECORD_SENT) {
        out->fate = (enum nc_fate)slot.sent_fate;
    } else if (out->type == NC_RECORD_GAP) {
        out->exit_ns = slot.to_ns;
        out->gap_packets = slot.gap.packets;
        out->gap_frames = slot.gap.frames;
    }
    *at += bytes;
    return NC_RECORD_GOT;
}

int nc_record_check(const uint8_t *data, size_t len, char *why, size_t why_size)
{
    const struct nc_record_head *head = (const struct nc_record_head *)(const void *)data;
    if (len < NC_RECORD_HEAD_BYTES || memcmp(head->magic, NC_RECORD_MAGIC, sizeof head->magic) != 0) {
        snprintf(why, why_size, "is not a comet-delay record");
        return -1;
    }
    if (head->version != NC_RECORD_VERSION) {
        snprintf(why, why_size, "is a comet-delay record of version %u; this reader knows %d", head->version,
                 NC_RECORD_VERSION);
        return -1;
    }
    uint64_t rings_bytes = len - NC_RECORD_HEAD_BYTES;
    if (head->head_bytes != NC_RECORD_HEAD_BYTES || head->slot_bytes != NC_RECORD_SLOT || head->rings != NC_RECORD_RINGS ||
        head->ring_slots == 0 || head->ring_slots > rings_bytes / (NC_RECORD_SLOT * NC_RECORD_RINGS) ||
        head->text_bytes > NC_RECORD_TEXT_BYTES) {
        snprintf(why, why_size, "is a damaged or cut off comet-delay record: its head says %llu slots a ring, it has %llu bytes",
                 (unsigned long long)head->ring_slots, (unsigned long long)len);
        return -1;
    }
    for (int p = 0; p < 2; p++)
        if (!memchr(head->port[p], '\0', sizeof head->port[p])) {
            snprintf(why, why_size, "is a damaged comet-delay record: a port's name does not end");
            return -1;
        }
    return 0;
}

const char *nc_fate_name(enum nc_fate fate)
{
    static const char *const names[NC_FATE_N] = {"sent", "loss", "queue", "aqm", "pace", "memory", "write"};
    return fate < NC_FATE_N ? names[fate] : "unknown";
}
