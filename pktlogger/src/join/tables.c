/* Implements tables.h. A table's columns are a list; a column is referred to by its index in the list. */
#include "tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SEGMENT_BOX_COLUMNS = 4, ACK_BOX_COLUMNS = 3 }; /* how many of the last columns exist only with a box's record */
enum { NPY_HEADER = 128 };
/* Indexes of columns. */
enum {
    FLOW,
    SEQ,
    LEN,
    T_SENT_NS,
    T_RECEIVED_NS,
    TRANSMISSION,
    KIND,
    DELAY_NS,
    SENDER_FRAME,
    RECEIVER_FRAME,
    UNSEEN,
    ECN_SENT,
    ECN_RECEIVED,
    BOX_FATE,
    T_BOX_IN_NS,
    T_BOX_EXIT_NS,
    T_BOX_OUT_NS,
    T_ACKED_NS = 13,
    RTT_NS = 14
};
enum { ACK_FLOW, ACK_NUMBER, ACK_SENT, ACK_RECEIVED, ACK_WINDOW, ACK_ACE, ACK_LEN, ACK_FATE, ACK_BOX_IN, ACK_BOX_OUT };

/* clang-format off */
#define COMMON_COLUMNS                                                                                                 \
    [FLOW] = PL_COLUMN(struct pl_segment, flow, "<u4"),                                                                \
    [SEQ] = PL_COLUMN(struct pl_segment, seq, "<u8"),                                                                  \
    [LEN] = PL_COLUMN(struct pl_segment, len, "<u4"),                                                                  \
    [T_SENT_NS] = PL_COLUMN(struct pl_segment, t_sent_ns, "<i8"),                                                      \
    [T_RECEIVED_NS] = PL_COLUMN(struct pl_segment, t_received_ns, "<i8"),                                              \
    [TRANSMISSION] = PL_COLUMN(struct pl_segment, transmission, "<u2"),                                                \
    [KIND] = PL_COLUMN(struct pl_segment, kind, "|u1"),                                                                \
    [DELAY_NS] = PL_COLUMN(struct pl_segment, delay_ns, "<i8"),                                                        \
    [SENDER_FRAME] = PL_COLUMN(struct pl_segment, sender_frame, "<u8"),                                                \
    [RECEIVER_FRAME] = PL_COLUMN(struct pl_segment, receiver_frame, "<u8"),                                            \
    [UNSEEN] = PL_COLUMN(struct pl_segment, unseen, "|u1"),                                                            \
    [ECN_SENT] = PL_COLUMN(struct pl_segment, ecn_sent, "|u1"),                                                        \
    [ECN_RECEIVED] = PL_COLUMN(struct pl_segment, ecn_received, "|u1")
static const struct pl_column alone_columns[] = {
    COMMON_COLUMNS,
    [T_ACKED_NS] = PL_COLUMN(struct pl_segment, t_acked_ns, "<i8"),
    [RTT_NS] = PL_COLUMN(struct pl_segment, rtt_ns, "<i8"),
};
static const struct pl_column segment_columns[] = {
    COMMON_COLUMNS,
    [BOX_FATE] = PL_COLUMN(struct pl_segment, box_fate, "|u1"),
    [T_BOX_IN_NS] = PL_COLUMN(struct pl_segment, t_box_in_ns, "<i8"),
    [T_BOX_EXIT_NS] = PL_COLUMN(struct pl_segment, t_box_exit_ns, "<i8"),
    [T_BOX_OUT_NS] = PL_COLUMN(struct pl_segment, t_box_out_ns, "<i8"),
};
static const struct pl_column ack_columns[] = {
    [ACK_FLOW] = PL_COLUMN(struct pl_ack, flow, "<u4"),
    [ACK_NUMBER] = PL_COLUMN(struct pl_ack, ack, "<u8"),
    [ACK_SENT] = PL_COLUMN(struct pl_ack, t_sent_ns, "<i8"),
    [ACK_RECEIVED] = PL_COLUMN(struct pl_ack, t_received_ns, "<i8"),
    [ACK_WINDOW] = PL_COLUMN(struct pl_ack, window, "<u4"),
    [ACK_ACE] = PL_COLUMN(struct pl_ack, ace, "|u1"),
    [ACK_LEN] = PL_COLUMN(struct pl_ack, len, "<u4"),
    [ACK_FATE] = PL_COLUMN(struct pl_ack, box_fate, "|u1"),
    [ACK_BOX_IN] = PL_COLUMN(struct pl_ack, t_box_in_ns, "<i8"),
    [ACK_BOX_OUT] = PL_COLUMN(struct pl_ack, t_box_out_ns, "<i8"),
};
static const struct pl_column event_columns[] = {
    PL_COLUMN(struct pl_event, flow, "<u4"), PL_COLUMN(struct pl_event, t0_ns, "<i8"),
    PL_COLUMN(struct pl_event, t1_ns, "<i8"), PL_COLUMN(struct pl_event, kind, "|u1"),
    PL_COLUMN(struct pl_event, seq, "<u8"),  PL_COLUMN(struct pl_event, bytes, "<u8"),
    PL_COLUMN(struct pl_event, packets, "<u4"),
};
static const struct pl_column limit_columns[] = {
    PL_COLUMN(struct pl_limit, flow, "<u4"),          PL_COLUMN(struct pl_limit, t0_ns, "<i8"),
    PL_COLUMN(struct pl_limit, t1_ns, "<i8"),         PL_COLUMN(struct pl_limit, cause, "|u1"),
    PL_COLUMN(struct pl_limit, packets, "<u4"),       PL_COLUMN(struct pl_limit, bytes, "<u8"),
    PL_COLUMN(struct pl_limit, flight_bytes, "<u8"),  PL_COLUMN(struct pl_limit, window_bytes, "<u4"),
    PL_COLUMN(struct pl_limit, queue_ns, "<i8"),
};
static const struct pl_column loss_columns[] = {
    PL_COLUMN(struct pl_loss, flow, "<u4"),       PL_COLUMN(struct pl_loss, seq, "<u8"),
    PL_COLUMN(struct pl_loss, len, "<u4"),        PL_COLUMN(struct pl_loss, t_sent_ns, "<i8"),
    PL_COLUMN(struct pl_loss, cause, "|u1"),      PL_COLUMN(struct pl_loss, seen_cause, "|u1"),
    PL_COLUMN(struct pl_loss, run, "<u4"),        PL_COLUMN(struct pl_loss, queue_ns, "<i8"),
    PL_COLUMN(struct pl_loss, spacing_ns, "<i8"), PL_COLUMN(struct pl_loss, service_ns, "<i8"),
};
static const struct pl_column rate_columns[] = {
    PL_COLUMN(struct pl_rate, flow, "<u4"),             PL_COLUMN(struct pl_rate, scale_ns, "<u8"),
    PL_COLUMN(struct pl_rate, t0_ns, "<i8"),            PL_COLUMN(struct pl_rate, sent_packets, "<u4"),
    PL_COLUMN(struct pl_rate, sent_bytes, "<u8"),       PL_COLUMN(struct pl_rate, received_packets, "<u4"),
    PL_COLUMN(struct pl_rate, received_bytes, "<u8"),   PL_COLUMN(struct pl_rate, acked_bytes, "<u8"),
    PL_COLUMN(struct pl_rate, flight_bytes, "<u8"),     PL_COLUMN(struct pl_rate, window_bytes, "<u4"),
    PL_COLUMN(struct pl_rate, rtt_ns, "<i8"),
};
static const struct pl_column trip_columns[] = {
    PL_COLUMN(struct pl_trip, flow, "<u4"),   PL_COLUMN(struct pl_trip, t_ns, "<i8"),
    PL_COLUMN(struct pl_trip, rtt_ns, "<i8"), PL_COLUMN(struct pl_trip, gap, "|u1"),
};
/* clang-format on */
_Static_assert(sizeof segment_columns / sizeof *segment_columns == PL_SEGMENT_COLUMNS, "every column is mapped");
_Static_assert(sizeof ack_columns / sizeof *ack_columns == PL_ACK_COLUMNS, "every column is mapped");

static const struct pl_column *segment_column(const struct pl_tables *tables)
{
    return tables->alone ? alone_columns : segment_columns;
}

static size_t segment_column_n(const struct pl_tables *tables)
{
    if (tables->alone)
        return sizeof alone_columns / sizeof *alone_columns;
    return PL_SEGMENT_COLUMNS - (tables->boxed ? 0 : SEGMENT_BOX_COLUMNS);
}

static size_t ack_column_n(const struct pl_tables *tables)
{
    return PL_ACK_COLUMNS - (tables->boxed ? 0 : ACK_BOX_COLUMNS);
}

struct pl_table_form pl_tables_form(const struct pl_tables *tables, int number)
{
    const struct pl_table_form forms[PL_TABLE_N] = {
        {"segments", segment_column(tables), segment_column_n(tables)},
        {"acks", ack_columns, ack_column_n(tables)},
        {"events", event_columns, sizeof event_columns / sizeof *event_columns},
        {"limits", limit_columns, sizeof limit_columns / sizeof *limit_columns},
        {"losses", loss_columns, sizeof loss_columns / sizeof *loss_columns},
        {"rates", rate_columns, sizeof rate_columns / sizeof *rate_columns},
        {"round_trips", trip_columns, sizeof trip_columns / sizeof *trip_columns},
    };
    return forms[number];
}

/* Makes table `number`. Returns NULL with errno. */
static struct pl_table *create_table(const struct pl_tables *tables, int number)
{
    struct pl_table_form form = pl_tables_form(tables, number);
    struct pl_table *table = pl_table_create(tables->dir_fd, form.name, form.columns, form.n);
    if (table)
        pl_table_keep_whole(table);
    return table;
}

int pl_tables_create(struct pl_tables *tables, int dir_fd, bool alone, bool boxed)
{
    *tables = (struct pl_tables){.dir_fd = dir_fd, .alone = alone, .boxed = boxed};
    tables->tables[PL_SEGMENTS] = create_table(tables, PL_SEGMENTS);
    if (tables->tables[PL_SEGMENTS])
        tables->tables[PL_ACKS] = create_table(tables, PL_ACKS);
    if (tables->tables[PL_ACKS])
        tables->events = create_table(tables, PL_CHAINED_N);
    if (tables->events)
        tables->limits = create_table(tables, PL_CHAINED_N + 1);
    if (tables->limits)
        tables->losses = create_table(tables, PL_CHAINED_N + 2);
    if (tables->losses)
        tables->rates = create_table(tables, PL_CHAINED_N + 3);
    if (tables->rates)
        tables->trips = create_table(tables, PL_CHAINED_N + 4);
    return tables->trips ? 0 : -1;
}

/* Adds the rows to the transfer's last run, or to a new one. */
static void chain(struct pl_tables *tables, int table, struct pl_transfer *t, size_t rows)
{
    uint64_t row = tables->rows[table];
    uint32_t last = t->last_run[table];
    tables->rows[table] += rows;
    if (last != PL_NO_RUN && tables->last_owner[table] == t->number &&
        tables->runs[table].at[last].rows <= UINT32_MAX - rows) {
        tables->runs[table].at[last].rows += (uint32_t)rows;
        return;
    }
    struct pl_run run = {.first = row, .rows = (uint32_t)rows, .next = PL_NO_RUN};
    uint32_t number = (uint32_t)tables->runs[table].n;
    if (number == PL_NO_RUN || PL_APPEND(&tables->runs[table], run) < 0) {
        tables->out_of_memory = true;
        return;
    }
    if (last == PL_NO_RUN)
        t->first_run[table] = number;
    else
        tables->runs[table].at[last].next = number;
    t->last_run[table] = number;
    tables->last_owner[table] = t->number;
}

void pl_tables_put_segments(struct pl_tables *tables, struct pl_transfer *transfer, struct pl_segment *segments,
                            size_t n)
{
    for (size_t i = 0; i < n; i++)
        segments[i].kind = segments[i].transmission == 1 ? PL_NEW : segments[i].repeats ? PL_SPURIOUS : PL_FAST;
    pl_table_put_rows(tables->tables[PL_SEGMENTS], segments, sizeof *segments, n);
    chain(tables, PL_SEGMENTS, transfer, n);
}

void pl_tables_put_acks(struct pl_tables *tables, struct pl_transfer *transfer, const struct pl_ack *acks, size_t n)
{
    pl_table_put_rows(tables->tables[PL_ACKS], acks, sizeof *acks, n);
    chain(tables, PL_ACKS, transfer, n);
}

void pl_tables_put_event(struct pl_tables *tables, const struct pl_event *event)
{
    pl_table_put(tables->events, event);
}

void pl_tables_put_limit(struct pl_tables *tables, const struct pl_limit *limit)
{
    pl_table_put(tables->limits, limit);
}

void pl_tables_put_loss(struct pl_tables *tables, const struct pl_loss *loss)
{
    pl_table_put(tables->losses, loss);
}

void pl_tables_put_rate(struct pl_tables *tables, const struct pl_rate *rate)
{
    pl_table_put(tables->rates, rate);
}

void pl_tables_put_trip(struct pl_tables *tables, const struct pl_trip *trip)
{
    pl_table_put(tables->trips, trip);
}

static int open_columns(const struct pl_tables *tables, const char *name, struct pl_column_map *maps,
                        const struct pl_column *columns, size_t n, struct nc_error *error)
{
    char folder[64];
    snprintf(folder, sizeof folder, "/proc/self/fd/%d/%s", tables->dir_fd, name);
    for (size_t i = 0; i < n; i++)
        if (pl_column_open(&maps[i], folder, columns[i].name, columns[i].descr, columns[i].size, error) < 0)
            return -1;
    return 0;
}

/* An empty column has no bytes to map. */
static int map_kinds(struct pl_tables *tables, struct nc_error *error)
{
    size_t len = NPY_HEADER + tables->rows[PL_SEGMENTS];
    int fd = openat(tables->dir_fd, "segments/kind.npy", O_RDWR | O_CLOEXEC);
    void *data = fd >= 0 ? mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    int failed = errno;
    if (fd >= 0)
        close(fd);
    if (data == MAP_FAILED)
        return nc_fail(error, NC_EXIT_FAILED, "cannot map segments/kind.npy: %s", strerror(failed));
    tables->kinds = data;
    tables->kinds_len = len;
    return 0;
}

int pl_tables_map(struct pl_tables *tables, struct nc_error *error)
{
    int failed = tables->out_of_memory ? ENOMEM : 0;
    for (int i = 0; i < PL_CHAINED_N; i++) {
        if (tables->tables[i] && pl_table_close(tables->tables[i]) < 0 && !failed)
            failed = errno;
        tables->tables[i] = NULL;
    }
    if (failed)
        return nc_fail(error, NC_EXIT_FAILED, "%s", strerror(failed));
    if (open_columns(tables, "segments", tables->segments, segment_column(tables), segment_column_n(tables), error) <
            0 ||
        open_columns(tables, "acks", tables->acks, ack_columns, ack_column_n(tables), error) < 0)
        return -1;
    if (!tables->alone && !tables->boxed) {
        const struct pl_column_map *maps = tables->segments;
        tables->passage.seq = maps[SEQ].values;
        tables->passage.len = maps[LEN].values;
        tables->passage.t_sent_ns = maps[T_SENT_NS].values;
        tables->passage.t_received_ns = maps[T_RECEIVED_NS].values;
        tables->passage.unseen = maps[UNSEEN].values;
    }
    return map_kinds(tables, error);
}

/* The number of the row at the cursor, or UINT64_MAX at the end. Skips to the next run where one has ended. */
static uint64_t row_at(const struct pl_tables *tables, int table, const struct pl_transfer *t, struct pl_cursor *cursor)
{
    if (!cursor->begun)
        *cursor = (struct pl_cursor){.begun = true, .run = t->first_run[table]};
    while (cursor->run != PL_NO_RUN) {
        const struct pl_run *run = &tables->runs[table].at[cursor->run];
        if (cursor->row < run->rows)
            return run->first + cursor->row;
        *cursor = (struct pl_cursor){.begun = true, .run = run->next};
    }
    return UINT64_MAX;
}

/* Copies the value of row `at` of a column into a field of the same size. */
#define TAKE(to, maps, column, at) memcpy(&(to), (maps)[column].values + (at) * sizeof(to), sizeof(to))

static void take_segment(const struct pl_tables *tables, uint64_t at, struct pl_segment *segment)
{
    const struct pl_column_map *maps = tables->segments;
    TAKE(segment->flow, maps, FLOW, at);
    TAKE(segment->seq, maps, SEQ, at);
    TAKE(segment->len, maps, LEN, at);
    TAKE(segment->t_sent_ns, maps, T_SENT_NS, at);
    TAKE(segment->t_received_ns, maps, T_RECEIVED_NS, at);
    TAKE(segment->transmission, maps, TRANSMISSION, at);
    TAKE(segment->kind, maps, KIND, at);
    TAKE(segment->delay_ns, maps, DELAY_NS, at);
    TAKE(segment->sender_frame, maps, SENDER_FRAME, at);
    TAKE(segment->receiver_frame, maps, RECEIVER_FRAME, at);
    TAKE(segment->unseen, maps, UNSEEN, at);
    TAKE(segment->ecn_sent, maps, ECN_SENT, at);
    TAKE(segment->ecn_received, maps, ECN_RECEIVED, at);
    if (tables->alone) {
        TAKE(segment->t_acked_ns, maps, T_ACKED_NS, at);
        TAKE(segment->rtt_ns, maps, RTT_NS, at);
    } else if (tables->boxed) {
        TAKE(segment->box_fate, maps, BOX_FATE, at);
        TAKE(segment->t_box_in_ns, maps, T_BOX_IN_NS, at);
        TAKE(segment->t_box_exit_ns, maps, T_BOX_EXIT_NS, at);
        TAKE(segment->t_box_out_ns, maps, T_BOX_OUT_NS, at);
    }
}

static void take_ack(const struct pl_tables *tables, uint64_t at, struct pl_ack *ack)
{
    const struct pl_column_map *maps = tables->acks;
    TAKE(ack->flow, maps, ACK_FLOW, at);
    TAKE(ack->ack, maps, ACK_NUMBER, at);
    TAKE(ack->t_sent_ns, maps, ACK_SENT, at);
    TAKE(ack->t_received_ns, maps, ACK_RECEIVED, at);
    TAKE(ack->window, maps, ACK_WINDOW, at);
    TAKE(ack->ace, maps, ACK_ACE, at);
    TAKE(ack->len, maps, ACK_LEN, at);
    if (tables->boxed) {
        TAKE(ack->box_fate, maps, ACK_FATE, at);
        TAKE(ack->t_box_in_ns, maps, ACK_BOX_IN, at);
        TAKE(ack->t_box_out_ns, maps, ACK_BOX_OUT, at);
    }
}

/* With the sender's capture alone, the time of a part's arrival is when the sender learns of it. */
static void end_at_sender(const struct pl_tables *tables, struct pl_segment *segment)
{
    if (!tables->alone || segment->rtt_ns < 0)
        return;
    segment->t_received_ns = segment->t_sent_ns + segment->rtt_ns;
    segment->delay_ns = segment->rtt_ns;
}

bool pl_tables_segment(const struct pl_tables *tables, const struct pl_transfer *transfer, struct pl_cursor *cursor,
                       struct pl_segment *segment, uint64_t *at)
{
    *at = row_at(tables, PL_SEGMENTS, transfer, cursor);
    if (*at == UINT64_MAX)
        return false;
    *segment = (struct pl_segment){.box_fate = PL_NO_FATE, .t_box_in_ns = -1, .t_box_exit_ns = -1, .t_box_out_ns = -1};
    take_segment(tables, *at, segment);
    end_at_sender(tables, segment);
    return true;
}

bool pl_tables_any_passage(const struct pl_tables *tables, const struct pl_transfer *transfer, struct pl_cursor *cursor,
                           struct pl_segment *segment)
{
    uint64_t at = row_at(tables, PL_SEGMENTS, transfer, cursor);
    if (at == UINT64_MAX)
        return false;
    const struct pl_column_map *maps = tables->segments;
    TAKE(segment->seq, maps, SEQ, at);
    TAKE(segment->len, maps, LEN, at);
    TAKE(segment->t_sent_ns, maps, T_SENT_NS, at);
    TAKE(segment->t_received_ns, maps, T_RECEIVED_NS, at);
    TAKE(segment->unseen, maps, UNSEEN, at);
    segment->box_fate = PL_NO_FATE;
    segment->t_acked_ns = segment->rtt_ns = 0;
    if (tables->alone) {
        TAKE(segment->t_acked_ns, maps, T_ACKED_NS, at);
        TAKE(segment->rtt_ns, maps, RTT_NS, at);
        end_at_sender(tables, segment);
    } else if (tables->boxed)
        TAKE(segment->box_fate, maps, BOX_FATE, at);
    return true;
}

bool pl_tables_is_of_frame(const struct pl_tables *tables, const struct pl_transfer *transfer, struct pl_cursor *cursor,
                           uint64_t frame)
{
    uint64_t at = row_at(tables, PL_SEGMENTS, transfer, cursor), sender_frame;
    if (at == UINT64_MAX)
        return false;
    TAKE(sender_frame, tables->segments, SENDER_FRAME, at);
    return sender_frame == frame;
}

bool pl_tables_ack(const struct pl_tables *tables, const struct pl_transfer *transfer, struct pl_cursor *cursor,
                   struct pl_ack *ack)
{
    uint64_t at = row_at(tables, PL_ACKS, transfer, cursor);
    if (at == UINT64_MAX)
        return false;
    *ack = (struct pl_ack){.box_fate = PL_NO_FATE, .t_box_in_ns = -1, .t_box_out_ns = -1};
    take_ack(tables, at, ack);
    return true;
}

void pl_tables_set_kind(struct pl_tables *tables, uint64_t at, uint8_t kind)
{
    tables->kinds[NPY_HEADER + at] = kind;
}

void pl_tables_forget(struct pl_tables *tables, uint64_t at)
{
    for (size_t i = 0; i < segment_column_n(tables); i++)
        pl_mapping_forget(&tables->segments[i].mapping,
                          tables->segments[i].values + at * segment_column(tables)[i].size);
}

int pl_tables_close(struct pl_tables *tables)
{
    struct pl_table **open[] = {&tables->events, &tables->limits, &tables->losses, &tables->rates, &tables->trips};
    int result = 0;
    for (int i = 0; i < PL_CHAINED_N; i++) { /* when one reading was enough, nothing has mapped and closed these */
        if (tables->tables[i] && pl_table_close(tables->tables[i]) < 0)
            result = -1;
        tables->tables[i] = NULL;
    }
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        if (*open[i] && pl_table_close(*open[i]) < 0)
            result = -1;
        *open[i] = NULL;
    }
    return result;
}

void pl_tables_free(struct pl_tables *tables)
{
    for (int i = 0; i < PL_CHAINED_N; i++)
        free(tables->runs[i].at);
    pl_tables_close(tables);
    for (size_t i = 0; i < PL_SEGMENT_COLUMNS; i++)
        pl_column_close(&tables->segments[i]);
    for (size_t i = 0; i < PL_ACK_COLUMNS; i++)
        pl_column_close(&tables->acks[i]);
    if (tables->kinds)
        munmap(tables->kinds, tables->kinds_len);
    *tables = (struct pl_tables){.dir_fd = -1};
}
