/* Why each part was lost, as the two ends alone show it: from the parts that arrived before and after, in order of
 * sending. Lost parts wait until the next part arrives, at most PL_LOSS_RUN of them.
 * The rules are in FORMAT.md section 4, "Losses". */
#ifndef PL_LOSSES_H
#define PL_LOSSES_H

#include "transfer.h"

typedef void pl_loss_sink(void *context, const struct pl_loss *loss);

enum { PL_LOSS_RUN = 4096, PL_SERVICES = 16 };

struct pl_loss_causes {
    const struct pl_transfer *t; /* with what the second reading has found out */
    pl_loss_sink *sink;
    void *context;
    PL_VECTOR(struct pl_loss) run; /* lost since the last part that arrived */
    struct pl_segment before;      /* the last part that arrived; len 0: none yet */
    int64_t first_lost_ns, last_lost_ns;
    double services[PL_SERVICES]; /* ns a byte: the last distances of parts that had waited */
    unsigned service_n;
    bool managed; /* losses happen where the queue is long, but not full */
};

void pl_loss_causes_begin(struct pl_loss_causes *causes, const struct pl_transfer *t, pl_loss_sink *sink,
                          void *context);
/* Takes the next part in order of sending. Returns 0, or -1 without memory. */
int pl_loss_causes_add(struct pl_loss_causes *causes, const struct pl_segment *segment);
void pl_loss_causes_end(struct pl_loss_causes *causes);

const char *pl_loss_name(enum pl_loss_cause cause);
const char *pl_loss_words(enum pl_loss_cause cause);

#endif
