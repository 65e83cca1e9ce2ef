/* Silences of a sender, and which of them waited for its send buffer. Segments have 1,000 bytes. */
#include "send_buffer.h"

#include "check.h"

enum { MSS = 1000, LEFT = 50 * MSS };

static bool full_segment(struct pl_send_buffer *buffer, uint64_t left_bytes, bool at_once)
{
    return pl_send_buffer_silence(buffer, left_bytes, at_once, MSS, MSS);
}

static void as_much_left_twice_shows_the_buffer(void)
{
    struct pl_send_buffer buffer = {0};
    CHECK(!full_segment(&buffer, LEFT, true));
    CHECK(buffer.woken);
    CHECK(full_segment(&buffer, LEFT + LEFT / 16, true));
}

/* A program that runs late finds the buffer as full as before, or fuller if the program's timer ended its wait. */
static void a_known_buffer_is_full_also_where_nothing_ends_the_silence_at_once(void)
{
    struct pl_send_buffer buffer = {0};
    full_segment(&buffer, LEFT, true);
    full_segment(&buffer, LEFT, true);
    CHECK(full_segment(&buffer, LEFT * 3 / 2, false));
    CHECK(!full_segment(&buffer, LEFT / 2, false));
}

static void other_amounts_and_other_times_show_nothing(void)
{
    struct pl_send_buffer buffer = {0};
    CHECK(!full_segment(&buffer, LEFT, true));
    CHECK(!full_segment(&buffer, LEFT / 2, true));
    CHECK(!full_segment(&buffer, LEFT, true));
    CHECK(!full_segment(&buffer, LEFT, false));
    CHECK(!buffer.known);
}

/* Requests that are answered: almost nothing is left in flight each time. */
static void nothing_left_is_no_buffer(void)
{
    struct pl_send_buffer buffer = {0};
    for (int i = 0; i < 3; i++)
        CHECK(!full_segment(&buffer, 2 * MSS, true));
}

/* The remainder of a write waits for the acknowledgement of the previous packet (Nagle's rule). */
static void a_silence_that_a_short_segment_ends_is_not_the_send_buffer(void)
{
    struct pl_send_buffer buffer = {0};
    for (int i = 0; i < 3; i++)
        CHECK(!pl_send_buffer_silence(&buffer, LEFT, true, MSS / 2, MSS));
    CHECK(!buffer.known);
}

int main(void)
{
    RUN(as_much_left_twice_shows_the_buffer);
    RUN(a_known_buffer_is_full_also_where_nothing_ends_the_silence_at_once);
    RUN(other_amounts_and_other_times_show_nothing);
    RUN(nothing_left_is_no_buffer);
    RUN(a_silence_that_a_short_segment_ends_is_not_the_send_buffer);
    return 0;
}
