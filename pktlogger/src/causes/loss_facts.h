/* The facts by which loss_judge.h decides: what the losses of a transfer have in common, in numbers. */
#ifndef PL_LOSS_FACTS_H
#define PL_LOSS_FACTS_H

#include "loss_study.h"

/* Times in ns; queues do not include the base. The evidence is numbers of runs, not of parts: parts lost in a row are
 * lost for one reason. "Others" are the runs that did not meet a full queue. */
struct pl_loss_facts {
    double part_ns;                    /* the bottleneck's time for a packet; 0: not known */
    double late_ns;                    /* lateness of time stamps, and unevenness of the queue */
    double gap_late_ns, gap_middle_ns; /* spread and median of the gaps where nothing was lost; INFINITY and 0: not
                                          known */
    double near_ns;                    /* two queues are alike if they differ by at most this */
    double longest_ns;                 /* longest queue; where time stamps are late, without the longest 0.1 % of all
                                        * places */
    bool exact;                        /* time stamps are */
    double n, full_n, full_parts;      /* number of runs; of full runs, and of the parts in them */
    double full_episodes, full_places; /* number of loss episodes with a full queue; share of places with such a
                                          queue */
    double others_depth_ns;            /* median of (longest queue − queue of a run) over the others */
    double others_surprise, surprise;  /* of the others, of all */
    double low_ns;                     /* a shorter queue counts as none */
    double others_low_n, low_share;    /* number of others without a queue; share of places without one */
    double sided_n, behind_n;          /* number of others that show on which side of the bottleneck they were lost,
                                          and of those lost behind it */
};

/* Fills in the facts, and base_ns, longest_ns, late_ns and alike_ns of the study. Subtracts the base from queue_ns and
 * left_ns of its runs, and marks the runs that met a full queue. Returns 0, or -1 without memory. */
int pl_loss_facts_find(struct pl_loss_study *study, struct pl_loss_facts *facts);

/* The longest delay that need not be a queue: packets around the place, or late time stamps, may explain it. */
double pl_loss_facts_no_queue_ns(const struct pl_loss_facts *facts);

/* How much of the run's time at the bottleneck appears between the arrivals around it, as a share: 1 if the run was
 * lost behind the bottleneck, 0 if before it. */
double pl_loss_facts_share_behind(const struct pl_loss_facts *facts, const struct pl_lost_run *run);

/* True when the parts around the run waited in a queue, which makes pl_loss_facts_share_behind meaningful. */
bool pl_loss_facts_sided(const struct pl_loss_study *study, const struct pl_loss_facts *facts,
                         const struct pl_lost_run *run);

#endif
