/* Frees what the rooms keep in a transfer. */
#include "transfer.h"

#include <stdlib.h>

#include "arrived.h"
#include "base.h"
#include "join.h"
#include "lateness.h"

void pl_transfer_free(struct pl_transfer *t)
{
    pl_join_free(t->join);
    pl_arrived_free(t);
    pl_lateness_free(&t->lateness);
    pl_base_free(&t->base);
    pl_base_free(&t->seen_base);
    pl_base_free(&t->ack_base);
    free(t->stops.at);
    free(t->lost_runs.at);
    free(t->box_fates);
    t->join = NULL;
    t->stops.at = NULL;
    t->lost_runs.at = NULL;
    t->box_fates = NULL;
}
