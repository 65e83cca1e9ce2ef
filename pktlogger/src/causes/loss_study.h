/* Infers the cause of each loss from all losses of a transfer together, or of several that share one queue. A full
 * queue loses parts only at its full length; queue management loses them where the queue is long; chance loses them at
 * any length. So the queue at each loss is compared with the queues at all places, which are the positions between two
 * arrivals. If this shows nothing, or if late time stamps hide it, the cause is unknown: a wrong cause is worse.
 * The rules are in FORMAT.md section 4, "Losses". */
#ifndef PL_LOSS_STUDY_H
#define PL_LOSS_STUDY_H

#include "queues.h"
#include "sample.h"
#include "transfer.h"

/* Parts lost in a row, with none between them that arrived. */
struct pl_lost_run {
    uint64_t place; /* arrivals before it */
    uint32_t first_flow, last_flow;
    uint64_t first_seq, last_seq;
    int64_t first_sent_ns, last_sent_ns;
    int64_t before_sent_ns, next_sent_ns; /* when the arrivals just before and after were sent; INT64_MIN and INT64_MAX:
                                           * none */
    double queue_ns;                      /* beside it */
    double left_ns; /* rest of the queue when the run began, if nothing was admitted after the previous arrival */
    double steady_ns, gap_ns;
    uint32_t n;
    bool gap_known, full; /* `full`: the queue had no room, as far as time stamps show */
    bool both_ways;       /* one outage also lost acknowledgements (both_ways.h) */
    uint8_t cause;        /* an enum pl_loss_cause */
};

/* A place without a loss nearby. */
struct pl_gap_seen {
    double steady_ns, gap_ns;
};

struct pl_loss_study {
    const struct pl_transfer *t; /* or a sum of several */
    bool several;
    double service; /* ns a byte; 0: not known */
    struct pl_queues *queues;
    uint64_t n;              /* arrivals */
    int64_t last_arrived_ns; /* when the latest arrival was sent */
    PL_VECTOR(struct pl_lost_run) runs;
    size_t told; /* number of runs whose queue is known */
    /* The longest queues around places; the queues of parts; the differences between the two; the corrections of
     * arrivals. */
    struct pl_sample delays, own_delays, shortfalls, moves;
    PL_VECTOR(struct pl_gap_seen) gaps;
    bool uneven;      /* queues of one length take different times: the rate changes, or others share the line */
    bool exact;       /* time stamps are */
    bool managed;     /* the queue is under queue management, which may drop parts in a row */
    bool drains_show; /* the delays show how a queue drains while nothing enters it */
    double base_ns;   /* the delay without a queue */
    double low_ns;    /* the same for the parts' own delays */
    /* The longest queue; the lateness of time stamps; the largest difference between queues that are alike. */
    double longest_ns, late_ns, alike_ns;
};

/* `service`: of the bottleneck, as pl_service_end returns it. Returns 0, or -1 without memory. `study` must stay where
 * it is until pl_loss_study_end; pl_loss_study_free is allowed after either. */
int pl_loss_study_begin(struct pl_loss_study *study, const struct pl_transfer *t, double service);

/* Take the next part in order of sending: one that arrived, or one that was lost. Return 0, or -1 without memory. */
int pl_loss_study_arrival(struct pl_loss_study *study, const struct pl_segment *segment);
int pl_loss_study_loss(struct pl_loss_study *study, const struct pl_segment *segment, uint32_t flow);

/* Frees everything except the runs and the results. */
void pl_loss_study_keep_runs(struct pl_loss_study *study);

/* Finds the queue of each run, and sorts the samples. loss_judge.h has the causes. Returns 0, or -1 without memory. */
int pl_loss_study_end(struct pl_loss_study *study);
void pl_loss_study_free(struct pl_loss_study *study);

#endif
