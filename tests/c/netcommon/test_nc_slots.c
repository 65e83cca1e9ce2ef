/* Objects in memory that was mapped in advance: as many as promised, without overlap, even if no other memory is
 * left. */

#include "check.h"
#include "nc_slots.h"

enum { MOST = 1000, BYTES = 8000 };

static void as_many_as_promised_and_no_more(void)
{
    struct nc_slots slots;
    static uint8_t *objects[MOST];
    CHECK_EQ(nc_slots_init(&slots, BYTES, MOST), 0);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < MOST; i++) {
            objects[i] = nc_slots_take(&slots);
            CHECK(objects[i] && (uintptr_t)objects[i] % 16 == 0);
            memset(objects[i], i & 255, BYTES);
        }
        CHECK(!nc_slots_take(&slots));
        for (int i = 0; i < MOST; i++) {
            CHECK(objects[i][0] == (i & 255) && objects[i][BYTES - 1] == (i & 255));
            nc_slots_give(objects[i]);
        }
    }
    nc_slots_give(NULL);
    nc_slots_destroy(&slots);
    nc_slots_destroy(&slots);
}

static void what_cannot_be_mapped_is_refused(void)
{
    struct nc_slots slots;
    CHECK_EQ(nc_slots_init(&slots, BYTES, SIZE_MAX / 16), -1);
    nc_slots_destroy(&slots);
}

int main(void)
{
    RUN(as_many_as_promised_and_no_more);
    RUN(what_cannot_be_mapped_is_refused);
    return 0;
}
