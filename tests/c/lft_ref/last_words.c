/* A host that fails: its stream delivers the octets that the host had sent before, and then reports the failure. */
#include "nc_range.h"
#include "pair.h"
#include "session.h"

/* Loses every third datagram to end 0. */
static bool lose_some(struct pair *pair, int to, uint8_t *at, size_t n)
{
    (void)at, (void)n;
    return to == 0 && pair->seen % 3 == 0;
}

/* A server answers and fails while the client still sends. Parts of the answer are lost, the RESET overtakes it, and
 * the client's gateway reads slowly. The gateway must still get every octet in order, and then learn of the failure.
 * Nobody reads the client's octets any more. */
static void last_words_arrive_before_the_reset(void)
{
    static const size_t sizes[] = {0, 100, 200000};
    static uint8_t answer[200000], got[sizeof answer], upload[65536];
    for (size_t i = 0; i < sizeof answer; i++)
        answer[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
        bool with_fin = i % 2;
        size_t written = 0, read = 0, size = sizes[i / 2];
        struct pair *pair = pair_start();
        struct lft_stream *stream[2];
        unsigned events = 0, seen = 0;
        pair_stream(pair, stream);
        pair->hook = lose_some;
        while (written < size) {
            lft_stream_write(stream[0], upload, sizeof upload);
            written += lft_stream_write(stream[1], answer + written, size - written);
            pair_run(pair, NC_NS_PER_MS);
            if (written > 50000)
                read += pair_read(pair, stream[0], got + read, sizeof got - read);
        }
        if (with_fin)
            lft_stream_finish(stream[1]);
        lft_stream_fail(stream[1], &(struct lft_result){.code = LFT_RESULT_RESET});
        lft_stream_release(stream[1]);
        for (int ms = 0; ms < 5000 && !(events & LFT_EVENT_FAILED); ms++) {
            pair_run(pair, NC_NS_PER_MS);
            read += pair_read(pair, stream[0], got + read, ms % 10 ? 0 : nc_min(sizeof got - read, 5000));
            while (!(events & LFT_EVENT_FAILED) && lft_session_event(lft_link_session(pair->link[0]), &events))
                seen |= events;
        }
        CHECK(events & LFT_EVENT_FAILED && !(seen & LFT_EVENT_RESET));
        CHECK_EQ((seen & LFT_EVENT_END) != 0, with_fin);
        CHECK_EQ(read, size);
        CHECK_EQ(memcmp(got, answer, size), 0);
        CHECK_EQ(lft_stream_result(stream[0])->code, LFT_RESULT_RESET);
        lft_stream_release(stream[0]);
        pair->hook = NULL;
        pair_nothing_left(pair);
    }
}

/* If a client's gateway gives a stream up, this also ends the data that the server's gateway still has to send. */
static void last_words_that_nobody_reads_leave_nothing(void)
{
    static uint8_t octets[65536];
    struct pair *pair = pair_start();
    struct lft_stream *stream[2];
    pair_stream(pair, stream);
    while (lft_stream_write(stream[1], octets, sizeof octets))
        pair_run(pair, 50 * NC_NS_PER_MS);
    lft_stream_fail(stream[1], &(struct lft_result){.code = LFT_RESULT_RESET});
    lft_stream_release(stream[1]);
    pair_run(pair, 50 * NC_NS_PER_MS);
    CHECK(pair_event(pair, 0, LFT_EVENT_READABLE) == stream[0]);
    lft_stream_release(stream[0]);
    pair_nothing_left(pair);
}

/* Both hosts fail while both ends wait for credit. */
static void two_ends_that_fail_leave_nothing(void)
{
    static uint8_t octets[65536];
    struct pair *pair = pair_start();
    struct lft_stream *stream[2];
    pair_stream(pair, stream);
    for (int i = 0; i < 2; i++)
        while (lft_stream_write(stream[i], octets, sizeof octets))
            pair_run(pair, 50 * NC_NS_PER_MS);
    for (int i = 0; i < 2; i++) {
        lft_stream_fail(stream[i], &(struct lft_result){.code = LFT_RESULT_RESET});
        lft_stream_release(stream[i]);
    }
    pair_nothing_left(pair);
}

int main(void)
{
    RUN(last_words_arrive_before_the_reset);
    RUN(last_words_that_nobody_reads_leave_nothing);
    RUN(two_ends_that_fail_leave_nothing);
    return 0;
}
