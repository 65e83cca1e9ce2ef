/* Only reads records: the box writes them (path/recorder.h). */
#include "record_format.h"

#include <stdio.h>
#include <string.h>

#include "nc_vnet.h"

static bool fits(const struct comet_record_slot *slot, uint32_t bytes)
{
    switch ((enum comet_record_type)slot->type) {
    case COMET_RECORD_FRAME:
        return slot->count >= 1 && slot->count <= COMET_RECORD_PARTS_MAX &&
               slot->frame.captured <= slot->frame.frame_len && slot->frame.captured <= bytes &&
               COMET_RECORD_DATA_AT + NC_VNET_LEN + slot->frame.captured <= bytes;
    case COMET_RECORD_DECIDED:
        return slot->exit_ns <= slot->t_ns && slot->count >= 1 && slot->count <= COMET_RECORD_COUNT_MAX &&
               slot->decided.fate < FATE_N && COMET_RECORD_STEP_AT + 2 * (slot->count - 1) <= bytes;
    case COMET_RECORD_SENT:
        return slot->count >= 1 && slot->count <= COMET_RECORD_PARTS_MAX && slot->sent_fate < FATE_N;
    case COMET_RECORD_GAP:
    case COMET_RECORD_PAD:
    case COMET_RECORD_LINE:
        return true;
    case COMET_RECORD_TYPES:
        break;
    }
    return false;
}

enum comet_record_next comet_record_read(const uint8_t **at, const uint8_t *end, struct comet_record *out)
{
    struct comet_record_slot slot;
    if (end - *at < COMET_RECORD_SLOT)
        return COMET_RECORD_END;
    memcpy(&slot, *at, sizeof slot);
    uint32_t bytes = slot.slots * (uint32_t)COMET_RECORD_SLOT;
    if (slot.mark != COMET_RECORD_MARK || slot.type >= COMET_RECORD_TYPES || bytes == 0 ||
        bytes > (size_t)(end - *at) || slot.number > UINT64_MAX / 2 || slot.t_ns > UINT64_MAX / 2 ||
        !fits(&slot, bytes)) {
        *at += COMET_RECORD_SLOT;
        return COMET_RECORD_BAD;
    }
    *out = (struct comet_record){.type = (enum comet_record_type)slot.type,
                                 .slots = slot.slots,
                                 .count = slot.count,
                                 .number = slot.number,
                                 .t_ns = slot.t_ns};
    if (out->type == COMET_RECORD_FRAME) {
        out->frame_len = slot.frame.frame_len;
        out->captured = slot.frame.captured;
        out->data = *at + COMET_RECORD_DATA_AT;
    } else if (out->type == COMET_RECORD_DECIDED) {
        out->exit_ns = slot.exit_ns;
        out->fate = (enum fate)slot.decided.fate;
        out->edits = slot.decided.edits;
        out->copy = slot.decided.copy;
        out->step = *at + COMET_RECORD_STEP_AT;
    } else if (out->type == COMET_RECORD_SENT) {
        out->fate = (enum fate)slot.sent_fate;
    } else if (out->type == COMET_RECORD_GAP) {
        out->exit_ns = slot.to_ns;
        out->gap_packets = slot.gap.packets;
        out->gap_frames = slot.gap.frames;
    } else if (out->type == COMET_RECORD_LINE) {
        out->line = slot.line;
    }
    *at += bytes;
    return COMET_RECORD_GOT;
}

int comet_record_check(const uint8_t *data, size_t len, char *why, size_t why_size)
{
    const struct comet_record_head *head = (const struct comet_record_head *)(const void *)data;
    if (len < COMET_RECORD_HEAD_BYTES || memcmp(head->magic, COMET_RECORD_MAGIC, sizeof head->magic) != 0) {
        snprintf(why, why_size, "is not a comet-delay record");
        return -1;
    }
    if (head->version < 1 || head->version > COMET_RECORD_VERSION) {
        snprintf(why, why_size, "is a comet-delay record of version %u; this reader knows 1 to %d", head->version,
                 COMET_RECORD_VERSION);
        return -1;
    }
    uint64_t rings_bytes = len - COMET_RECORD_HEAD_BYTES;
    if (head->head_bytes != COMET_RECORD_HEAD_BYTES || head->slot_bytes != COMET_RECORD_SLOT ||
        head->rings != COMET_RECORD_RINGS || head->ring_slots == 0 ||
        head->ring_slots > rings_bytes / (COMET_RECORD_SLOT * COMET_RECORD_RINGS) ||
        head->text_bytes > COMET_RECORD_TEXT_BYTES) {
        snprintf(why, why_size,
                 "is a damaged or cut off comet-delay record: its head says %llu slots a ring, it has %llu bytes",
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

const char *fate_name(enum fate fate)
{
    static const char *const names[FATE_N] = {"sent",   "loss",  "queue", "aqm",    "pace",
                                              "memory", "write", "drain", "outage", "policer"};
    return fate < FATE_N ? names[fate] : "unknown";
}
