/* Records as bytes: which ones are refused, and how reading continues after damage. */
#include "record_format.h"

#include "check.h"
#include "nc_vnet.h"

enum { SLOTS = 8 };

static _Alignas(64) uint8_t memory[SLOTS * COMET_RECORD_SLOT];

static struct comet_record_slot *slot(unsigned i, enum comet_record_type type, uint8_t slots, uint32_t count)
{
    struct comet_record_slot *at = (struct comet_record_slot *)(void *)(memory + i * COMET_RECORD_SLOT);
    memset(at, 0, sizeof *at);
    at->mark = COMET_RECORD_MARK;
    at->type = (uint8_t)type;
    at->slots = slots;
    at->count = count;
    at->number = 100 + i;
    return at;
}

static enum comet_record_next read_one(const uint8_t *end, struct comet_record *out)
{
    const uint8_t *at = memory;
    return comet_record_read(&at, end, out);
}

static void records_are_read_as_written(void)
{
    struct comet_record r;
    const uint8_t *at = memory, *end = memory + sizeof memory;
    memset(memory, 0, sizeof memory);
    slot(0, COMET_RECORD_FRAME, 2, 3)->frame.frame_len = 1000;
    slot(2, COMET_RECORD_DECIDED, 1, 2)->decided.fate = FATE_AQM;
    slot(3, COMET_RECORD_GAP, 1, 0)->gap.packets = 77;
    CHECK_EQ(comet_record_read(&at, end, &r), COMET_RECORD_GOT);
    CHECK(r.type == COMET_RECORD_FRAME && r.count == 3 && r.frame_len == 1000 && r.data == memory + 32);
    CHECK_EQ(comet_record_read(&at, end, &r), COMET_RECORD_GOT);
    CHECK(r.type == COMET_RECORD_DECIDED && r.fate == FATE_AQM && r.number == 102);
    CHECK_EQ(comet_record_read(&at, end, &r), COMET_RECORD_GOT);
    CHECK(r.type == COMET_RECORD_GAP && r.gap_packets == 77);
    CHECK_EQ(comet_record_read(&at, end, &r), COMET_RECORD_BAD); /* no mark */
    CHECK_EQ(at - memory, 5 * COMET_RECORD_SLOT);
}

static void what_goes_beyond_its_slots_is_refused(void)
{
    const uint8_t *end = memory + 2 * COMET_RECORD_SLOT;
    struct comet_record r;
    struct comet_record_slot *frame = slot(0, COMET_RECORD_FRAME, 2, 1);
    frame->frame.frame_len = 1500;
    frame->frame.captured = 128 - COMET_RECORD_DATA_AT - NC_VNET_LEN;
    CHECK_EQ(read_one(end, &r), COMET_RECORD_GOT);
    frame->frame.captured++;
    CHECK_EQ(read_one(end, &r), COMET_RECORD_BAD);
    frame->frame.captured = UINT32_MAX;
    CHECK_EQ(read_one(end, &r), COMET_RECORD_BAD);
    slot(0, COMET_RECORD_DECIDED, 1, 13);
    CHECK_EQ(read_one(end, &r), COMET_RECORD_GOT);
    slot(0, COMET_RECORD_DECIDED, 1, 14);
    CHECK_EQ(read_one(end, &r), COMET_RECORD_BAD);
    slot(0, COMET_RECORD_DECIDED, 1, 0);
    CHECK_EQ(read_one(end, &r), COMET_RECORD_BAD);
    slot(0, COMET_RECORD_DECIDED, 1, 1)->decided.fate = FATE_N;
    CHECK_EQ(read_one(end, &r), COMET_RECORD_BAD);
    slot(0, COMET_RECORD_SENT, 3, 1); /* longer than what is there */
    CHECK_EQ(read_one(end, &r), COMET_RECORD_BAD);
    slot(0, COMET_RECORD_SENT, 0, 1);
    CHECK_EQ(read_one(end, &r), COMET_RECORD_BAD);
    slot(0, COMET_RECORD_SENT, 1, 1)->number = UINT64_MAX;
    CHECK_EQ(read_one(end, &r), COMET_RECORD_BAD);
    slot(0, COMET_RECORD_TYPES, 1, 1);
    CHECK_EQ(read_one(end, &r), COMET_RECORD_BAD);
    CHECK_EQ(read_one(memory + COMET_RECORD_SLOT - 1, &r), COMET_RECORD_END);
}

static void a_head_must_fit_its_file(void)
{
    enum { BYTES = COMET_RECORD_HEAD_BYTES + 2 * 4 * COMET_RECORD_SLOT };
    static _Alignas(64) uint8_t file[BYTES];
    struct comet_record_head *head = (struct comet_record_head *)(void *)file;
    char why[200];
    CHECK(comet_record_check(file, BYTES, why, sizeof why) < 0);
    memcpy(head->magic, COMET_RECORD_MAGIC, 8);
    head->version = COMET_RECORD_VERSION;
    head->head_bytes = COMET_RECORD_HEAD_BYTES;
    head->slot_bytes = COMET_RECORD_SLOT;
    head->rings = COMET_RECORD_RINGS;
    head->ring_slots = 4;
    CHECK_EQ(comet_record_check(file, BYTES, why, sizeof why), 0);
    CHECK(comet_record_check(file, BYTES - 1, why, sizeof why) < 0 && strstr(why, "cut off"));
    CHECK(comet_record_check(file, 100, why, sizeof why) < 0);
    head->ring_slots = UINT64_MAX;
    CHECK(comet_record_check(file, BYTES, why, sizeof why) < 0);
    head->ring_slots = 4;
    memset(head->port[1], 'x', sizeof head->port[1]);
    CHECK(comet_record_check(file, BYTES, why, sizeof why) < 0);
    memset(head->port[1], 0, sizeof head->port[1]);
    head->version = 1; /* without LINE records */
    CHECK_EQ(comet_record_check(file, BYTES, why, sizeof why), 0);
    head->version = COMET_RECORD_VERSION + 1;
    CHECK(comet_record_check(file, BYTES, why, sizeof why) < 0 && strstr(why, "version 3"));
}

int main(void)
{
    RUN(records_are_read_as_written);
    RUN(what_goes_beyond_its_slots_is_refused);
    RUN(a_head_must_fit_its_file);
    return 0;
}
