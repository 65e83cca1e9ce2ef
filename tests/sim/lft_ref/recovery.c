/* Seeded simulations. Whatever the path does, every octet arrives once and in order, the limit holds, and rates are as
 * the theory says. */
#include "check.h"
#include "nc_clock.h"
#include "../../c/seeded.h"
#include "shaper.h"
#include "sim.h"

#define MS NC_NS_PER_MS

static struct sim_settings defaults(void)
{
    struct nc_error error;
    char name[] = "lft-sim", *argv[] = {name, NULL};
    struct sim_settings settings;
    CHECK_EQ(sim_settings_parse(&settings, 1, argv, &error), 0);
    return settings;
}

static void describe(const struct sim_trial *t)
{
    const struct sim_settings *s = t->settings;
    fprintf(
        stderr,
        "%s rtt %.1f ms loss %.2f %% limit %.0f Mbit/s seed %llu jitter %.1f ms burst %llu streams %llu first %llu\n",
        lft_recovery_names[t->recovery], (double)t->rtt_ns / 1e6, (double)t->loss_ppb / 1e7, (double)t->limit_bps / 1e6,
        (unsigned long long)t->seed, (double)s->jitter_ns / 1e6, (unsigned long long)s->burst,
        (unsigned long long)s->streams, (unsigned long long)s->first_number);
}

static struct sim_result run(const struct sim_trial *trial)
{
    struct sim_result result;
    sim_run(trial, &result);
    double rate_octets = (double)trial->limit_bps / 8e9 * (double)trial->settings->rate_burst_ns;
    double least_octets = LFT_SHAPER_FRAMES_LEAST * ((double)trial->settings->mtu + 64),
           burst = rate_octets > least_octets ? rate_octets : least_octets;
    if (!result.complete || !result.intact || result.burst_peak_bytes > burst)
        describe(trial);
    CHECK(result.complete);
    CHECK(result.intact);
    CHECK(result.burst_peak_bytes <= burst);
    return result;
}

/* 1 MB over 20 Mbit/s, on paths drawn at random, with frame numbers that are about to wrap. */
static void everything_arrives_once_and_in_order(void)
{
    struct seeded seeded = seeded_start();
    for (int i = 0; i < 60; i++) {
        struct sim_settings s = defaults();
        s.rate_bps = 20000000;
        s.queue_bytes = seeded_below(&seeded, 2) ? 30000 : 4000000;
        s.bytes = 300000 + seeded_below(&seeded, 700000);
        s.streams = 1 + seeded_below(&seeded, 20);
        s.first_number = UINT64_C(0xffff00) + seeded_below(&seeded, 256);
        s.jitter_ns = seeded_below(&seeded, 3) ? 0 : seeded_below(&seeded, 30) * MS;
        s.duplicate_ppb = seeded_below(&seeded, 3) ? 0 : 20000000;
        s.burst = seeded_below(&seeded, 3) ? 1 : 1 + seeded_below(&seeded, 20);
        s.ack_loss_too = seeded_below(&seeded, 2);
        s.redundancy = seeded_below(&seeded, 2);
        s.cipher = seeded_below(&seeded, 4) ? 0 : LFT_AES_128_GCM;
        struct sim_trial trial = {.settings = &s,
                                  .rtt_ns = seeded_below(&seeded, 500) * MS,
                                  .loss_ppb = (uint64_t)seeded_below(&seeded, 200) * 1000000,
                                  .limit_bps = s.rate_bps,
                                  .recovery = (enum lft_recovery)(i % LFT_RECOVERIES),
                                  .seed = seeded_next(&seeded)};
        if (trial.recovery == LFT_GBN_STRICT) { /* at most a frame per RTT, so the time is bounded */
            s.bytes = 20000;
            trial.loss_ppb /= 4;
        }
        run(&trial);
    }
}

/* The limit is far above the line's rate, so the line's queue drops the excess. Every packet that arrives is new, so
 * none of the line's capacity is wasted. */
static void a_limit_above_the_line_wastes_nothing_that_arrives(void)
{
    struct sim_settings s = defaults();
    s.rate_bps = 50000000;
    s.queue_bytes = 600000;
    s.streams = 4;
    s.duration_ns = 5 * NC_NS_PER_S;
    s.cut = true;
    struct sim_trial trial = {
        .settings = &s, .rtt_ns = 20 * MS, .limit_bps = 800000000, .recovery = LFT_SELECTIVE, .seed = 1};
    struct sim_result result;
    sim_run(&trial, &result);
    const struct lft_engine_counters *b = &result.receiver;
    printf("%llu of %llu frames came twice\n", (unsigned long long)b->rx_duplicates,
           (unsigned long long)b->rx_delivered);
    CHECK(b->rx_delivered > 0.9 * 50e6 / 8 / 1500 * 5);
    CHECK(100 * b->rx_duplicates < b->rx_delivered);
}

/* The limit of the erasure channel: (1 - p) of the line, minus framing. */
static void selective_reaches_the_bound(void)
{
    const uint64_t losses_ppb[] = {0, 1000000, 10000000, 100000000};
    for (unsigned i = 0; i < 4; i++) {
        struct sim_settings s = defaults();
        s.rate_bps = 80000000;
        s.queue_bytes = 400000;
        s.duration_ns = 40 * NC_NS_PER_S;
        s.ack_loss_too = true;
        struct sim_trial trial = {.settings = &s,
                                  .rtt_ns = 200 * MS,
                                  .loss_ppb = losses_ppb[i],
                                  .limit_bps = s.rate_bps,
                                  .recovery = LFT_SELECTIVE,
                                  .seed = 7 + i};
        struct sim_result r = run(&trial);
        if (r.goodput_bps < 0.95 * r.bound_bps)
            describe(&trial);
        CHECK(r.goodput_bps >= 0.95 * r.bound_bps);
        CHECK((double)r.receiver.rx_duplicates <= 0.02 * (double)r.receiver.rx_delivered);
        CHECK_EQ(r.path_dropped, 0);
    }
}

/* Textbook Go-Back-N with W frames in flight gives (1 - p) / (1 + p (W - 1)) of the line. */
static void textbook_go_back_n_is_as_bad_as_its_formula(void)
{
    struct sim_settings s = defaults();
    s.rate_bps = 80000000;
    s.duration_ns = 20 * NC_NS_PER_S;
    s.cut = true;
    struct sim_trial trial = {.settings = &s,
                              .rtt_ns = 200 * MS,
                              .loss_ppb = 1000000,
                              .limit_bps = s.rate_bps,
                              .recovery = LFT_GBN_STRICT,
                              .seed = 3};
    struct sim_result r = run(&trial);
    double p = 0.001, w = 80e6 / 8 / 1500 * 0.2, formula = 80e6 * r.eta * (1 - p) / (1 + p * (w - 1));
    CHECK(r.steady_bps > 0.6 * formula && r.steady_bps < 1.2 * formula);
}

/* Processes are stopped for a fiftieth of the time, and wake-ups are late. The limit still holds (`run` checks it), and
 * no other time is lost. */
static void a_stopped_gateway_loses_that_time(void)
{
    struct sim_settings s = defaults();
    s.rate_bps = 10000000000;
    s.duration_ns = 6 * NC_NS_PER_S;
    s.cut = true;
    s.late_ns = 60000;
    s.late_p99_ns = 200000;
    s.granularity_ns = 195000;
    for (unsigned stops = 0; stops < 2; stops++) {
        s.stop_every_ns = stops * 250 * MS;
        struct sim_trial trial = {
            .settings = &s, .rtt_ns = 100 * MS, .limit_bps = 800000000, .recovery = LFT_SELECTIVE, .seed = 17};
        struct sim_result r = run(&trial);
        CHECK(r.steady_bps >= (stops ? 0.97 : 0.999) * r.bound_bps);
    }
}

/* A frame that was sent x before the end of the source arrives by its copy x after the end; or by a retransmission, one
 * round trip after it was sent. So it arrives at most half a round trip after the end. If the oldest frames were copied
 * first, it would take a whole round trip. */
static void copies_repair_the_end_in_half_a_round_trip(void)
{
    struct sim_settings s = defaults();
    s.rate_bps = 80000000;
    s.bytes = 8000000;
    s.redundancy = true;
    struct sim_trial trial = {
        .settings = &s, .rtt_ns = 200 * MS, .limit_bps = s.rate_bps, .recovery = LFT_SELECTIVE, .seed = 1};
    uint64_t undisturbed_ns = run(&trial).elapsed_ns;
    for (trial.loss_ppb = 1000000; trial.seed <= 20; trial.seed++) {
        struct sim_result r = run(&trial);
        uint64_t resent_ns = r.sender.declared_lost * 1500 * 8 * NC_NS_PER_S / s.rate_bps;
        uint64_t bound_ns = undisturbed_ns + resent_ns + trial.rtt_ns / 2 + trial.rtt_ns / 8; /* 1/8: seeing a loss */
        if (r.elapsed_ns > bound_ns)
            describe(&trial);
        CHECK(r.elapsed_ns <= bound_ns);
    }
}

/* Textbook Go-Back-N accepts only the next frame, so copies of the newest frames would waste the line. */
static void copies_do_not_delay_what_a_strict_receiver_waits_for(void)
{
    struct sim_settings s = defaults();
    s.rate_bps = 80000000;
    s.bytes = 2000000;
    struct sim_trial trial = {.settings = &s,
                              .rtt_ns = 200 * MS,
                              .loss_ppb = 10000000,
                              .limit_bps = s.rate_bps,
                              .recovery = LFT_GBN_STRICT,
                              .seed = 5};
    uint64_t without_ns = run(&trial).elapsed_ns;
    s.redundancy = true;
    CHECK(run(&trial).elapsed_ns <= without_ns);
}

static void a_request_passes_a_bulk_stream(void)
{
    struct sim_settings s = defaults();
    s.rate_bps = 100000000;
    s.duration_ns = 4 * NC_NS_PER_S;
    s.request_bytes = 102400;
    struct sim_trial trial = {
        .settings = &s, .rtt_ns = 200 * MS, .limit_bps = s.rate_bps, .recovery = LFT_SELECTIVE, .seed = 5};
    struct sim_result r = run(&trial);
    CHECK(r.request_ns > 0 && r.request_ns < 4 * trial.rtt_ns); /* connect, and three round trips */
}

static void a_thousand_streams_share_alike(void)
{
    struct sim_settings s = defaults();
    s.rate_bps = 100000000;
    s.duration_ns = 20 * NC_NS_PER_S;
    s.streams = 1000;
    struct sim_trial trial = {.settings = &s,
                              .rtt_ns = 100 * MS,
                              .loss_ppb = 1000000,
                              .limit_bps = s.rate_bps,
                              .recovery = LFT_SELECTIVE,
                              .seed = 11};
    struct sim_result r = run(&trial);
    CHECK(r.jain >= 0.95);
    CHECK(r.steady_bps >= 0.9 * r.bound_bps);
}

/* `auto` must find a bottleneck far below its limit, with a queue that stays short, although 1 % is lost without
 * congestion. */
static void auto_finds_the_bottleneck(void)
{
    struct sim_settings s = defaults();
    s.rate_bps = 50000000;
    s.queue_bytes = 1000000;
    s.duration_ns = 20 * NC_NS_PER_S;
    s.auto_rate = true;
    struct sim_trial trial = {.settings = &s,
                              .rtt_ns = 50 * MS,
                              .loss_ppb = 10000000,
                              .limit_bps = 1000000000,
                              .recovery = LFT_SELECTIVE,
                              .seed = 13};
    struct sim_result r = run(&trial);
    CHECK(r.steady_bps >= 0.7 * s.rate_bps * r.eta * 0.99);
    CHECK(r.path_dropped < r.path_offered / 20);
}

int main(void)
{
    RUN(everything_arrives_once_and_in_order);
    RUN(a_limit_above_the_line_wastes_nothing_that_arrives);
    RUN(selective_reaches_the_bound);
    RUN(textbook_go_back_n_is_as_bad_as_its_formula);
    RUN(a_stopped_gateway_loses_that_time);
    RUN(copies_repair_the_end_in_half_a_round_trip);
    RUN(copies_do_not_delay_what_a_strict_receiver_waits_for);
    RUN(a_request_passes_a_bulk_stream);
    RUN(a_thousand_streams_share_alike);
    RUN(auto_finds_the_bottleneck);
    return 0;
}
