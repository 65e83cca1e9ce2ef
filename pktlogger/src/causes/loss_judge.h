/* The rules that name the causes of a loss_study.h. */
#ifndef PL_LOSS_JUDGE_H
#define PL_LOSS_JUDGE_H

#include "loss_study.h"

/* Ends the study after its last part. Fills in the cause of each run and base_ns, and makes queue_ns relative to the
 * smallest delays of parts. Returns 0, or -1 without memory. */
int pl_loss_judge(struct pl_loss_study *study);

#endif
