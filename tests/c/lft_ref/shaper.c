/* The limit on the wire: at most rate x T + burst in every interval of length T, however the thread is delayed; and the
 * full rate if nothing delays it. */
#include "check.h"
#include "nc_clock.h"
#include "../seeded.h"
#include "shaper.h"

#define US NC_NS_PER_US
#define MS NC_NS_PER_MS

/* The worst of all intervals. Imagine a queue that is emptied at the limit: its largest fill so far is the largest
 * excess over rate x T. */
struct wire {
    double fill, worst, octets;
    uint64_t at_ns;
};

static void put_on_wire(struct wire *wire, uint64_t rate_bps, uint32_t octets, uint64_t now_ns)
{
    wire->fill -= (double)(now_ns - wire->at_ns) * (double)rate_bps / 8e9;
    wire->fill = (wire->fill > 0 ? wire->fill : 0) + octets;
    wire->worst = wire->fill > wire->worst ? wire->fill : wire->worst;
    wire->octets += octets;
    wire->at_ns = now_ns;
}

/* A model of a gateway's loop. It reads the clock and sends, in batches, everything that the shaper allows at that
 * time. Each batch reaches the wire some time later. */
struct load {
    uint64_t rate_bps, burst_ns, length_ns;
    unsigned stop_in;          /* one in this many wake-ups and batches is delayed by 0.1 to 50 ms; 0: none */
    uint32_t late_ns;          /* of each wake-up, at most */
    bool smaller_frames, idle; /* ACKs between full frames, and sometimes nothing to send */
};
enum { FRAME = 1500, BATCH = 44, TURN_BATCHES = 64 };

static uint64_t stop(struct seeded *seeded, const struct load *load)
{
    return load->stop_in && !seeded_below(seeded, load->stop_in) ? 100 * US + seeded_below(seeded, 49900000) : 0;
}

static uint64_t send_allowed(struct lft_shaper *shaper, struct seeded *seeded, const struct load *load,
                             struct wire *wire, uint64_t now)
{
    for (unsigned batches = 0; batches < TURN_BATCHES && lft_shaper_ready(shaper, now); batches++) {
        uint32_t octets[BATCH];
        unsigned n = 0;
        for (; n < BATCH && lft_shaper_ready(shaper, now); n++) {
            octets[n] = load->smaller_frames && !seeded_below(seeded, 3) ? 80 + seeded_below(seeded, 400) : FRAME;
            lft_shaper_sent(shaper, octets[n], now);
        }
        now += stop(seeded, load);
        for (unsigned i = 0; i < n; i++)
            put_on_wire(wire, load->rate_bps, octets[i], now);
        now += stop(seeded, load);
        lft_shaper_left(shaper, now);
    }
    return now;
}

static struct wire play(struct seeded *seeded, const struct load *load)
{
    struct lft_shaper shaper;
    uint64_t now = 1 + seeded_next(seeded) % (1000 * MS), end = now + load->length_ns;
    struct wire wire = {.at_ns = now};
    lft_shaper_init(&shaper, load->rate_bps, load->burst_ns, FRAME, now);
    while (now < end) {
        now = send_allowed(&shaper, seeded, load, &wire, now);
        if (load->idle && !seeded_below(seeded, 50)) {
            lft_shaper_idle(&shaper);
            now += seeded_below(seeded, 20000000);
        }
        uint64_t next = lft_shaper_next_ns(&shaper), rested = now + lft_shaper_rest_ns(&shaper);
        now = (next > rested ? next : rested) + (load->late_ns ? seeded_below(seeded, load->late_ns) : 0) +
              stop(seeded, load);
    }
    double most = (double)load->rate_bps / 8e9 * (double)load->burst_ns;
    CHECK(wire.worst <= (most > LFT_SHAPER_FRAMES_LEAST * FRAME ? most : LFT_SHAPER_FRAMES_LEAST * FRAME));
    return wire;
}

static const uint64_t rates[] = {1000000, 10000000, 55000000, 800000000, 3000000000, UINT64_C(40000000000)};
enum { RATES = sizeof rates / sizeof rates[0] };

static void no_interval_exceeds_rate_and_burst_whatever_stops_the_thread(void)
{
    struct seeded seeded = seeded_start();
    const uint64_t bursts_ns[] = {20 * US, 200 * US, LFT_SHAPER_BURST_NS, 10 * MS};
    for (unsigned r = 0; r < RATES; r++)
        for (unsigned i = 0; i < 32; i++)
            play(&seeded, &(struct load){.rate_bps = rates[r],
                                         .burst_ns = bursts_ns[i % 4],
                                         .length_ns = 3000 * MS,
                                         .stop_in = 2 + i * i,
                                         .late_ns = i % 3 ? 100000 : 0,
                                         .smaller_frames = i & 4,
                                         .idle = i & 8});
}

/* From 96 Mbit/s on, the fullest 100 ms hold at most what `1 % above for 100 ms` allows. */
static void the_burst_is_a_hundredth_of_a_hundred_milliseconds(void)
{
    struct seeded seeded = seeded_start();
    for (unsigned r = 0; r < RATES; r++) {
        struct load load = {
            .rate_bps = rates[r], .burst_ns = LFT_SHAPER_BURST_NS, .length_ns = 1000 * MS, .stop_in = 100};
        CHECK(play(&seeded, &load).worst <= 0.01 * (double)load.rate_bps / 80 || load.rate_bps < 96000000);
    }
}

static double share(struct seeded *seeded, const struct load *load)
{
    return play(seeded, load).octets / ((double)load->rate_bps / 8e9 * (double)load->length_ns);
}

static void nothing_is_lost_where_nothing_stops_the_thread(void)
{
    struct seeded seeded = seeded_start();
    for (unsigned r = 0; r < RATES; r++)
        for (unsigned smaller = 0; smaller < 2; smaller++) {
            struct load load = {.rate_bps = rates[r],
                                .burst_ns = LFT_SHAPER_BURST_NS,
                                .length_ns = rates[r] > 1000000000 ? 500 * MS : 5000 * MS,
                                .smaller_frames = smaller};
            CHECK(share(&seeded, &load) >= 0.999);
            load.late_ns = 400 * US; /* as every machine does */
            CHECK(share(&seeded, &load) >= 0.999);
        }
}

/* A gateway that was stopped loses the time of the stop minus the burst, and no more. */
static void a_stop_costs_its_own_time(void)
{
    struct seeded seeded = seeded_start();
    struct lft_shaper shaper;
    const uint64_t rate = 800000000;
    const struct load load = {.rate_bps = rate};
    for (uint64_t stopped = MS / 2; stopped <= 50 * MS; stopped += MS / 2) {
        struct wire wire = {0};
        uint64_t now = 0;
        lft_shaper_init(&shaper, rate, LFT_SHAPER_BURST_NS, FRAME, now);
        for (bool once = false; now < 200 * MS; now = lft_shaper_next_ns(&shaper)) {
            now += !once && now > 100 * MS ? stopped : 0;
            once = now > 100 * MS;
            now = send_allowed(&shaper, &seeded, &load, &wire, now);
        }
        double lost_ns = (double)now - wire.octets * 8e9 / (double)rate;
        CHECK(lost_ns <= (double)(stopped > LFT_SHAPER_BURST_NS ? stopped - LFT_SHAPER_BURST_NS : 0) + 100 * US);
    }
}

/* Idle time is not saved up: after it, 16 frames may leave at once, but not the whole burst. */
static void a_burst_after_idle_time_is_short(void)
{
    struct lft_shaper shaper;
    lft_shaper_init(&shaper, 800000000, LFT_SHAPER_BURST_NS, FRAME, 0);
    unsigned n = 0;
    lft_shaper_sent(&shaper, FRAME, 0);
    lft_shaper_idle(&shaper);
    for (; lft_shaper_ready(&shaper, 100 * MS); n++)
        lft_shaper_sent(&shaper, FRAME, 100 * MS);
    CHECK(n >= 13 && n <= 16);
}

static void the_rate_changes_from_now_on(void)
{
    struct lft_shaper shaper;
    uint64_t now = 5;
    lft_shaper_init(&shaper, 0, LFT_SHAPER_BURST_NS, FRAME, now);
    CHECK(lft_shaper_ready(&shaper, now));
    CHECK_EQ(lft_shaper_next_ns(&shaper), 0);
    CHECK_EQ(lft_shaper_rest_ns(&shaper), 0);
    for (unsigned r = 0; r < RATES; r++) {
        double octets = 0;
        uint64_t from = now, end = now + 100 * MS;
        lft_shaper_set(&shaper, rates[r], FRAME, now);
        for (; now < end; now = lft_shaper_next_ns(&shaper))
            for (; lft_shaper_ready(&shaper, now); octets += FRAME)
                lft_shaper_sent(&shaper, FRAME, now);
        double due = (double)rates[r] / 8e9 * (double)(now - from);
        CHECK(octets >= 0.999 * due - FRAME &&
              octets <= due + LFT_SHAPER_FRAMES_LEAST * FRAME + (double)rates[r] / 8000);
    }
}

int main(void)
{
    RUN(no_interval_exceeds_rate_and_burst_whatever_stops_the_thread);
    RUN(the_burst_is_a_hundredth_of_a_hundred_milliseconds);
    RUN(nothing_is_lost_where_nothing_stops_the_thread);
    RUN(a_stop_costs_its_own_time);
    RUN(a_burst_after_idle_time_is_short);
    RUN(the_rate_changes_from_now_on);
    return 0;
}
