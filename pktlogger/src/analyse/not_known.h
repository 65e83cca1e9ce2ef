/* Lists the members of a flow in summary.json and the columns of tables that one capture alone does not show. They are
 * null. The Python reader nulls columns of Parquet by the list in summary.json. Columns of NumPy have the value that
 * FORMAT.md gives for "does not exist". */
#ifndef PL_NOT_KNOWN_H
#define PL_NOT_KNOWN_H

#include <jansson.h>

#include "transfer.h"

/* "both", "sender" or "receiver" */
const char *pl_ends_name(enum pl_ends ends);

/* Sets the members of a flow that are not known to null. */
void pl_not_known_flow(json_t *flow, enum pl_ends ends);

/* Returns {"segments": ["t_received_ns", …], …}: for each table, the columns that are null for connections of all of
 * `ends`, which is a set of bits 1 << enum pl_ends. `present`: the ends of all connections. */
json_t *pl_not_known_columns(unsigned ends, unsigned present);

#endif
