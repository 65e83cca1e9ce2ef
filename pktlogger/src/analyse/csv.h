/* Writes the tables of an analysis as CSV (RFC 4180 with line feeds), for spreadsheets and R. No cell needs quotes:
 * cells are numbers, addresses, and names from the tables of this program.
 * Rejected: Arrow's CSV writer. It would make `pktlogger analyse` depend on Python. */
#ifndef PL_CSV_H
#define PL_CSV_H

#include <jansson.h>

#include "analyse.h"
#include "tables.h"
#include "time_range.h"

/* Writes segments.csv, acks.csv, events.csv, limits.csv and losses.csv into the folder of dir_fd, with the rows of the
 * range, and flows.csv with all flows. The tables must be closed (pl_tables_close). `summary`: of the analysis.
 * Returns 0, or -1 with a reason. */
int pl_csv_write(int dir_fd, const struct pl_analysis *analysis, const struct pl_tables *tables, const json_t *summary,
                 const struct pl_time_range *range, struct nc_error *error);

#endif
