/* A policer is found by the constant rate of what passes where losses are dense (policer.h). */
#include "policer.h"

#include <math.h>

#include "check.h"

enum { PART = 1500 };

/* Sends parts with this gap; a bucket of `depth` octets fills at `rate` octets a second. */
struct bucket {
    double tokens, depth, rate;
};

static void send(struct pl_policer *policer, struct bucket *bucket, int64_t *t_ns, int64_t gap_ns, int n)
{
    for (int i = 0; i < n; i++, *t_ns += gap_ns) {
        bucket->tokens = fmin(bucket->depth, bucket->tokens + bucket->rate * (double)gap_ns / 1e9);
        bool lost = bucket->tokens < PART;
        bucket->tokens -= lost ? 0 : PART;
        CHECK_EQ(pl_policer_add(policer, *t_ns, PART, lost), 0);
    }
}

/* Rates from 1 Mbit/s to 1 Gbit/s, sent at 1.3 to 4 times as fast, with pauses in which the bucket fills. */
static void test_rates(void)
{
    static const double overs[] = {1.3, 2, 4};
    for (double rate = 125000; rate < 2e8; rate *= 10)
        for (size_t i = 0; i < 3; i++) {
            struct pl_policer policer = {.losses = 0};
            struct bucket bucket = {.tokens = 30 * PART, .depth = 30 * PART, .rate = rate};
            int64_t t_ns = 0, gap_ns = (int64_t)(PART / (rate * overs[i]) * 1e9);
            for (int episode = 0; episode < 4; episode++) {
                send(&policer, &bucket, &t_ns, gap_ns, 400);
                send(&policer, &bucket, &t_ns, 2 * (int64_t)(overs[i] * (double)gap_ns), 100);
            }
            double found = pl_policer_end(&policer);
            CHECK(fabs(found / rate - 1) < 0.03);
        }
}

/* Chance takes a tenth of what is sent at a rate that is constant, or that varies: no policer. */
static void test_chance(void)
{
    uint64_t state = 7;
    for (int varies = 0; varies < 2; varies++) {
        struct pl_policer policer = {.losses = 0};
        int64_t t_ns = 0;
        for (int i = 0; i < 20000; i++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
            CHECK_EQ(pl_policer_add(&policer, t_ns, PART, (state >> 33) % 10 == 0), 0);
            t_ns += 1000000 * (varies ? 1 + i / 500 % 5 : 1);
        }
        CHECK_EQ(pl_policer_end(&policer), 0);
    }
}

/* A sender that halves its window: slow start sends `most` times as much as passes, in a window of its own, and then losses are
 * few, with pauses in which the bucket fills. */
static void test_few_losses(double most)
{
    const double overs[] = {most, 1.02, 1.03, 1.04};
    const double rate = 1e6;
    struct pl_policer policer = {.losses = 0};
    struct bucket bucket = {.tokens = 20 * PART, .depth = 20 * PART, .rate = rate};
    int64_t t_ns = 0;
    for (int episode = 0; episode < 8; episode++) {
        double over = overs[episode % 4];
        int first = (int)(20 / (over - 1) * over); /* until the bucket is empty */
        send(&policer, &bucket, &t_ns, (int64_t)(PART / (rate * over) * 1e9), first + (episode ? 4 : 200));
        send(&policer, &bucket, &t_ns, (int64_t)(PART / (rate * 1.01) * 1e9), 60);
        send(&policer, &bucket, &t_ns, (int64_t)(PART / (rate * over) * 1e9), 3);
        send(&policer, &bucket, &t_ns, (int64_t)(PART / (rate * 0.5) * 1e9), 300);
    }
    double found = pl_policer_end(&policer);
    CHECK(fabs(found / rate - 1) < 0.05);
}

int main(void)
{
    test_rates();
    test_few_losses(2);
    test_few_losses(1.08);
    test_chance();
    return 0;
}
