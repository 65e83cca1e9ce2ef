/* Counting transmissions: separate flows, wrap-around, reused ports, and the bounds. */
#include "tcp_track.h"

#include "check.h"

static struct tcp_track *track_new(void)
{
    struct tcp_track *track = calloc(1, sizeof *track);
    CHECK(track);
    return track;
}

static struct tcp_seen see(struct tcp_track *track, uint64_t flow, uint32_t seq, uint32_t len, bool syn)
{
    struct tcp_seen seen = {0};
    tcp_track_see(track, &(struct loss_tcp){.flow = flow, .seq = seq, .len = len, .syn = syn}, &seen);
    return seen;
}

static void numbers_are_relative_to_the_syn(void)
{
    struct tcp_track *track = track_new();
    CHECK_EQ(see(track, 1, 5000, 1, true).from, 0);
    CHECK_EQ(see(track, 1, 5001, 100, false).from, 1);
    CHECK_EQ(see(track, 1, 5101, 100, false).to, 201);
    CHECK_EQ(see(track, 1, 5000, 1, true).transmission, 2); /* the SYN again */
    CHECK_EQ(see(track, 2, 700, 100, false).from, 1);       /* met on its way */
    CHECK_EQ(see(track, 2, 600, 100, false).to, 0);         /* from before we came */
    CHECK_EQ(see(track, 2, 800, 0, false).transmission, 0); /* a pure ACK */
    free(track);
}

static void numbers_do_not_wrap(void)
{
    struct tcp_track *track = track_new();
    uint64_t sent = 0;
    see(track, 1, 3000000000u, 1, true);
    for (int i = 0; i < 200000; i++, sent += 65000) { /* 13 GB: three times around */
        struct tcp_seen seen = see(track, 1, (uint32_t)(3000000001u + sent), 65000, false);
        CHECK_EQ(seen.from, 1 + sent);
        CHECK_EQ(seen.transmission, 1);
    }
    CHECK_EQ(see(track, 1, (uint32_t)(3000000001u + sent - 65000), 65000, false).from, 1 + sent - 65000);
    free(track);
}

static void a_new_syn_begins_a_new_connection(void)
{
    struct tcp_track *track = track_new();
    see(track, 1, 100, 1, true);
    see(track, 1, 101, 1000, false);
    CHECK_EQ(see(track, 1, 101, 1000, false).transmission, 2);
    see(track, 1, 99000, 1, true);
    CHECK_EQ(see(track, 1, 99001, 1000, false).from, 1);
    CHECK_EQ(see(track, 1, 99001, 1000, false).transmission, 2);
    CHECK_EQ(see(track, 1, 99001, 1000, false).transmission, 3);
    free(track);
}

static void flows_do_not_mix(void)
{
    struct tcp_track *track = track_new();
    enum { FLOWS = 16 }; /* 16 of 64 entries in sets of four: all stay */
    for (uint64_t flow = 1; flow <= FLOWS; flow++)
        see(track, flow, 1, 1000, false);
    for (int again = 2; again < 6; again++)
        for (uint64_t flow = 1; flow <= FLOWS; flow++)
            CHECK_EQ(see(track, flow, 1, 1000, false).transmission, again);
    free(track);
}

/* A whole window sent twice, as after a time-out: far more than one set can hold. */
static void a_thousand_retransmitted_segments_are_told_apart(void)
{
    struct tcp_track *track = track_new();
    enum { SEGMENTS = 1000 };
    int wrong = 0;
    for (int transmission = 1; transmission <= 4; transmission++)
        for (uint32_t i = 0; i < SEGMENTS; i++)
            wrong += see(track, 1, 77 + i * 1448, 1448, false).transmission != (uint32_t)transmission;
    CHECK(wrong < SEGMENTS * 4 / 50); /* a set of four overflows with Poisson(0.98 segments): 0.4 % */
    free(track);
}

static void memory_is_bounded_and_the_latest_flows_stay(void)
{
    struct tcp_track *track = track_new();
    for (uint64_t flow = 0; flow < 1000000; flow++) {
        see(track, flow, 1, 1000, false);
        CHECK_EQ(see(track, flow, 1, 1000, false).transmission, 2);
    }
    free(track);
}

int main(void)
{
    RUN(numbers_are_relative_to_the_syn);
    RUN(numbers_do_not_wrap);
    RUN(a_new_syn_begins_a_new_connection);
    RUN(flows_do_not_mix);
    RUN(a_thousand_retransmitted_segments_are_told_apart);
    RUN(memory_is_bounded_and_the_latest_flows_stay);
    return 0;
}
