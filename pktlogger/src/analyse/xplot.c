/* Implements xplot.h. Times are printed as seconds and nanoseconds from integers, because a double would lose the
 * nanoseconds. */
#include "xplot.h"

#include <inttypes.h>
#include <stdbool.h>

struct point {
    int64_t t_ns;
    uint64_t seq;
};

static void put(FILE *out, struct point at)
{
    fprintf(out, " %" PRId64 ".%09" PRId64 " %" PRIu64, at.t_ns / 1000000000, at.t_ns % 1000000000, at.seq);
}

/* The drawing: its output stream and its range of time. */
struct graph {
    FILE *out;
    int64_t from_ns, to_ns;
};

static bool shows(const struct graph *graph, int64_t from_ns, int64_t to_ns)
{
    return to_ns >= graph->from_ns && from_ns <= graph->to_ns;
}

static struct point inside(const struct graph *graph, struct point at)
{
    int64_t t_ns = at.t_ns < graph->from_ns ? graph->from_ns : at.t_ns;
    return (struct point){t_ns > graph->to_ns ? graph->to_ns : t_ns, at.seq};
}

/* Every line is parallel to an axis, so clipping moves its ends into the range. */
static void line(const struct graph *graph, struct point from, struct point to)
{
    fputs("line", graph->out);
    put(graph->out, inside(graph, from));
    put(graph->out, inside(graph, to));
    fputc('\n', graph->out);
}

static void text(const struct graph *graph, const char *where, struct point at, const char *what)
{
    fputs(where, graph->out);
    put(graph->out, inside(graph, at));
    fprintf(graph->out, "\n%s\n", what);
}

/* Draws the segments. Returns the first sequence number drawn, which is the height of the texts. */
static uint64_t put_segments(const struct graph *graph, const struct pl_transfer *t, const struct pl_tables *tables)
{
    struct pl_cursor cursor = {.begun = false};
    struct pl_segment row;
    uint64_t at, first = UINT64_MAX;
    for (; pl_tables_segment(tables, t, &cursor, &row, &at); cursor.row++) {
        const struct pl_segment *segment = &row;
        if (!shows(graph, row.t_sent_ns, row.t_sent_ns))
            continue;
        first = first == UINT64_MAX ? row.seq : first;
        struct point low = {segment->t_sent_ns, segment->seq}, high = {segment->t_sent_ns, segment->seq + segment->len};
        bool lost = pl_lost(t, segment);
        fputs(lost ? "purple\n" : segment->transmission > 1 ? "red\n" : "white\n", graph->out);
        line(graph, low, high);
        if (segment->transmission > 1)
            text(graph, "atext", high, "R");
        if (lost)
            text(graph, "btext", low, "X");
    }
    return first;
}

static void put_step(const struct graph *graph, const char *color, struct point from, struct point to)
{
    fprintf(graph->out, "%s\n", color);
    line(graph, from, (struct point){to.t_ns, from.seq});
    if (to.t_ns <= graph->to_ns)
        line(graph, (struct point){to.t_ns, from.seq}, to);
}

/* Draws acknowledgements and window. Returns the last acknowledgement number drawn. */
static uint64_t put_acks(const struct graph *graph, const struct pl_transfer *t, const struct pl_tables *tables)
{
    struct point ack = {-1, 0}, edge = {-1, 0};
    struct pl_cursor cursor = {.begun = false};
    struct pl_ack one, *row = &one;
    uint64_t last = 0;
    for (; pl_tables_ack(tables, t, &cursor, &one); cursor.row++) {
        if (row->t_received_ns < 0 || row->ack < ack.seq || row->t_received_ns < ack.t_ns)
            continue;
        struct point next = {row->t_received_ns, row->ack}, next_edge = {row->t_received_ns, row->ack + row->window};
        if (ack.t_ns >= 0 && shows(graph, ack.t_ns, next.t_ns)) {
            put_step(graph, "green", ack, next);
            put_step(graph, "yellow", edge, next_edge);
            last = ack.seq;
        }
        ack = next;
        edge = next_edge;
    }
    return last;
}

static void put_stops(const struct graph *graph, const struct pl_transfer *t, uint64_t seq)
{
    for (size_t i = 0; i < t->stops.n; i++) {
        const struct pl_stop *stop = &t->stops.at[i];
        if (!shows(graph, stop->t0_ns, stop->t1_ns))
            continue;
        fputs("orange\n", graph->out);
        text(graph, "rtext", (struct point){stop->t0_ns, seq}, stop->text);
    }
}

void pl_xplot_write(FILE *out, const struct pl_transfer *t, const struct pl_tables *tables,
                    const struct pl_time_range *range)
{
    struct pl_time_range shown = pl_time_range_at(range, t->first_ns);
    struct graph graph = {.out = out, .from_ns = shown.from_ns, .to_ns = shown.to_ns};
    fprintf(out,
            "timeval unsigned\ntitle\nflow %" PRIu32 " (time sequence graph)\nxlabel\ntime\nylabel\nsequence number\n",
            t->number);
    uint64_t acked = put_acks(&graph, t, tables), first = put_segments(&graph, t, tables);
    put_stops(&graph, t, first == UINT64_MAX ? acked : first);
    fputs("go\n", out);
}
