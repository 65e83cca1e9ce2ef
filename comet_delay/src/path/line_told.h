/* What a direction lets through, for the record (RECORD.md, LINE): of all stages that bound its rate the slowest. */
#ifndef COMET_LINE_TOLD_H
#define COMET_LINE_TOLD_H

#include "models.h"
#include "recorder.h"

/* Records it from `now_ns` on, with the later steps of a rate trace, which began at `origin_ns`. */
void line_tell(struct recorder *recorder, const struct params *params, const struct models *models, uint64_t origin_ns,
               uint64_t now_ns);

#endif
