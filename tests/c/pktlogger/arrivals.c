/* The results of a sink: loss, duplicates, reordering with its extent, delay, jitter. */
#include "arrivals.h"

#include <math.h>

#include "check.h"
#include "seeded.h"

static struct pl_flow_account *account_of(const uint64_t *sequences, size_t n)
{
    struct pl_flow_account *account = calloc(1, sizeof *account);
    for (size_t i = 0; i < n; i++)
        pl_flow_account_take(account, sequences[i], 1000, 100);
    return account;
}

#define TAKEN(...) account_of((uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void what_is_missing_is_lost(void)
{
    struct pl_flow_account *account = TAKEN(0, 1, 4, 5);
    CHECK_EQ(pl_flow_account_lost(account), 2);
    pl_flow_account_end(account, 9); /* the last three as well */
    CHECK_EQ(pl_flow_account_lost(account), 5);
    CHECK_EQ(account->received, 4);
    CHECK_EQ(account->reordered + account->duplicates + account->late, 0);
    free(account);
}

static void what_comes_twice_is_a_duplicate(void)
{
    struct pl_flow_account *account = TAKEN(0, 1, 1, 2, 0, 3, 3);
    CHECK_EQ(account->duplicates, 3);
    CHECK_EQ(account->received, 4);
    CHECK_EQ(account->reordered, 0);
    CHECK_EQ(pl_flow_account_lost(account), 0);
    free(account);
}

/* RFC 4737, section 4.2: in the order 1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11 the packets 4, 5, 6 are reordered. Their
 * extents are 4, 5 and 6: so many arrivals before each of them, 7 came. */
static void reordering_is_that_of_rfc_4737(void)
{
    struct pl_flow_account *account = TAKEN(0, 1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11);
    CHECK_EQ(account->reordered, 3);
    CHECK_EQ(account->extent_max, 6);
    CHECK_EQ((int)account->extent_sum, 4 + 5 + 6);
    CHECK_EQ(pl_flow_account_lost(account), 0);
    free(account);
}

/* The extent by its definition: searches all arrivals for the first larger number. */
static void any_order_gives_the_extents_of_the_definition(void)
{
    struct seeded seeded = seeded_start();
    enum { N = 2000 };
    static uint64_t order[N];
    for (int round = 0; round < 20; round++) {
        uint64_t reordered = 0, extent_max = 0, largest = 0;
        uint32_t swaps = seeded_below(&seeded, 60), reach = 1 + seeded_below(&seeded, 100);
        for (uint64_t i = 0; i < N; i++)
            order[i] = i;
        for (uint32_t i = 0; i < swaps; i++) {
            uint32_t a = seeded_below(&seeded, N - reach), b = a + seeded_below(&seeded, reach);
            uint64_t kept = order[a];
            order[a] = order[b];
            order[b] = kept;
        }
        for (uint64_t i = 0; i < N; i++) {
            if (order[i] >= largest) {
                largest = order[i] + 1;
                continue;
            }
            uint64_t first = 0;
            while (order[first] < order[i])
                first++;
            reordered++;
            extent_max = i - first > extent_max ? i - first : extent_max;
        }
        struct pl_flow_account *account = account_of(order, N);
        CHECK_EQ(account->reordered, reordered);
        CHECK_EQ(account->extent_max, extent_max);
        CHECK_EQ(account->received, N);
        free(account);
    }
}

static void what_is_too_old_is_counted_apart(void)
{
    struct pl_flow_account *account = TAKEN(0, 1, PL_ACCOUNT_WINDOW + 10, 1, 11, 11);
    CHECK_EQ(account->late, 1);       /* 1: beyond the window */
    CHECK_EQ(account->reordered, 1);  /* 11 */
    CHECK_EQ(account->duplicates, 1); /* 11 again */
    free(account);
}

/* RFC 3550, A.8: J += (|D| - J) / 16, with D = 16, 0, 16, 0 … */
static void jitter_is_that_of_rfc_3550(void)
{
    struct pl_flow_account *account = calloc(1, sizeof *account);
    double expected = 0;
    for (uint64_t i = 0; i < 100; i++) {
        pl_flow_account_take(account, i, i % 4 < 2 ? 500 : 516, 100);
        expected += i ? ((i % 2 ? 0 : 16) - expected) / 16 : 0;
    }
    CHECK(fabs(account->jitter_ns - expected) < 1e-9);
    free(account);
}

static void put(struct pl_arrivals *arrivals, struct pl_probe probe, uint64_t arrival_ns)
{
    uint8_t packet[PL_PROBE_LEN];
    pl_probe_write(&probe, packet);
    CHECK_EQ(pl_arrivals_take(arrivals, packet, sizeof packet, 1000, arrival_ns), 0);
}

static void flows_and_sessions_are_told_apart(void)
{
    struct pl_arrivals *arrivals = malloc(sizeof *arrivals);
    CHECK_EQ(pl_arrivals_init(arrivals), 0);
    for (uint32_t session = 7; session < 9; session++)
        for (uint64_t i = 0; i < 10; i++)
            put(arrivals, (struct pl_probe){session, i % 2, 2, false, i / 2, 5000}, 5000 + 40 + i);
    put(arrivals, (struct pl_probe){7, 0, 2, true, 5, 5000}, 6000);
    put(arrivals, (struct pl_probe){7, 0, 2, true, 5, 5000}, 6000);
    put(arrivals, (struct pl_probe){7, 1, 2, true, 6, 5000}, 6000);
    CHECK(!pl_arrivals_ended(arrivals));
    put(arrivals, (struct pl_probe){8, 0, 2, true, 5, 5000}, 6000);
    CHECK(!pl_arrivals_ended(arrivals));
    put(arrivals, (struct pl_probe){8, 1, 2, true, 5, 5000}, 6000);
    CHECK(pl_arrivals_ended(arrivals));
    CHECK_EQ(arrivals->flows_n, 4);
    CHECK_EQ(arrivals->packets, 20);
    CHECK_EQ(arrivals->delay.min, 40);
    CHECK_EQ(arrivals->delay.max, 49);
    put(arrivals, (struct pl_probe){8, 1, 2, false, 5, 9000}, 8990); /* the sender's clock is ahead */
    CHECK_EQ(arrivals->negative, 1);
    CHECK_EQ(arrivals->delay_min_ns, -10);
    CHECK_EQ(pl_arrivals_take(arrivals, (const uint8_t *)"LFPp", 4, 4, 1), 0);
    CHECK_EQ(arrivals->foreign, 1);
    pl_arrivals_free(arrivals);
    free(arrivals);
}

int main(void)
{
    RUN(what_is_missing_is_lost);
    RUN(what_comes_twice_is_a_duplicate);
    RUN(reordering_is_that_of_rfc_4737);
    RUN(any_order_gives_the_extents_of_the_definition);
    RUN(what_is_too_old_is_counted_apart);
    RUN(jitter_is_that_of_rfc_3550);
    RUN(flows_and_sessions_are_told_apart);
    return 0;
}
