/* The rate of a direction for the record (RECORD.md, LINE): the rate of its slowest stage. */
#ifndef COMET_LINE_TOLD_H
#define COMET_LINE_TOLD_H

#include "models.h"
#include "recorder.h"

/* Records the rate from `now_ns` on, and the later steps of a rate trace that began at `origin_ns`. */
void line_tell(struct recorder *recorder, const struct params *params, const struct models *models, uint64_t origin_ns,
               uint64_t now_ns);

#endif
