/* Implements aggregate.h. */
#include "aggregate.h"

#include <math.h>
#include <stdlib.h>

#include "path_base.h"
#include "sample.h"
#include "thresholds.h"

enum { MOST = 1000 };

struct pl_aggregate {
    struct pl_transfer whole; /* the sum of all transfers */
    PL_VECTOR(struct pl_transfer *) transfers;
    struct pl_study study;
    bool studied;
    uint32_t left; /* number of transfers that may still ask for the study */
};

static struct pl_together together(struct pl_aggregate *a)
{
    return (struct pl_together){&a->whole, a->transfers.at, (uint32_t)a->transfers.n};
}

/* Counts pairs of parts that were sent one right after the other and belong to different transfers. */
struct crossings {
    uint64_t n, overtaken; /* overtaken: the part sent later arrived earlier */
    const struct pl_transfer *t;
    int64_t sent_ns, received_ns; /* of the latest part, which belongs to `t` */
};

static void cross(struct crossings *c, const struct pl_transfer *t, const struct pl_segment *part)
{
    if (c->t && c->t != t && part->t_sent_ns > c->sent_ns) {
        c->n++;
        c->overtaken += (double)(c->received_ns - part->t_received_ns) > PL_BASE_TOLERANCE_NS;
    }
    c->t = t;
    c->sent_ns = part->t_sent_ns;
    c->received_ns = part->t_received_ns;
}

/* Finds out whether the transfers share a queue, and sets the low delay of all their parts together. Returns 0, or -1
 * without memory. */
static int share_queue(struct pl_aggregate *a, const struct pl_tables *tables, bool *shared)
{
    struct crossings crossings = {.n = 0};
    struct pl_sample delays = {.given = 0};
    struct pl_passages passages;
    struct pl_segment part;
    const struct pl_together all = together(a);
    int result = pl_passages_begin(&passages, tables, &all, false);
    while (result == 0 && pl_passages_next(&passages, &part))
        if (part.t_received_ns >= 0) {
            cross(&crossings, passages.t, &part);
            result = pl_sample_add(&delays, (double)(part.t_received_ns - part.t_sent_ns));
        }
    pl_passages_end(&passages);
    pl_sample_sort(&delays);
    a->whole.low_delay_ns = (int64_t)pl_sample_quantile(&delays, PL_LOW_DELAY);
    pl_sample_free(&delays);
    *shared = crossings.n >= PL_CROSSINGS_LEAST &&
              (double)crossings.overtaken <= PL_CROSSINGS_OVERTAKEN * (double)crossings.n;
    return result;
}

static int64_t lesser(int64_t a_ns, int64_t b_ns)
{
    return a_ns < 0 || (b_ns >= 0 && b_ns < a_ns) ? b_ns : a_ns;
}

/* Adds a transfer to the sum. For other hosts' transfers, the largest rate next to any of these transfers counts. */
static void add(struct pl_transfer *whole, const struct pl_transfer *t)
{
    bool first = !whole->flow || t->first_ns < whole->first_ns;
    whole->flow = first ? t->flow : whole->flow;
    whole->first_ns = first ? t->first_ns : whole->first_ns;
    whole->last_ns = t->last_ns > whole->last_ns ? t->last_ns : whole->last_ns;
    whole->segments += t->segments;
    whole->not_arrived += t->not_arrived;
    whole->mss = t->mss > whole->mss ? t->mss : whole->mss;
    whole->min_rtt_ns = lesser(whole->min_rtt_ns, t->min_rtt_ns);
    whole->min_delay_ns = lesser(whole->min_delay_ns, t->min_delay_ns);
    whole->max_delay_ns = t->max_delay_ns > whole->max_delay_ns ? t->max_delay_ns : whole->max_delay_ns;
    whole->signs.others_bps = fmax(whole->signs.others_bps, t->signs.others_bps - t->signs.beside_bps);
    whole->ruled_out = t->ruled_out;
    whole->silent = t->silent;
    whole->box = t->box ? t->box : whole->box;
}

static void release(struct pl_aggregate *a)
{
    pl_study_free(&a->study);
    pl_transfer_free(&a->whole);
    free(a->transfers.at);
    a->transfers.at = NULL;
    a->transfers.n = 0;
}

/* Whether more than one of the transfers has more than a few octets. */
static bool several(const struct pl_aggregate *a)
{
    uint64_t most = 0;
    for (size_t i = 0; i < a->transfers.n; i++)
        most = a->transfers.at[i]->segments > most ? a->transfers.at[i]->segments : most;
    return (double)(a->whole.segments - most) > PL_BASE_SHARED * (double)most;
}

/* Gathers the transfers that `first` and later ones send between its hosts. Returns 0, or -1 without memory. */
static int gather(struct pl_aggregate *a, struct pl_transfer *first, const struct pl_transfer *end)
{
    a->whole = (struct pl_transfer){.first_run = {PL_NO_RUN, PL_NO_RUN},
                                    .last_run = {PL_NO_RUN, PL_NO_RUN},
                                    .min_rtt_ns = -1,
                                    .min_delay_ns = -1,
                                    .max_delay_ns = -1};
    for (struct pl_transfer *t = first; t < end; t++)
        if (t->ends == PL_BOTH_ENDS && t->segments && pl_transfer_same_hosts(first, t, false)) {
            add(&a->whole, t);
            if (PL_APPEND(&a->transfers, t) < 0)
                return -1;
        }
    return 0;
}

/* Whether an earlier transfer is between the same hosts. Then the transfers of these hosts have been gathered
 * already. */
static bool looked_at(const struct pl_transfer *transfers, const struct pl_transfer *t)
{
    for (const struct pl_transfer *other = transfers; other < t; other++)
        if (other->ends == PL_BOTH_ENDS && other->segments && pl_transfer_same_hosts(other, t, false))
            return true;
    return false;
}

int pl_aggregates_find(struct pl_aggregates *aggregates, struct pl_transfer *transfers, uint32_t n,
                       const struct pl_tables *tables)
{
    int result = 0;
    for (struct pl_transfer *t = transfers; n > 1 && n <= MOST && result == 0 && t < transfers + n; t++) {
        struct pl_aggregate *a;
        bool shared = false;
        if (t->ends != PL_BOTH_ENDS || !t->segments || looked_at(transfers, t))
            continue;
        if (!(a = calloc(1, sizeof *a)))
            return -1;
        result = gather(a, t, transfers + n);
        if (result == 0 && several(a))
            result = share_queue(a, tables, &shared);
        if (result < 0 || !shared || PL_APPEND(&aggregates->list, a) < 0) {
            result = shared ? -1 : result;
            release(a);
            free(a);
            continue;
        }
        a->left = (uint32_t)a->transfers.n;
        for (size_t i = 0; i < a->transfers.n; i++)
            a->transfers.at[i]->aggregate = a;
    }
    return result;
}

void pl_aggregates_free(struct pl_aggregates *aggregates)
{
    for (size_t i = 0; i < aggregates->list.n; i++) {
        release(aggregates->list.at[i]);
        free(aggregates->list.at[i]);
    }
    free(aggregates->list.at);
    *aggregates = (struct pl_aggregates){0};
}

/* Copies the results by the captures of all transfers together to one transfer. */
static int adopt(struct pl_transfer *t, const struct pl_transfer *whole, const struct pl_tables *tables)
{
    t->service_ns = whole->service_ns;
    t->shown_service_ns = whole->shown_service_ns;
    t->slow_service_ns = whole->slow_service_ns;
    t->serial_ns = whole->serial_ns;
    t->signs.policed_rate = whole->signs.policed_rate;
    t->signs.policed_burst = whole->signs.policed_burst;
    if (pl_path_base_copy(&t->seen_base, &whole->seen_base) < 0 ||
        pl_path_base_copy(&t->base, t->box ? &whole->base : &whole->seen_base) < 0 ||
        (t->seen_base.levels.n > 1 && pl_path_base_long_queue(t, tables) < 0))
        return -1;
    return pl_path_base_of_acks(t, tables);
}

int pl_aggregate_study(struct pl_aggregate *a, struct pl_transfer *t, const struct pl_tables *tables,
                       const struct pl_study **study)
{
    if (!a->studied) {
        a->study = (struct pl_study){.of = together(a)};
        if (pl_study_run(&a->study, tables) < 0)
            return -1;
        pl_loss_study_keep_runs(&a->study.losses);
        a->studied = true;
    }
    *study = &a->study;
    return adopt(t, &a->whole, tables);
}

void pl_aggregate_release(struct pl_aggregate *a)
{
    if (--a->left == 0)
        release(a);
}
