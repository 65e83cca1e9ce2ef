/* Implements csv.h. Rows are read from the written columns one by one, so memory does not grow with their number. */
#include "csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "stream.h"

/* The columns that give the start and end time of a row. */
static const struct {
    const char *table, *begin, *end;
} spans[] = {
    {"segments", "t_sent_ns", "t_sent_ns"}, {"acks", "t_sent_ns", "t_received_ns"}, {"events", "t0_ns", "t1_ns"},
    {"limits", "t0_ns", "t1_ns"},           {"losses", "t_sent_ns", "t_sent_ns"},   {"rates", "t0_ns", "t0_ns"},
    {"round_trips", "t_ns", "t_ns"},
};

/* The lists in the summary that give the names for the numbers of a column. */
static const struct {
    const char *table, *column, *list;
} name_lists[] = {
    {"segments", "kind", "segment_kinds"}, {"events", "kind", "event_kinds"},       {"limits", "cause", "limit_causes"},
    {"losses", "cause", "loss_causes"},    {"losses", "seen_cause", "loss_causes"},
};

/* A table being read. `flow`, `begin` and `end` are indexes of its columns. */
struct sheet {
    struct pl_table_form form;
    struct pl_column_map maps[PL_SEGMENT_COLUMNS];
    const json_t *names[PL_SEGMENT_COLUMNS]; /* NULL: a number stays a number */
    size_t flow, begin, end;
};

static FILE *create(int dir_fd, const char *table)
{
    char name[64];
    snprintf(name, sizeof name, "%s.csv", table);
    return pl_stream_create(dir_fd, name);
}

/* Returns 0, or -1 with a reason if the file could not be written completely. */
static int finish(FILE *out, const char *table, struct nc_error *error)
{
    return pl_stream_close(out) < 0 ? nc_fail(error, NC_EXIT_FAILED, "%s.csv: %s", table, strerror(errno)) : 0;
}

static size_t column_of(const struct pl_table_form *form, const char *name)
{
    size_t i = 0;
    while (i + 1 < form->n && strcmp(form->columns[i].name, name) != 0)
        i++;
    return i;
}

static const json_t *names_of(const struct pl_table_form *form, const char *column, const json_t *summary)
{
    for (size_t i = 0; i < sizeof name_lists / sizeof *name_lists; i++)
        if (strcmp(name_lists[i].table, form->name) == 0 && strcmp(name_lists[i].column, column) == 0)
            return json_object_get(summary, name_lists[i].list);
    return NULL;
}

static void close_sheet(struct sheet *sheet)
{
    for (size_t i = 0; i < sheet->form.n; i++)
        pl_column_close(&sheet->maps[i]);
}

/* Maps the table's columns. Returns 0, or -1 with a reason; close_sheet is allowed after either. */
static int open_sheet(struct sheet *sheet, const struct pl_tables *tables, int number, const json_t *summary,
                      struct nc_error *error)
{
    *sheet = (struct sheet){.form = pl_tables_form(tables, number)};
    const struct pl_table_form *form = &sheet->form;
    char folder[64];
    snprintf(folder, sizeof folder, "/proc/self/fd/%d/%s", tables->dir_fd, form->name);
    for (size_t i = 0; i < form->n; i++) {
        const struct pl_column *column = &form->columns[i];
        sheet->names[i] = names_of(form, column->name, summary);
        if (pl_column_open(&sheet->maps[i], folder, column->name, column->descr, column->size, error) < 0)
            return -1;
    }
    sheet->flow = column_of(form, "flow");
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        if (strcmp(spans[i].table, form->name) == 0) {
            sheet->begin = column_of(form, spans[i].begin);
            sheet->end = column_of(form, spans[i].end);
        }
    return 0;
}

static uint64_t value(const struct sheet *sheet, size_t column, uint64_t row)
{
    uint64_t found = 0; /* little endian, as table.c asserts */
    size_t size = sheet->form.columns[column].size;
    memcpy(&found, sheet->maps[column].values + row * size, size);
    return found;
}

/* Reads the start and end time of a row. If one of them is not known (-1), it takes the other's value. */
static bool shows(const struct sheet *sheet, uint64_t row, const struct pl_analysis *analysis,
                  const struct pl_time_range *range)
{
    struct pl_time_range shown = pl_time_range_at(range, analysis->transfers[value(sheet, sheet->flow, row)].first_ns);
    int64_t begin_ns = (int64_t)value(sheet, sheet->begin, row), end_ns = (int64_t)value(sheet, sheet->end, row);
    begin_ns = begin_ns < 0 ? end_ns : begin_ns;
    end_ns = end_ns < 0 ? begin_ns : end_ns;
    return end_ns >= shown.from_ns && begin_ns <= shown.to_ns;
}

static void put_row(FILE *out, const struct sheet *sheet, uint64_t row)
{
    for (size_t i = 0; i < sheet->form.n; i++) {
        uint64_t number = value(sheet, i, row);
        const char *name = json_string_value(json_array_get(sheet->names[i], number));
        if (i)
            fputc(',', out);
        if (name)
            fputs(name, out);
        else if (sheet->form.columns[i].descr[1] == 'i')
            fprintf(out, "%" PRId64, (int64_t)number);
        else
            fprintf(out, "%" PRIu64, number);
    }
    fputc('\n', out);
}

static int put_sheet(int dir_fd, const struct sheet *sheet, const struct pl_analysis *analysis,
                     const struct pl_time_range *range, struct nc_error *error)
{
    const struct pl_table_form *form = &sheet->form;
    FILE *out = create(dir_fd, form->name);
    if (!out)
        return nc_fail(error, NC_EXIT_FAILED, "%s.csv: %s", form->name, strerror(errno));
    for (size_t i = 0; i < form->n; i++)
        fprintf(out, "%s%s", i ? "," : "", form->columns[i].name);
    fputc('\n', out);
    for (uint64_t row = 0; row < sheet->maps[0].rows; row++)
        if (shows(sheet, row, analysis, range))
            put_row(out, sheet, row);
    return finish(out, form->name, error);
}

/* A cell of flows.csv, empty for null. */
static void put_json(FILE *out, const json_t *cell)
{
    if (json_is_integer(cell))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(cell));
    else if (json_is_real(cell))
        fprintf(out, "%.9g", json_real_value(cell));
    else if (json_is_boolean(cell))
        fputs(json_is_true(cell) ? "true" : "false", out);
    else if (json_is_string(cell))
        fputs(json_string_value(cell), out);
}

/* Writes one row of flows.csv, or the header if `flow` is NULL. The columns are both end points, then all members of
 * the summary that are single numbers. */
static void put_flow(FILE *out, const json_t *first, const json_t *flow)
{
    static const char *const ends[] = {"sender", "receiver"}, *const parts[] = {"address", "port"};
    put_json(out, json_object_get(flow, "flow"));
    if (!flow)
        fputs("flow", out);
    for (int i = 0; i < 4; i++) {
        fputc(',', out);
        put_json(out, json_object_get(json_object_get(flow, ends[i / 2]), parts[i % 2]));
        if (!flow)
            fprintf(out, "%s_%s", ends[i / 2], parts[i % 2]);
    }
    const char *key;
    json_t *cell;
    json_object_foreach((json_t *)(uintptr_t)first, key, cell)
    {
        if (json_is_object(cell) || json_is_array(cell) || strcmp(key, "flow") == 0 || strcmp(key, "box") == 0)
            continue;
        fputc(',', out);
        put_json(out, json_object_get(flow, key));
        if (!flow)
            fputs(key, out);
    }
    fputc('\n', out);
}

static int put_flows(int dir_fd, const json_t *flows, struct nc_error *error)
{
    FILE *out = create(dir_fd, "flows");
    if (!out)
        return nc_fail(error, NC_EXIT_FAILED, "flows.csv: %s", strerror(errno));
    const json_t *first = json_array_get(flows, 0);
    put_flow(out, first, NULL);
    for (size_t i = 0; i < json_array_size(flows); i++)
        put_flow(out, first, json_array_get(flows, i));
    return finish(out, "flows", error);
}

int pl_csv_write(int dir_fd, const struct pl_analysis *analysis, const struct pl_tables *tables, const json_t *summary,
                 const struct pl_time_range *range, struct nc_error *error)
{
    int result = put_flows(dir_fd, json_object_get(summary, "flows"), error);
    for (int i = 0; i < PL_TABLE_N && result == 0; i++) {
        struct sheet sheet;
        result = open_sheet(&sheet, tables, i, summary, error);
        if (result == 0)
            result = put_sheet(dir_fd, &sheet, analysis, range, error);
        close_sheet(&sheet);
    }
    return result;
}
