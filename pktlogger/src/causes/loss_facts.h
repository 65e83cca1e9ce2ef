/* What the losses of a transfer have in common, as numbers: the facts that loss_judge.h decides by. */
#ifndef PL_LOSS_FACTS_H
#define PL_LOSS_FACTS_H

#include "loss_study.h"

/* Times in ns, queues without the base. Numbers of runs, not of parts, are evidence: parts lost in a row have one
 * reason. "Others" are the runs that are not full. */
struct pl_loss_facts {
    double part_ns;                    /* the bottleneck's time for a packet; 0: not known */
    double late_ns;                    /* lateness of time stamps, and unevenness of the queue */
    double gap_late_ns, gap_middle_ns; /* the same for gaps; INFINITY and 0: not known */
    double near_ns;                    /* queues that differ by less are alike */
    double longest_ns;                 /* longest queue; where time stamps are late, without the longest 0.1 % of all
                                        * places */
    bool exact;                        /* time stamps are */
    double n, full_n, full_parts;      /* number of runs; of full runs, and of the parts in them */
    double full_episodes, full_places; /* with a full queue: number of loss episodes, and their share of all places */
    double others_depth_ns;            /* how far below the longest queue the others were lost: their median */
    double others_surprise, surprise;  /* of the others, of all */
    double low_ns;                     /* a shorter queue counts as none */
    double others_low_n, low_share;    /* other runs lost without a queue, and the share of such places */
    double sided_n, behind_n;          /* other runs that show their side of the bottleneck, and those of them behind
                                        * it */
};

/* Fills in the facts, and base_ns, longest_ns, late_ns and alike_ns of the study; takes the base from queue_ns and
 * left_ns of its runs, and marks those that are full. Returns 0, or -1 without memory. */
int pl_loss_facts_find(struct pl_loss_study *study, struct pl_loss_facts *facts);

/* A longer queue is certain; up to this length it may be the packets around the place, or late time stamps. */
double pl_loss_facts_no_queue_ns(const struct pl_loss_facts *facts);

/* The share of the run's time at the bottleneck that shows between the arrivals around it: 1 if it was lost behind the
 * bottleneck, 0 if before. */
double pl_loss_facts_share_behind(const struct pl_loss_facts *facts, const struct pl_lost_run *run);

/* True when the parts around the run waited in a queue, which makes pl_loss_facts_share_behind meaningful. */
bool pl_loss_facts_sided(const struct pl_loss_study *study, const struct pl_loss_facts *facts,
                         const struct pl_lost_run *run);

#endif
