/* What one capture alone does not show: the members of a flow in summary.json, and the columns of the tables, that are
 * null. Python nulls the columns of Parquet by the list in summary.json; columns of NumPy have FORMAT.md's value for
 * what does not exist. */
#ifndef PL_NOT_KNOWN_H
#define PL_NOT_KNOWN_H

#include <jansson.h>

#include "transfer.h"

/* "both", "sender" or "receiver" */
const char *pl_ends_name(enum pl_ends ends);

/* Sets what is not known of a flow to null. */
void pl_not_known_flow(json_t *flow, enum pl_ends ends);

/* {"segments": ["t_received_ns", …], …}: tables, and their columns that are null in connections of all `ends`, as bits
 * 1 << enum pl_ends. `present`: those of all connections. */
json_t *pl_not_known_columns(unsigned ends, unsigned present);

#endif
