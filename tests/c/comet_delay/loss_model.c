/* Loss models in virtual time: shares and bursts against theory, and lists of packets one by one. */
#include "loss_model.h"

#include <math.h>

#include "check.h"
#include "random.h"

static const double z999 = 3.2905; /* two-sided 99.9 % */

static struct loss_model model_of(const char *text)
{
    struct loss_model model;
    struct nc_error error;
    CHECK_DONE(loss_model_parse(text, &model, &error), text, error);
    return model;
}

static bool hit(struct loss_state *state, const struct loss_model *model, uint64_t key, uint64_t number)
{
    return loss_model_hit(state, model, key, &(struct loss_packet){.number = number});
}

static struct loss_state *state_new(uint64_t start_ns)
{
    struct loss_state *state = malloc(sizeof *state);
    CHECK(state);
    loss_state_init(state, start_ns);
    return state;
}

static void near(const char *what, const char *text, uint64_t seed, double got, double want, double error)
{
    if (fabs(got - want) <= z999 * error)
        return;
    fprintf(stderr, "%s of %s, seed %llu: %.9g, want %.9g ± %.3g\n", what, text, (unsigned long long)seed, got, want,
            z999 * error);
    exit(1);
}

/* Asymptotic variance of the mean of n packets' losses: the sum of autocovariances of the chain, lag by lag. p is the
 * transition matrix, pi its stationary distribution; packets in states 3 and 4 are lost. */
static double variance_of_mean(double p[4][4], const double pi[4], double n)
{
    double mean = pi[2] + pi[3], v[4] = {0, 0, pi[2], pi[3]}, sum = mean * (1 - mean);
    for (int lag = 1; lag < 100000; lag++) {
        double next[4] = {0};
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                next[j] += v[i] * p[i][j];
        memcpy(v, next, sizeof v);
        sum += 2 * (v[2] + v[3] - mean * mean);
    }
    return sum / n;
}

/* The stationary distribution, found by iteration, because the code under test uses a formula. */
static void stationary(double p[4][4], double pi[4])
{
    double v[4] = {1, 0, 0, 0};
    for (int step = 0; step < 200000; step++) {
        double next[4] = {0};
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                next[j] += v[i] * (0.5 * p[i][j] + (i == j ? 0.5 : 0)); /* lazy: a periodic chain converges, too */
        memcpy(v, next, sizeof v);
    }
    memcpy(pi, v, sizeof v);
}

struct counted {
    uint64_t lost, bursts, single; /* bursts that began and ended within the packets; those of one packet */
    uint64_t in_bursts;            /* packets lost in those */
};

static struct counted count(const struct loss_model *model, uint64_t seed, uint64_t n)
{
    struct loss_state *state = state_new(0);
    struct counted c = {0};
    uint64_t run = 0, key = random_key(seed, 0, 0);
    bool whole = false; /* the first burst may have begun before the first packet */
    for (uint64_t i = 0; i < n; i++) {
        bool lost = hit(state, model, key, i);
        c.lost += lost;
        if (lost) {
            run++;
            continue;
        }
        if (run && whole) {
            c.bursts++;
            c.single += run == 1;
            c.in_bursts += run;
        }
        whole = true;
        run = 0;
    }
    free(state);
    return c;
}

static void gilbert_has_the_mean_loss_and_mean_burst_asked_for(void)
{
    static const struct {
        const char *text;
        double loss, burst;
    } cases[] = {
        {"gilbert:1%,10", 0.01, 10}, {"gilbert:0.1%,3", 0.001, 3},      {"gilbert:10%,2.5", 0.1, 2.5},
        {"gilbert:30%,50", 0.3, 50}, {"gilbert:50%,1.125", 0.5, 1.125}, {"gilbert:1%,200", 0.01, 200},
    };
    const uint64_t n = 4000000;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            struct loss_model model = model_of(cases[c].text);
            struct counted got = count(&model, seed, n);
            double r = 1 / cases[c].burst, p = r * cases[c].loss / (1 - cases[c].loss);
            double matrix[4][4] = {{1 - p, 0, p, 0}, {0, 1, 0, 0}, {r, 0, 1 - r, 0}, {1, 0, 0, 0}};
            double pi[4] = {1 - cases[c].loss, 0, cases[c].loss, 0}, bursts = (double)got.bursts;
            near("mean loss", cases[c].text, seed, (double)got.lost / (double)n, cases[c].loss,
                 sqrt(variance_of_mean(matrix, pi, (double)n)));
            /* bursts are geometric: variance L (L - 1) */
            near("mean burst", cases[c].text, seed, (double)got.in_bursts / bursts, cases[c].burst,
                 sqrt(cases[c].burst * (cases[c].burst - 1) / bursts));
            near("single losses", cases[c].text, seed, (double)got.single / bursts, r, sqrt(r * (1 - r) / bursts));
            CHECK(fabs(loss_model_mean(&model) - cases[c].loss) < 1e-12);
            loss_model_free(&model);
        }
}

static void four_states_lose_their_stationary_share(void)
{
    static const struct {
        const char *text;
        double p13, p31, p32, p23, p14;
    } cases[] = {
        {"4state:1%,10%,20%,30%,0.5%", 0.01, 0.1, 0.2, 0.3, 0.005},
        {"4state:0.1%,30%,5%,1%,0%", 0.001, 0.3, 0.05, 0.01, 0},
        {"4state:2%,40%", 0.02, 0.4, 0, 1, 0},
        {"4state:5%", 0.05, 0.95, 0, 1, 0},
        {"4state:0%,0%,0%,0%,2%", 0, 0, 0, 0, 0.02},
    };
    const uint64_t n = 4000000;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            struct loss_model model = model_of(cases[c].text);
            double p13 = cases[c].p13, p31 = cases[c].p31, p32 = cases[c].p32, p23 = cases[c].p23, p14 = cases[c].p14;
            double matrix[4][4] = {
                {1 - p13 - p14, 0, p13, p14}, {0, 1 - p23, p23, 0}, {p31, p32, 1 - p31 - p32, 0}, {1, 0, 0, 0}};
            double pi[4];
            stationary(matrix, pi);
            struct counted got = count(&model, seed, n);
            near("mean loss", cases[c].text, seed, (double)got.lost / (double)n, pi[2] + pi[3],
                 sqrt(variance_of_mean(matrix, pi, (double)n)));
            /* a sequence of losses is one visit to state 4, or to state 3 until that is left */
            double begins = pi[0] * p13 + pi[1] * p23, alone = pi[0] * p14, leave = p31 + p32,
                   bursts = (double)got.bursts;
            double single = (alone + begins * leave) / (alone + begins);
            near("single losses", cases[c].text, seed, (double)got.single / bursts, single,
                 sqrt(single * (1 - single) / bursts) + 1e-12);
            CHECK(fabs(loss_model_mean(&model) - (pi[2] + pi[3])) < 1e-9);
            loss_model_free(&model);
        }
}

static void independent_loss_is_the_draw_of_the_packet(void)
{
    struct loss_model model = model_of("1%"), none = model_of("0%");
    struct loss_state *state = state_new(0);
    uint64_t lost = 0, n = 1000000;
    for (uint64_t i = 0; i < n; i++) {
        CHECK_EQ(hit(state, &model, 9, i), random_hit(9, i, 10000000));
        CHECK(!hit(state, &none, 9, i));
        lost += hit(state, &model, 9, i);
    }
    near("mean loss", "1%", 9, (double)lost / (double)n, 0.01, sqrt(0.01 * 0.99 / (double)n));
    free(state);
}

/* Stages in front of this model may remove packets. This must not change the fates of the others. */
static void fate_depends_on_the_number_alone(void)
{
    static const char *const texts[] = {"gilbert:5%,20", "4state:1%,10%,20%,30%,0.5%"};
    enum { N = 200000 };
    static bool fate[N];
    for (size_t t = 0; t < 2; t++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct loss_model model = model_of(texts[t]);
            struct loss_state *all = state_new(0), *some = state_new(0);
            uint64_t key = random_key(seed, 1, 4), lost = 0;
            for (uint64_t i = 0; i < N; i++)
                lost += fate[i] = hit(all, &model, key, i);
            CHECK(lost > 0);
            for (uint64_t i = 0; i < N; i++) { /* gaps of single packets, and gaps of more packets than the model
                                                * catches up with */
                if (random_hit(seed, i, 300000000) || (i > 50000 && i < 50000 + 3 * LOSS_CATCH_UP) || i < 10)
                    continue;
                CHECK_EQ(hit(some, &model, key, i), fate[i]);
            }
            CHECK_EQ(hit(some, &model, key, 70000), fate[70000]); /* back again */
            CHECK_EQ(hit(some, &model, key, 70000), fate[70000]);
            free(all);
            free(some);
            loss_model_free(&model);
        }
}

static void packet_lists_are_exact(void)
{
    struct loss_model model = model_of("packets:10-12,5,0,11-13");
    struct loss_state *state = state_new(0);
    for (uint64_t i = 0; i < 30; i++)
        CHECK_EQ(hit(state, &model, 1, i), i == 0 || i == 5 || (i >= 10 && i <= 13));
    free(state);
    loss_model_free(&model);
}

static void outages_count_from_the_model_s_start(void)
{
    struct loss_model model = model_of("time:1s-1.2s,5us-6us");
    struct loss_state *state = state_new(7000);
    static const struct {
        uint64_t at_ns;
        bool lost;
    } cases[] = {
        {0, false},         {6999, false},       {11999, false},      {12000, true},
        {12999, true},      {13000, false},      {1000006999, false}, {1000007000, true},
        {1200006999, true}, {1200007000, false}, {UINT64_MAX, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_EQ(loss_model_hit(state, &model, 1, &(struct loss_packet){.time_ns = cases[i].at_ns}), cases[i].lost);
    loss_state_restart(state, 2000000000);
    CHECK(!loss_model_hit(state, &model, 1, &(struct loss_packet){.time_ns = 1000007000}));
    CHECK(loss_model_hit(state, &model, 1, &(struct loss_packet){.time_ns = 2000005000}));
    free(state);
    loss_model_free(&model);
}

static bool tcp_lost(struct loss_state *state, const struct loss_model *model, uint32_t seq, uint32_t len, bool syn)
{
    struct loss_tcp tcp = {.flow = 42, .seq = seq, .len = len, .syn = syn};
    return loss_model_hit(state, model, 1, &(struct loss_packet){.tcp = &tcp});
}

static void sequence_ranges_hit_first_transmissions(void)
{
    struct loss_model once = model_of("seq:1000-1999"), thrice = model_of("seq:1000-1999x3");
    for (int t = 0; t < 2; t++) {
        const struct loss_model *model = t ? &thrice : &once;
        struct loss_state *state = state_new(0);
        uint32_t isn = 0xfffffe00; /* the range lies after the wrap */
        CHECK(loss_model_wants_tcp(model));
        CHECK(!tcp_lost(state, model, isn, 1, true));
        CHECK(!tcp_lost(state, model, isn + 1, 999, false));  /* 1 … 999 */
        CHECK(!tcp_lost(state, model, isn + 1000, 0, false)); /* a pure ACK there */
        CHECK(tcp_lost(state, model, isn + 1000, 1, false));  /* the range's first byte */
        CHECK(tcp_lost(state, model, isn + 1001, 998, false));
        CHECK(tcp_lost(state, model, isn + 1999, 500, false)); /* and its last */
        CHECK(!tcp_lost(state, model, isn + 2499, 500, false));
        for (int again = 2; again <= 5; again++)
            CHECK_EQ(tcp_lost(state, model, isn + 1001, 998, false), again <= (t ? 3 : 1));
        CHECK(!loss_model_hit(state, model, 1, &(struct loss_packet){.number = 1500})); /* not TCP */
        free(state);
    }
    loss_model_free(&once);
    loss_model_free(&thrice);
}

static void the_nth_retransmission_is_hit(void)
{
    struct loss_model model = model_of("retransmission:2,4-5");
    struct loss_state *state = state_new(0);
    for (uint32_t seq = 5000; seq < 9000; seq += 1000)
        CHECK(!tcp_lost(state, &model, seq, 1000, false));
    for (int retransmission = 1; retransmission <= 7; retransmission++)
        for (uint32_t seq = 6000; seq < 8000; seq += 1000)
            CHECK_EQ(tcp_lost(state, &model, seq, 1000, false),
                     retransmission == 2 || retransmission == 4 || retransmission == 5);
    loss_state_restart(state, 99); /* new parameters must not make the model forget the flow */
    CHECK(!tcp_lost(state, &model, 5000, 1000, false));
    CHECK(tcp_lost(state, &model, 5000, 1000, false));
    free(state);
    loss_model_free(&model);
}

int main(void)
{
    RUN(gilbert_has_the_mean_loss_and_mean_burst_asked_for);
    RUN(four_states_lose_their_stationary_share);
    RUN(independent_loss_is_the_draw_of_the_packet);
    RUN(fate_depends_on_the_number_alone);
    RUN(packet_lists_are_exact);
    RUN(outages_count_from_the_model_s_start);
    RUN(sequence_ranges_hit_first_transmissions);
    RUN(the_nth_retransmission_is_hit);
    return 0;
}
