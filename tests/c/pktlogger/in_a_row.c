/* Two queues in a row, of which the captures see the sum. The bottleneck takes 0.5 us for an octet; the front queue is
 * faster. A sender with a window sends in bursts. Either one of the queues drops parts for which it has no room, or the
 * front queue is managed: it drops parts at random, and more of them the longer it is. */
#include "in_a_row.h"

#include <math.h>
#include <stdio.h>

#include "check.h"
#include "thresholds.h"

enum { PART = 1500, ROUNDS = 400, RTT_MS = 40, BURST = 20 };
enum full { FRONT, BEHIND, MANAGED, CHANCE };

static const double service = 500, base_ns = 20e6, room = 90000;

struct path {
    struct pl_policer parts;
    double ratio;
    enum full full;
    double front_free_ns, behind_free_ns; /* when each queue is empty */
    uint64_t state;
    int32_t runs;
    unsigned lost;
    bool was_lost;
};

static double even(struct path *path)
{
    path->state = path->state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (double)(path->state >> 33) / (double)(UINT64_C(1) << 31);
}

static bool send(struct path *path, double t_ns)
{
    double front_ns = fmax(path->front_free_ns, t_ns) + PART * service / path->ratio;
    double octets = (front_ns - t_ns) / service * path->ratio;
    bool drop = path->full == FRONT && octets > room / 5;
    drop = drop || (path->full == MANAGED && even(path) < 0.03 * fmax(path->behind_free_ns - t_ns - 5e6, 0) / 40e6);
    drop = drop || (path->full == CHANCE && even(path) < 0.004);
    path->front_free_ns = drop ? path->front_free_ns : front_ns;
    double behind_ns = fmax(path->behind_free_ns, front_ns) + PART * service;
    drop = drop || (path->full == BEHIND && (behind_ns - front_ns) / service > room);
    path->behind_free_ns = drop ? path->behind_free_ns : behind_ns;
    path->runs += drop && !path->was_lost;
    path->was_lost = drop;
    path->lost += drop;
    CHECK_EQ(pl_policer_add(&path->parts, (int64_t)t_ns, drop ? -1 : (int64_t)(behind_ns + base_ns), PART,
                            drop ? path->runs - 1 : PL_POLICED_PASSED),
             0);
    return drop;
}

/* Sends a window per round trip, in bursts of up to BURST parts. A loss halves the window; otherwise the window grows
 * by two parts. The round trip grows with the queue. */
static struct pl_in_a_row look(struct path *path)
{
    double window = 20, now_ns = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double lasts_ns = fmax(RTT_MS * 1e6, (path->behind_free_ns - now_ns) * 0.8);
        bool lost = false;
        for (int i = 0; i < (int)window;) {
            int n = 1 + (int)(even(path) * BURST);
            double t_ns = now_ns + lasts_ns * i / window;
            for (int end = i + n; i < end && i < (int)window; i++, t_ns += 1e3)
                lost = send(path, t_ns) || lost;
        }
        now_ns += lasts_ns;
        window = lost ? window / 2 : window + 2;
    }
    return pl_in_a_row_find(&path->parts, service, base_ns + PART * service / path->ratio);
}

static void a_full_queue_of_two_explains_its_drops(void)
{
    static const double ratios[] = {1.1, 1.5, 2.5, 5};
    for (enum full full = FRONT; full <= BEHIND; full++)
        for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
            struct path path = {.ratio = ratios[i], .full = full, .state = 3};
            struct pl_in_a_row found = look(&path);
            if (path.lost < 15 || found.share < 0.9)
                fprintf(stderr, "full %d, ratio %g: %u lost, share %g\n", (int)full, ratios[i], path.lost, found.share);
            CHECK(path.runs < 5 || found.share >= 0.9);
            pl_policer_free(&path.parts);
        }
}

/* The result must be queue management or unknown. It may be unknown because drops may by chance be near the longest
 * queue. */
static void neither_queue_management_nor_chance_is_a_full_queue(void)
{
    enum { SEEDS = 20 };
    for (enum full full = MANAGED; full <= CHANCE; full++) {
        unsigned open = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct path path = {.ratio = 2, .full = full, .state = seed};
            struct pl_in_a_row found = look(&path);
            if (found.share >= PL_IN_A_ROW_MOST)
                fprintf(stderr, "full %d, seed %d: %u lost, share %g\n", (int)full, (int)seed, path.lost, found.share);
            CHECK(path.runs >= PL_POLICER_RUNS);
            CHECK(found.share < PL_IN_A_ROW_MOST);
            open += found.share >= PL_IN_A_ROW_SOME;
            pl_policer_free(&path.parts);
        }
        CHECK(open <= SEEDS / 5);
    }
}

int main(void)
{
    RUN(a_full_queue_of_two_explains_its_drops);
    RUN(neither_queue_management_nor_chance_is_a_full_queue);
    return 0;
}
