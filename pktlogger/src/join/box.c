/* Implements box.h. */
#include "box.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fate.h"

enum column { COPY, FATE, EDITS, DIR, T_ARRIVAL, T_EXIT, T_DUE, T_RELEASE, T_DROP, FLOW, SEQ, ACK, LEN, WAY, COLUMN_N };
_Static_assert((int)COLUMN_N == (int)PL_BOX_COLUMNS, "every column has a place");

static const struct {
    const char *name, *descr;
    size_t size;
    /* clang-format off */
} columns[COLUMN_N] = {
    [COPY] = {"copy", "|u1", 1}, [FATE] = {"fate", "|u1", 1}, [EDITS] = {"edits", "|u1", 1}, [DIR] = {"dir", "|u1", 1},
    [T_ARRIVAL] = {"t_arrival_ns", "<i8", 8}, [T_EXIT] = {"t_queue_exit_ns", "<i8", 8},
    [T_DUE] = {"t_departure_ns", "<i8", 8}, [T_RELEASE] = {"t_release_ns", "<i8", 8},
    [T_DROP] = {"t_drop_ns", "<i8", 8}, [FLOW] = {"flow", "<u4", 4}, [SEQ] = {"seq", "<u8", 8},
    [ACK] = {"ack", "<u8", 8}, [LEN] = {"len", "<u4", 4},
    [WAY] = {"direction", "|u1", 1},
};
/* clang-format on */

static uint64_t u64(const struct pl_box *box, enum column column, uint32_t i)
{
    uint64_t value = 0; /* little-endian, which table.c asserts */
    memcpy(&value, box->column[column].values + (size_t)i * columns[column].size, columns[column].size);
    return value;
}

static int64_t i64(const struct pl_box *box, enum column column, uint32_t i)
{
    return (int64_t)u64(box, column, i);
}

static int open_columns(struct pl_box *box, const char *folder, struct nc_error *error)
{
    for (int c = 0; c < COLUMN_N; c++) {
        if (pl_column_open(&box->column[c], folder, columns[c].name, columns[c].descr, columns[c].size, error) < 0)
            return -1;
        if (box->column[c].rows != box->column[0].rows || box->column[c].rows >= UINT32_MAX)
            return nc_fail(error, NC_EXIT_USAGE,
                           "'%.200s': its columns have different numbers of rows, or more than 2^32", folder);
    }
    return 0;
}

static json_t *load(const char *folder, const char *name, struct nc_error *error)
{
    char path[4096];
    json_error_t where;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_t *value = json_load_file(path, 0, &where);
    if (!value)
        nc_fail(error, NC_EXIT_USAGE, "'%.300s': not a record's folder (of pktlogger record -o): %.100s", path,
                where.text);
    return value;
}

/* Finds fates by name, because earlier records use another number for "held": fates were added since. Afterwards the
 * description has today's names and numbers, like everything that is made from the record. */
static void read_fates(struct pl_box *box)
{
    const json_t *names = json_object_get(box->description, "fates");
    memset(box->fate_of, FATE_N, sizeof box->fate_of);
    for (size_t i = 0; i < json_array_size(names) && i < sizeof box->fate_of; i++)
        for (int fate = 0; fate < FATE_N; fate++) {
            const char *name = json_string_value(json_array_get(names, i));
            if (!name || strcmp(name, fate_name((enum fate)fate)) != 0)
                continue;
            box->fate_of[i] = (uint8_t)fate;
            box->tells_outages |= fate == FATE_OUTAGE;
        }
    json_t *today = json_array();
    for (int fate = 0; fate < FATE_N; fate++)
        json_array_append_new(today, json_string(fate_name((enum fate)fate)));
    json_array_append_new(today, json_string("held"));
    json_object_set_new(box->description, "fates", today);
}

static bool read_side(const json_t *from, uint8_t ip_version, struct pl_side *side)
{
    const char *address = json_string_value(json_object_get(from, "address"));
    const json_t *isn = json_object_get(from, "isn");
    side->port = (uint16_t)json_integer_value(json_object_get(from, "port"));
    side->syn = json_is_true(json_object_get(from, "syn"));
    side->based = json_is_integer(isn);
    side->base = (uint32_t)json_integer_value(isn);
    return address && inet_pton(ip_version == 4 ? AF_INET : AF_INET6, address, side->address) == 1;
}

static int read_flows(struct pl_box *box, const json_t *list)
{
    size_t n = json_array_size(list), i;
    const json_t *entry;
    box->flows = calloc(n + 1, sizeof *box->flows);
    if (!box->flows || n >= UINT32_MAX)
        return -1;
    json_array_foreach((json_t *)(uintptr_t)list, i, entry)
    {
        struct pl_flow *flow = &box->flows[i];
        const json_t *sides = json_object_get(entry, "sides");
        flow->ip_version = (uint8_t)json_integer_value(json_object_get(entry, "ip_version"));
        for (unsigned s = 0; s < 2; s++)
            if (!read_side(json_array_get(sides, s), flow->ip_version, &flow->side[s]))
                return -1;
    }
    box->flow_n = (uint32_t)n;
    return 0;
}

uint32_t pl_box_flow(const struct pl_box *box, uint32_t i)
{
    uint64_t flow = u64(box, FLOW, i);
    return flow < box->flow_n && !u64(box, COPY, i) ? (uint32_t)flow : UINT32_MAX;
}

/* The first row of each flow shows its direction through the box. */
static int find_ways(struct pl_box *box)
{
    uint32_t rows = (uint32_t)box->column[0].rows, left = box->flow_n;
    box->ways = malloc((size_t)box->flow_n + 1);
    if (!box->ways)
        return -1;
    memset(box->ways, UINT8_MAX, box->flow_n);
    for (uint32_t i = 0; i < rows && left; i++) {
        uint64_t flow = u64(box, FLOW, i);
        if (flow >= box->flow_n || box->ways[flow] != UINT8_MAX)
            continue;
        box->ways[flow] = (uint8_t)((u64(box, WAY, i) ^ u64(box, DIR, i)) & 1);
        left--;
    }
    return 0;
}

int pl_box_open(struct pl_box *box, const char *folder, struct nc_error *error)
{
    *box = (struct pl_box){.flow_n = 0};
    if (open_columns(box, folder, error) < 0)
        return -1;
    json_t *flows = load(folder, "flows.json", error);
    if (flows)
        box->description = load(folder, "record.json", error);
    int result = box->description ? read_flows(box, json_object_get(flows, "flows")) : -1;
    if (box->description && result < 0)
        nc_fail(error, NC_EXIT_USAGE, "'%.200s/flows.json': a connection in it has no addresses", folder);
    json_decref(flows);
    if (box->description)
        read_fates(box);
    struct nc_error why;
    if (result == 0 && find_ways(box) < 0)
        result = nc_fail(error, NC_EXIT_FAILED, "out of memory");
    if (result == 0 && pl_lines_parse(&box->lines, json_object_get(box->description, "line"), &why) < 0)
        result = nc_fail(error, NC_EXIT_USAGE, "'%.200s/record.json': %s", folder, why.text);
    return result;
}

void pl_box_close(struct pl_box *box)
{
    for (int c = 0; c < COLUMN_N; c++)
        pl_column_close(&box->column[c]);
    json_decref(box->description);
    pl_lines_free(&box->lines);
    free(box->flows);
    free(box->ways);
    *box = (struct pl_box){.flow_n = 0};
}

static bool same_side(const struct pl_side *a, const struct pl_side *b)
{
    return a->port == b->port && memcmp(a->address, b->address, sizeof a->address) == 0 &&
           !(a->syn && b->syn && a->base != b->base);
}

uint32_t pl_box_lookup(const struct pl_box *box, const struct pl_flow *like, bool *flipped)
{
    for (uint32_t f = 0; f < box->flow_n; f++) {
        const struct pl_flow *flow = &box->flows[f];
        if (flow->ip_version != like->ip_version)
            continue;
        for (unsigned flip = 0; flip < 2; flip++)
            if (same_side(&flow->side[0], &like->side[flip]) && same_side(&flow->side[1], &like->side[!flip])) {
                *flipped = flip;
                return f;
            }
    }
    return UINT32_MAX;
}

/* A time; -1 for a value that is not a time. The record is foreign input, and differences of times must not
 * overflow. */
static int64_t time_of(const struct pl_box *box, enum column column, uint32_t i)
{
    const int64_t latest_ns = INT64_C(1) << 62;
    int64_t t_ns = i64(box, column, i);
    return t_ns < 0 || t_ns > latest_ns ? -1 : t_ns;
}

struct pl_box_row pl_box_row(const struct pl_box *box, uint32_t i)
{
    int64_t release_ns = time_of(box, T_RELEASE, i), drop_ns = time_of(box, T_DROP, i);
    return (struct pl_box_row){
        .seq = u64(box, SEQ, i),
        .ack = u64(box, ACK, i),
        .t_in_ns = time_of(box, T_ARRIVAL, i),
        .t_exit_ns = time_of(box, T_EXIT, i),
        .t_out_ns = release_ns >= 0 ? release_ns : drop_ns,
        .t_due_ns = time_of(box, T_DUE, i),
        .t_released_ns = release_ns,
        .len = (uint32_t)u64(box, LEN, i),
        .dir = (uint8_t)u64(box, DIR, i),
        .fate = box->fate_of[u64(box, FATE, i) & UINT8_MAX],
        .corrupted = release_ns >= 0 && u64(box, EDITS, i) & EDIT_CORRUPT,
        .marked = u64(box, EDITS, i) & EDIT_CE,
    };
}

/* Whether the record lacks packets. */
static bool has_gaps(const struct pl_box *box)
{
    const char *name;
    json_t *skipped;
    json_object_foreach(json_object_get(box->description, "skipped_packets"), name,
                        skipped) if (json_integer_value(skipped) > 0) return true;
    return json_array_size(json_object_get(box->description, "gaps")) > 0;
}

int pl_box_busy(const struct pl_box *box, struct pl_time_spans busy[2])
{
    if (has_gaps(box))
        return 0;
    for (uint32_t i = 0; i < box->column[0].rows; i++) {
        int64_t in_ns = time_of(box, T_ARRIVAL, i), exit_ns = i64(box, T_EXIT, i);
        struct pl_time_spans *line = &busy[u64(box, WAY, i) != 0];
        struct pl_time_span *last = line->list.n ? &line->list.at[line->list.n - 1] : NULL;
        if (in_ns < 0 || exit_ns < in_ns)
            continue;
        if (last && in_ns <= last->t1_ns) /* rows of a direction are in order of arrival */
            last->t1_ns = exit_ns > last->t1_ns ? exit_ns : last->t1_ns;
        else if (pl_time_spans_add(line, in_ns, exit_ns) < 0)
            return -1;
    }
    return 1;
}
