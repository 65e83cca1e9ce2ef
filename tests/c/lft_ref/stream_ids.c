/* Which stream identifiers have begun. Each may begin once per lap of the numbers, in any order, and not too far
 * ahead. */
#include "stream_ids.h"

#include "../seeded.h"
#include "check.h"
#include "wire.h"

/* Three laps of all 2^23 numbers of a kind, out of order by up to 999, with some numbers skipped or still in use. Each
 * begins once per lap. */
static void identifiers_begin_once_a_lap(void)
{
    enum { LAP = 1 << 23, MIXED = 1000 };
    struct lft_stream_ids ids;
    CHECK(lft_stream_ids_init(&ids));
    for (uint64_t block = 0; block < 3ull * LAP; block += MIXED)
        for (uint64_t i = 0; i < MIXED; i++) {
            uint64_t number = block + i * 7 % MIXED;
            if (number % LAP == 77 && number > LAP)
                continue; /* in use since the first lap */
            uint32_t id = (uint32_t)(2 * number + 1) & LFT_NUMBER_MASK;
            CHECK_EQ(lft_stream_ids_begin(&ids, id), LFT_STREAM_ID_NEW);
            if (i % 100 == 0) {
                CHECK_EQ(lft_stream_ids_begin(&ids, id), LFT_STREAM_ID_SEEN);
                CHECK(block < LAP / 4 ||
                      lft_stream_ids_begin(&ids, (id - LAP / 4 * 2) & LFT_NUMBER_MASK) == LFT_STREAM_ID_SEEN ||
                      number % LAP == 77 + LAP / 4);
            }
        }
    lft_stream_ids_clear(&ids);
    CHECK_EQ(lft_stream_ids_begin(&ids, 1), LFT_STREAM_ID_NEW);
    lft_stream_ids_free(&ids);
}

/* Jumps of any length, compared with a plain table of the numbers that have begun. */
static void identifiers_jump_so_far_and_no_further(void)
{
    enum { LAP = 1 << 23 };
    static uint64_t begun[LAP]; /* 1 + the last number that has begun here, counted without wrapping */
    struct seeded seeded = seeded_start();
    struct lft_stream_ids ids;
    CHECK(lft_stream_ids_init(&ids));
    uint64_t highest = 7 * (uint64_t)LAP - 1;
    for (int i = 0; i < 200000; i++) {
        uint32_t jump = seeded_below(&seeded, 1u << seeded_below(&seeded, 19)), back = seeded_below(&seeded, LAP / 2);
        uint64_t number = seeded_below(&seeded, 4) ? highest + jump : highest - back;
        bool wrong = number > highest + LFT_STREAM_IDS_AHEAD, seen = begun[number % LAP] == number + 1;
        CHECK_EQ(lft_stream_ids_begin(&ids, (uint32_t)(2 * number) & LFT_NUMBER_MASK), wrong  ? LFT_STREAM_ID_WRONG
                                                                                       : seen ? LFT_STREAM_ID_SEEN
                                                                                              : LFT_STREAM_ID_NEW);
        if (wrong)
            continue;
        begun[number % LAP] = number + 1;
        highest = number > highest ? number : highest;
    }
    lft_stream_ids_free(&ids);
}

int main(void)
{
    RUN(identifiers_begin_once_a_lap);
    RUN(identifiers_jump_so_far_and_no_further);
    return 0;
}
