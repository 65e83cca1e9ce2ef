/* The bottleneck's time per packet, estimated from arrivals alone. It is 120 us here, and the path's delay is 20 ms.
 * The estimated rate must never exceed the capacity, even if something shifts the arrivals. */
#include "service.h"

#include <math.h>
#include <stdio.h>

#include "check.h"

enum { LEN = 1448, PARTS = 20000, BUNCH = 44 };

static const double delay_ms = 20, part_ms = 0.12;

/* How the sender sends, and what shifts the arrivals. */
struct path {
    double interval_ms; /* between packets; less than part_ms: a queue grows */
    int burst;          /* packets sent at once, every burst × interval_ms; 0: single packets */
    double jitter_ms;   /* added to each arrival: uniform, from 0 on; packets keep their order */
    bool bunched;       /* packets arrive BUNCH at a time, with the last one of the bunch */
    bool shared;        /* other traffic takes half of the bottleneck in every other 100 ms */
    double late_ms;     /* the usual delay without a queue is estimated too long by this */
    bool shorter;       /* the last packet of a burst is a quarter as long */
};

static uint32_t len_of(const struct path *path, size_t i)
{
    return path->shorter && path->burst && (i + 1) % (size_t)path->burst == 0 ? LEN / 4 : LEN;
}

static double work_ms_of(const struct path *path, size_t i)
{
    return part_ms * (len_of(path, i) + PL_HEADERS) / (LEN + PL_HEADERS);
}

static double even(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)((*state * UINT64_C(2685821657736338717)) >> 11) / 9007199254740992.0;
}

static double sent_ms_of(const struct path *path, size_t i)
{
    size_t first = path->burst ? i / (size_t)path->burst * (size_t)path->burst : i;
    return (double)first * path->interval_ms;
}

/* Two estimated rates, divided by the bottleneck's rate: by the mean, and by the quickest rows. 0: no estimate. */
struct shown {
    double mean, quick;
};

static struct shown look(struct path path, uint64_t seed)
{
    static double exits_ms[PARTS], received_ms[PARTS];
    struct pl_service service = {.n = 0};
    double free_ms = 0, last_ms = 0, least_ms = INFINITY, truth = part_ms * 1e6 / (LEN + PL_HEADERS);
    for (size_t i = 0; i < PARTS; i++) {
        double sent_ms = sent_ms_of(&path, i);
        bool slow = path.shared && fmod(fmax(free_ms, sent_ms), 200) < 100;
        free_ms = fmax(free_ms, sent_ms) + work_ms_of(&path, i) * (slow ? 2 : 1);
        exits_ms[i] = free_ms;
    }
    for (size_t i = 0; i < PARTS; i++) {
        size_t with = path.bunched ? i / BUNCH * BUNCH + BUNCH - 1 : i;
        double at_ms = exits_ms[with < PARTS ? with : PARTS - 1] + delay_ms + path.jitter_ms * even(&seed);
        received_ms[i] = last_ms = fmax(last_ms, at_ms);
        least_ms = fmin(least_ms, received_ms[i] - sent_ms_of(&path, i));
    }
    for (size_t i = 0; i < PARTS; i++) {
        const struct pl_segment part = {.len = len_of(&path, i),
                                        .t_sent_ns = (int64_t)(sent_ms_of(&path, i) * 1e6),
                                        .t_received_ns = (int64_t)(received_ms[i] * 1e6)};
        int64_t low_ns = (int64_t)((delay_ms + part_ms + path.late_ms) * 1e6);
        CHECK_EQ(pl_service_add(&service, &part, low_ns, (int64_t)(least_ms * 1e6)), 0);
    }
    double quick = pl_service_end(&service);
    return (struct shown){service.mean > 0 ? truth / service.mean : 0, quick > 0 ? truth / quick : 0};
}

/* Shifted arrivals make a row begin and end at wrong times. Over all rows together, only the two ends of the transfer,
 * which lasts PARTS * part_ms, have this effect. */
static void nothing_that_moves_arrivals_changes_the_mean(void)
{
    const double lasts_ms = PARTS * part_ms;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct shown plain = look((struct path){.interval_ms = 0.115}, seed);
        struct shown jitter = look((struct path){.interval_ms = 0.115, .jitter_ms = 5}, seed);
        struct shown bunched = look((struct path){.interval_ms = 0.115, .bunched = true}, seed);
        struct shown both = look((struct path){.interval_ms = 0.115, .jitter_ms = 5, .bunched = true}, seed);
        CHECK(fabs(plain.mean - 1) < 1e-3);
        CHECK(fabs(jitter.mean - 1) < 2 * 5 / lasts_ms);
        CHECK(fabs(bunched.mean - 1) < 2 * BUNCH * part_ms / lasts_ms);
        CHECK(fabs(both.mean - 1) < 2 * (5 + BUNCH * part_ms) / lasts_ms);
        CHECK(jitter.quick > 1.01); /* this is why texts for people use the mean and not the quickest rows */
    }
}

/* Jitter looks like a queue, so the sender's own pace may be mistaken for the bottleneck's rate. The pace is never
 * faster. */
static void a_paced_sender_shows_its_own_pace_at_most(void)
{
    const double lasts_ms = PARTS * 0.2;
    CHECK_EQ(look((struct path){.interval_ms = 0.2}, 1).mean, 0);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct shown paced = look((struct path){.interval_ms = 0.2, .jitter_ms = 5}, seed);
        struct shown bursts = look((struct path){.interval_ms = 0.2, .jitter_ms = 5, .bunched = true}, seed);
        CHECK(paced.mean <= 0.6 * (1 + 2 * 5 / lasts_ms));
        CHECK(bursts.mean <= 0.6 * (1 + 2 * (5 + BUNCH * 0.2) / lasts_ms));
    }
}

/* One window per round trip: the bottleneck is idle between bursts, and the first packet of each burst meets no
 * queue. */
static void bursts_with_pauses_show_no_more_than_the_bottleneck_carries(void)
{
    for (int burst = 10; burst <= 160; burst *= 2)
        for (int percent = 101; percent <= 200; percent += 9) {
            struct path path = {.interval_ms = part_ms * percent / 100, .burst = burst};
            CHECK(look(path, 1).mean <= 1 + 1e-3);
        }
}

/* The usual delay is a low percentile, which is above the least delay. So pauses seem longer than they are. This must
 * not make the bottleneck seem faster. */
static void a_usual_delay_that_is_too_long_shows_no_more_than_the_bottleneck_carries(void)
{
    for (int burst = 64; burst <= 512; burst *= 2)
        for (int percent = 101; percent <= 112; percent += 2)
            for (int tenths = 0; tenths <= 10; tenths += 2) {
                struct path path = {
                    .interval_ms = part_ms * percent / 100, .burst = burst, .late_ms = part_ms * tenths / 10};
                CHECK(look(path, 1).mean <= 1 + 1e-3);
                path.jitter_ms = part_ms / 2;
                CHECK(look(path, 1).mean <= 1 + 1e-3);
                path.shorter = true;
                CHECK(look(path, 1).mean <= 1 + 1e-3);
            }
}

static void others_make_it_less(void)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        double mean = look((struct path){.interval_ms = 0.115, .shared = true, .jitter_ms = 2}, seed).mean;
        CHECK(mean > 0.5 && mean < 0.8);
    }
}

int main(void)
{
    RUN(nothing_that_moves_arrivals_changes_the_mean);
    RUN(a_paced_sender_shows_its_own_pace_at_most);
    RUN(bursts_with_pauses_show_no_more_than_the_bottleneck_carries);
    RUN(a_usual_delay_that_is_too_long_shows_no_more_than_the_bottleneck_carries);
    RUN(others_make_it_less);
    return 0;
}
