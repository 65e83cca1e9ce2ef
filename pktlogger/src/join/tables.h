/* The tables of an analysis. The second reading writes them, and the third reads them along with the sender's capture.
 * Blocks of different flows alternate in a table, so a flow's rows are a chain of runs.
 * Rejected: rows ordered by flow, which would need all rows of a flow in memory, or a second copy of the table. */
#ifndef PL_TABLES_H
#define PL_TABLES_H

#include <string.h>

#include "column.h"
#include "table.h"
#include "transfer.h"

enum { PL_SEGMENTS, PL_ACKS, PL_CHAINED_N, PL_TABLE_N = 7, PL_SEGMENT_COLUMNS = 17, PL_ACK_COLUMNS = 10 };
#define PL_NO_RUN UINT32_MAX

struct pl_run {
    uint64_t first;
    uint32_t rows, next; /* index of the transfer's next run, or PL_NO_RUN */
};

struct pl_tables {
    int dir_fd;
    bool boxed, mapped, out_of_memory;
    bool alone; /* has the columns that exist only for an analysis of the sender's capture alone */
    struct pl_table *tables[PL_CHAINED_N], *events, *limits, *losses, *rates, *trips;
    uint64_t rows[PL_CHAINED_N];
    uint32_t last_owner[PL_CHAINED_N];
    PL_VECTOR(struct pl_run) runs[PL_CHAINED_N];
    struct pl_column_map segments[PL_SEGMENT_COLUMNS], acks[PL_ACK_COLUMNS];
    struct {
        const uint8_t *seq, *len, *t_sent_ns, *t_received_ns, *unseen;
    } passage;      /* where the values of these columns begin; NULL: further columns are needed, or there are no
                     * rows */
    uint8_t *kinds; /* the column, mapped for writing */
    size_t kinds_len;
};

/* A table's name and columns. */
struct pl_table_form {
    const char *name;
    const struct pl_column *columns;
    size_t n;
};

/* Table `number`, from 0 to PL_TABLE_N - 1. */
struct pl_table_form pl_tables_form(const struct pl_tables *tables, int number);

/* Makes the tables in the folder of dir_fd. `alone`: with the columns of an analysis of the sender's capture alone.
 * `boxed`: with those of a box's record. Returns 0, or -1 with errno; pl_tables_free is allowed after either. */
int pl_tables_create(struct pl_tables *tables, int dir_fd, bool alone, bool boxed);

/* These append one row or more. pl_tables_map or pl_tables_close reports the errors. The kind of a segment is
 * provisional: PL_NEW, PL_SPURIOUS, or PL_FAST for any other retransmission. */
void pl_tables_put_segments(struct pl_tables *tables, struct pl_transfer *transfer, struct pl_segment *segments,
                            size_t n);
void pl_tables_put_acks(struct pl_tables *tables, struct pl_transfer *transfer, const struct pl_ack *acks, size_t n);
void pl_tables_put_event(struct pl_tables *tables, const struct pl_event *event);
void pl_tables_put_limit(struct pl_tables *tables, const struct pl_limit *limit);
void pl_tables_put_loss(struct pl_tables *tables, const struct pl_loss *loss);
void pl_tables_put_rate(struct pl_tables *tables, const struct pl_rate *rate);
void pl_tables_put_trip(struct pl_tables *tables, const struct pl_trip *trip);

/* Ends the writing of segments and acks, and maps them. Returns 0, or -1 with a reason. */
int pl_tables_map(struct pl_tables *tables, struct nc_error *error);

/* A cursor in a transfer's rows. It starts as {0}. */
struct pl_cursor {
    bool begun;
    uint32_t run, row;
};

/* Reads the transfer's row at the cursor, which does not move. False at the end. `*at`: the row's number in the table.
 * With the sender's capture alone, the time of arrival is when the sender learns of it, if the time since the sending
 * is a round trip (rtt_ns). */
bool pl_tables_segment(const struct pl_tables *tables, const struct pl_transfer *transfer, struct pl_cursor *cursor,
                       struct pl_segment *segment, uint64_t *at);

/* The same for a few columns only: seq, len, t_sent_ns, t_received_ns, unseen and box_fate, which distinguish arrivals
 * from losses; with the sender's capture alone also t_acked_ns and rtt_ns. Other members keep their values. */
bool pl_tables_any_passage(const struct pl_tables *tables, const struct pl_transfer *transfer, struct pl_cursor *cursor,
                           struct pl_segment *segment);
static inline bool pl_tables_passage(const struct pl_tables *tables, const struct pl_transfer *transfer,
                                     struct pl_cursor *cursor, struct pl_segment *segment)
{
    const struct pl_run *run =
        cursor->begun && cursor->run != PL_NO_RUN ? &tables->runs[PL_SEGMENTS].at[cursor->run] : NULL;
    if (!run || cursor->row >= run->rows || !tables->passage.seq)
        return pl_tables_any_passage(tables, transfer, cursor, segment);
    uint64_t at = run->first + cursor->row;
    memcpy(&segment->seq, tables->passage.seq + at * sizeof segment->seq, sizeof segment->seq);
    memcpy(&segment->len, tables->passage.len + at * sizeof segment->len, sizeof segment->len);
    memcpy(&segment->t_sent_ns, tables->passage.t_sent_ns + at * sizeof at, sizeof segment->t_sent_ns);
    memcpy(&segment->t_received_ns, tables->passage.t_received_ns + at * sizeof at, sizeof segment->t_received_ns);
    segment->unseen = tables->passage.unseen[at];
    segment->box_fate = PL_NO_FATE;
    segment->t_acked_ns = segment->rtt_ns = 0;
    return true;
}

/* Whether the cursor is at a row that is a part of this frame of the sender's capture. */
bool pl_tables_is_of_frame(const struct pl_tables *tables, const struct pl_transfer *transfer, struct pl_cursor *cursor,
                           uint64_t frame);
bool pl_tables_ack(const struct pl_tables *tables, const struct pl_transfer *transfer, struct pl_cursor *cursor,
                   struct pl_ack *ack);
void pl_tables_set_kind(struct pl_tables *tables, uint64_t at, uint8_t kind);

/* Releases the memory of rows before `at`. */
void pl_tables_forget(struct pl_tables *tables, uint64_t at);

/* Closes the remaining tables. Returns 0, or -1 with errno. */
int pl_tables_close(struct pl_tables *tables);

void pl_tables_free(struct pl_tables *tables);

#endif
