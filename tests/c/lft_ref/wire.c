/* Octets of frames, wrap-around of numbers, and the replay window. */
#include "wire.h"

#include "check.h"
#include "seeded.h"
#include "replay.h"

static void numbers_wrap_around(void)
{
    CHECK_EQ(lft_number_unwrap(5, 0), 5);
    CHECK_EQ(lft_number_unwrap(0, 0xffffff), 0x1000000);
    CHECK_EQ(lft_number_unwrap(0xffffff, 0x1000000), 0xffffff);
    CHECK_EQ(lft_number_unwrap(0xfffff0, 3), 0xfffff0); /* before 0 there is nothing */
    struct seeded seeded = seeded_start();
    for (int i = 0; i < 100000; i++) {
        uint64_t off = seeded_below(&seeded, 1 << 23);
        uint64_t expected = off + (seeded_next(&seeded) >> 20); /* no number is negative */
        uint64_t number = seeded_below(&seeded, 2) ? expected + off : expected - off;
        CHECK(lft_number_unwrap(number & LFT_NUMBER_MASK, expected) == number);
    }
}

static void payload_fits_the_room(void)
{
    for (size_t room = 40; room < 2000; room++)
        for (size_t block = 4; block <= 8; block += 4) {
            size_t payload = lft_payload_for(room, block);
            CHECK(LFT_FRAME_OVERHEAD + payload + lft_padding(payload, block) <= room);
            payload++;
            CHECK(LFT_FRAME_OVERHEAD + payload + lft_padding(payload, block) > room);
        }
    CHECK_EQ(lft_payload_for(1472, 4), 1438);
}

static void reports_survive(void)
{
    struct lft_report in = {.largest_counter = UINT64_C(0x123456789abcdef0),
                            .arrival_us = 7,
                            .delay_us = 8,
                            .received_bytes = 9,
                            .flags = 1,
                            .words_n = 3,
                            .recovered_n = 2,
                            .words = {1, 2, 3},
                            .recovered = {4, 0xffffff}},
                      out;
    uint8_t at[200];
    size_t n = lft_report_put(at, sizeof at, &in);
    CHECK_EQ(n, 28 + 24 + 6);
    CHECK_EQ(lft_report_get(at, at + n, &out), 0);
    CHECK(out.largest_counter == in.largest_counter && out.words[2] == 3 && out.recovered[1] == 0xffffff &&
          out.flags == 1);
    for (size_t cut = 0; cut < n; cut++)
        CHECK_EQ(lft_report_get(at, at + cut, &out), -1);
}

static void opens_survive(void)
{
    struct lft_open in = {.family = LFT_FAMILY_IPV6,
                          .flags = 1,
                          .destination_port = 80,
                          .source_port = 4000,
                          .source = {1},
                          .destination = {2}},
                    out;
    uint8_t at[LFT_OPEN_BODY_MAX];
    size_t n = lft_open_put(at, &in);
    CHECK_EQ(n, 40);
    CHECK_EQ(lft_open_get(at, at + n, &out), 0);
    CHECK(memcmp(&in, &out, sizeof in) == 0);
    CHECK_EQ(lft_open_get(at, at + n - 1, &out), -1);
    in = (struct lft_open){.family = LFT_FAMILY_NAME, .destination_port = 443, .name = "example.org"};
    n = lft_open_put(at, &in);
    CHECK_EQ(lft_open_get(at, at + n, &out), 0);
    CHECK_STR(out.name, "example.org");
    at[10] = 0; /* C code would read a name that contains a NUL as a shorter name */
    CHECK_EQ(lft_open_get(at, at + n, &out), -1);
}

/* Compared with a plain set: each counter within the window must be accepted once, in any order. */
static void replay_window_is_exact(void)
{
    static struct lft_replay replay;
    static uint8_t seen[400000];
    struct seeded seeded = seeded_start();
    uint64_t front = 1;
    for (int i = 0; i < 300000; i++) {
        front += seeded_below(&seeded, 3) + (seeded_below(&seeded, 5000) == 0 ? 3000 : 0);
        uint64_t back = seeded_below(&seeded, 60000), counter = back < front ? front - back : front;
        if (counter >= sizeof seen)
            break;
        CHECK(lft_replay_fresh(&replay, counter) == !seen[counter] || counter + LFT_REPLAY_BITS - 64 <= replay.largest);
        if (!lft_replay_fresh(&replay, counter))
            continue;
        lft_replay_mark(&replay, counter);
        seen[counter] = 1;
        CHECK(!lft_replay_fresh(&replay, counter));
    }
    for (uint64_t top = replay.largest; top > 64 && top > replay.largest - 5000; top -= 37) {
        uint64_t word = lft_replay_word(&replay, top);
        for (unsigned i = 0; i < 64; i++)
            CHECK_EQ(word >> (63 - i) & 1, seen[top - 1 - i]);
    }
    CHECK(!lft_replay_fresh(&replay, 0));
}

int main(void)
{
    RUN(numbers_wrap_around);
    RUN(payload_fits_the_room);
    RUN(reports_survive);
    RUN(opens_survive);
    RUN(replay_window_is_exact);
    return 0;
}
