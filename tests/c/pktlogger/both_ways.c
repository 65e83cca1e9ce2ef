/* Losses in both directions that one outage explains, and losses that coincide by chance. A packet is sent every 0.5 ms
 * for 4 s, each direction takes 10 ms, and each packet that arrives is acknowledged. */
#include "both_ways.h"

#include <math.h>
#include <stdio.h>

#include "check.h"

#define MS INT64_C(1000000)
enum { PACKETS = 8000, SEEDS = 1000 };

static const double gap_ms = 0.5, way_ms = 10;

struct trial {
    struct pl_loss_study study;
    pl_ack_runs acks;
    uint64_t state;
    bool lost[2][PACKETS]; /* data, and acknowledgements */
};

static double even(struct trial *trial)
{
    trial->state ^= trial->state >> 12;
    trial->state ^= trial->state << 25;
    trial->state ^= trial->state >> 27;
    return (double)((trial->state * UINT64_C(2685821657736338717)) >> 11) / 9007199254740992.0;
}

/* The outage is at a point that data reach after `x_ms`, and that acknowledgements pass, too. */
static void outage(struct trial *trial, double from_ms, double until_ms, double x_ms)
{
    for (int i = 0; i < PACKETS; i++) {
        double data_ms = i * gap_ms + x_ms, ack_ms = i * gap_ms + way_ms + way_ms - x_ms;
        trial->lost[0][i] = trial->lost[0][i] || (data_ms >= from_ms && data_ms < until_ms);
        trial->lost[1][i] = trial->lost[1][i] || (ack_ms >= from_ms && ack_ms < until_ms);
    }
}

/* A two-state channel for each direction, with loss bursts of this mean length. */
static void bursts(struct trial *trial, int way, double share, double length)
{
    bool bad = false;
    for (int i = 0; i < PACKETS; i++) {
        bad = even(trial) < (bad ? 1 - 1 / length : share / length);
        trial->lost[way][i] = trial->lost[way][i] || bad;
    }
}

static void gather(struct trial *trial)
{
    int64_t before_ns = INT64_MIN;
    bool open = false;
    for (int i = 0; i < PACKETS; i++) {
        struct pl_segment part = {.t_sent_ns = (int64_t)(i * gap_ms * MS), .t_received_ns = trial->lost[0][i] ? -1 : 1};
        struct pl_loss_study *study = &trial->study;
        int64_t ack_ns = part.t_sent_ns + (int64_t)(way_ms * MS);
        if (trial->lost[0][i])
            CHECK_EQ(pl_loss_study_loss(study, &part, 0), 0);
        else
            CHECK_EQ(pl_loss_study_arrival(study, &part), 0);
        if (trial->lost[0][i]) /* nothing is acknowledged */
            continue;
        if (trial->lost[1][i] && !open)
            CHECK_EQ(PL_APPEND(&trial->acks, ((struct pl_ack_run){.before_ns = before_ns, .first_ns = ack_ns})), 0);
        struct pl_ack_run *run = trial->acks.n ? &trial->acks.at[trial->acks.n - 1] : NULL;
        if (trial->lost[1][i]) {
            run->last_ns = ack_ns;
            run->next_ns = INT64_MAX;
            run->n++;
        } else if (open)
            run->next_ns = ack_ns;
        open = trial->lost[1][i];
        before_ns = open ? before_ns : ack_ns;
    }
    size_t kept = 0;
    for (size_t i = 0; i < trial->acks.n; i++)
        if (trial->acks.at[i].n >= 2)
            trial->acks.at[kept++] = trial->acks.at[i];
    trial->acks.n = kept;
}

/* The number of data runs that the code attributes to outages of both directions. */
static size_t found(struct trial *trial)
{
    const struct pl_both_ways_time time = {{(int64_t)(way_ms * MS), (int64_t)(way_ms * MS)},
                                           (int64_t)(PACKETS * gap_ms * MS)};
    size_t n = 0;
    gather(trial);
    pl_both_ways_find(&trial->study, &trial->acks, &time);
    for (size_t i = 0; i < trial->study.runs.n; i++)
        n += trial->study.runs.at[i].both_ways;
    pl_loss_study_free(&trial->study);
    free(trial->acks.at);
    return n;
}

static void begin(struct trial *trial, uint64_t seed)
{
    static const struct pl_transfer t = {.min_rtt_ns = 20 * MS};
    *trial = (struct trial){.state = seed * UINT64_C(0x9e3779b97f4a7c15)};
    CHECK_EQ(pl_loss_study_begin(&trial->study, &t, 0), 0);
}

static void an_outage_anywhere_on_the_path_is_found(void)
{
    static struct trial trial;
    for (double x_ms = 0; x_ms <= 9; x_ms += 1)
        for (double lasts_ms = 6; lasts_ms <= 200; lasts_ms *= 1.5) {
            begin(&trial, 1);
            outage(&trial, 1000, 1000 + lasts_ms, x_ms);
            CHECK_EQ(found(&trial), 1);
        }
}

static void several_outages_are_found(void)
{
    static struct trial trial;
    begin(&trial, 1);
    for (int i = 0; i < 6; i++)
        outage(&trial, 300 + 600 * i, 315 + 600 * i, 5);
    CHECK_EQ(found(&trial), 6);
}

static void losses_of_one_way_are_no_outage(void)
{
    static struct trial trial;
    for (int way = 0; way < 2; way++) {
        begin(&trial, 1);
        bursts(&trial, way, 0.01, 8);
        CHECK_EQ(found(&trial), 0);
    }
}

/* At most a twentieth of losses that coincide by chance may be called an outage, plus a few standard deviations for the
 * number of trials. */
static void bursts_of_both_ways_are_an_outage_in_one_case_of_twenty_at_most(void)
{
    static struct trial trial;
    static const double shares[] = {0.0005, 0.002, 0.01};
    for (size_t share = 0; share < sizeof shares / sizeof *shares; share++) {
        unsigned wrong = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            begin(&trial, seed);
            bursts(&trial, 0, shares[share], 6);
            bursts(&trial, 1, shares[share], 4);
            wrong += found(&trial) > 0;
        }
        printf("share %g: %u of %d\n", shares[share], wrong, SEEDS);
        CHECK(wrong <= SEEDS / 20 + 3 * sqrt(SEEDS / 20.0));
    }
}

int main(void)
{
    RUN(an_outage_anywhere_on_the_path_is_found);
    RUN(several_outages_are_found);
    RUN(losses_of_one_way_are_no_outage);
    RUN(bursts_of_both_ways_are_an_outage_in_one_case_of_twenty_at_most);
    return 0;
}
