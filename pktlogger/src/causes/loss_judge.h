/* The rules by which loss_study.h finds causes. */
#ifndef PL_LOSS_JUDGE_H
#define PL_LOSS_JUDGE_H

#include "loss_study.h"

/* Ends the study, which has all parts. Fills in the cause of each run and base_ns, and subtracts the smallest delays of
 * parts from queue_ns. Returns 0, or -1 without memory. */
int pl_loss_judge(struct pl_loss_study *study);

#endif
