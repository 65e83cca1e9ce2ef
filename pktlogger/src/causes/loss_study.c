/* Implements loss_study.h. */
#include "loss_study.h"

#include <math.h>

#include "service.h"

enum { GAPS_MOST = 4096, GAPS_EVERY = 8 };

/* Keeps the gap at a place without a lost run around it. Such gaps show how exact gaps are. */
static int note_gap(struct pl_loss_study *study, const struct pl_queue_place *place)
{
    const struct pl_lost_run *next = study->told < study->runs.n ? &study->runs.at[study->told] : NULL;
    const struct pl_lost_run *last = study->told ? &study->runs.at[study->told - 1] : NULL;
    if (!place->gap_known || place->place % GAPS_EVERY || study->gaps.n == GAPS_MOST ||
        (next && next->place <= place->place + PL_QUEUES_AROUND) ||
        (last && last->place + PL_QUEUES_AROUND >= place->place))
        return 0;
    struct pl_gap_seen seen = {place->steady_ns, pl_queues_gap_ns(study->queues, place->place)};
    return PL_APPEND(&study->gaps, seen);
}

static int take_place(void *context, const struct pl_queue_place *place)
{
    struct pl_loss_study *study = context;
    if (study->told < study->runs.n && study->runs.at[study->told].place == place->place) {
        struct pl_lost_run *run = &study->runs.at[study->told++];
        run->queue_ns = place->delay_ns;
        run->left_ns = place->place ? (double)(place->before_ns - run->first_sent_ns) : -INFINITY;
        run->steady_ns = place->steady_ns;
        run->gap_ns = pl_queues_gap_ns(study->queues, place->place);
        run->gap_known = place->gap_known;
    }
    if (place->shortfall_ns >= 0 && (pl_sample_add(&study->shortfalls, place->shortfall_ns) < 0 ||
                                     pl_sample_add(&study->own_delays, place->delay_ns - place->shortfall_ns) < 0 ||
                                     pl_sample_add(&study->moves, place->moved_ns) < 0))
        return -1;
    return note_gap(study, place) < 0 ? -1 : pl_sample_add(&study->delays, place->delay_ns);
}

int pl_loss_study_begin(struct pl_loss_study *study, const struct pl_transfer *t, double service)
{
    *study = (struct pl_loss_study){.t = t, .service = service};
    study->queues = pl_queues_new(service, take_place, study);
    return study->queues ? 0 : -1;
}

int pl_loss_study_arrival(struct pl_loss_study *study, const struct pl_segment *segment)
{
    if (study->runs.n && study->runs.at[study->runs.n - 1].place == study->n)
        study->runs.at[study->runs.n - 1].next_sent_ns = segment->t_sent_ns;
    study->n++;
    study->last_arrived_ns = segment->t_sent_ns;
    return pl_queues_add(study->queues, segment->t_sent_ns, pl_settled_ns(study->t, segment),
                         segment->len + PL_HEADERS);
}

int pl_loss_study_loss(struct pl_loss_study *study, const struct pl_segment *segment, uint32_t flow)
{
    struct pl_lost_run *last = study->runs.n ? &study->runs.at[study->runs.n - 1] : NULL;
    if (last && last->place == study->n) {
        last->n++;
        last->last_flow = flow;
        last->last_seq = segment->seq;
        last->last_sent_ns = segment->t_sent_ns;
        return 0;
    }
    struct pl_lost_run run = {.place = study->n,
                              .first_flow = flow,
                              .last_flow = flow,
                              .first_seq = segment->seq,
                              .last_seq = segment->seq,
                              .first_sent_ns = segment->t_sent_ns,
                              .last_sent_ns = segment->t_sent_ns,
                              .before_sent_ns = study->n ? study->last_arrived_ns : INT64_MIN,
                              .next_sent_ns = INT64_MAX,
                              .n = 1,
                              .cause = PL_LOSS_UNKNOWN};
    return PL_APPEND(&study->runs, run);
}

int pl_loss_study_end(struct pl_loss_study *study)
{
    if (pl_queues_end(study->queues) < 0)
        return -1;
    free(study->queues);
    study->queues = NULL;
    pl_sample_sort(&study->delays);
    pl_sample_sort(&study->shortfalls);
    pl_sample_sort(&study->own_delays);
    pl_sample_sort(&study->moves);
    return 0;
}

void pl_loss_study_keep_runs(struct pl_loss_study *study)
{
    free(study->queues);
    study->queues = NULL;
    pl_sample_free(&study->delays);
    pl_sample_free(&study->shortfalls);
    pl_sample_free(&study->own_delays);
    pl_sample_free(&study->moves);
    free(study->gaps.at);
    study->gaps.at = NULL;
    study->gaps.n = 0;
}

void pl_loss_study_free(struct pl_loss_study *study)
{
    pl_loss_study_keep_runs(study);
    free(study->runs.at);
    *study = (struct pl_loss_study){.n = 0};
}
