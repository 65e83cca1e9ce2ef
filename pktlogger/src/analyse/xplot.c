/* Implements xplot.h. Times are printed as seconds and nanoseconds from integers, because a double would lose the
 * nanoseconds. */
#include "xplot.h"

#include <inttypes.h>

struct point {
    int64_t t_ns;
    uint64_t seq;
};

static void put(FILE *out, struct point at)
{
    fprintf(out, " %" PRId64 ".%09" PRId64 " %" PRIu64, at.t_ns / 1000000000, at.t_ns % 1000000000, at.seq);
}

static void line(FILE *out, struct point from, struct point to)
{
    fputs("line", out);
    put(out, from);
    put(out, to);
    fputc('\n', out);
}

static void text(FILE *out, const char *where, struct point at, const char *what)
{
    fputs(where, out);
    put(out, at);
    fprintf(out, "\n%s\n", what);
}

/* Returns the first sequence number, where texts stand. */
static uint64_t put_segments(FILE *out, const struct pl_transfer *t, const struct pl_tables *tables)
{
    struct pl_cursor cursor = {.begun = false};
    struct pl_segment row;
    uint64_t at, first = UINT64_MAX;
    for (; pl_tables_segment(tables, t, &cursor, &row, &at); cursor.row++) {
        const struct pl_segment *segment = &row;
        first = first == UINT64_MAX ? row.seq : first;
        struct point low = {segment->t_sent_ns, segment->seq}, high = {segment->t_sent_ns, segment->seq + segment->len};
        bool lost = pl_lost(t, segment);
        fputs(lost ? "purple\n" : segment->transmission > 1 ? "red\n" : "white\n", out);
        line(out, low, high);
        if (segment->transmission > 1)
            text(out, "atext", high, "R");
        if (lost)
            text(out, "btext", low, "X");
    }
    return first;
}

static void put_step(FILE *out, const char *color, struct point from, struct point to)
{
    fprintf(out, "%s\n", color);
    line(out, from, (struct point){to.t_ns, from.seq});
    line(out, (struct point){to.t_ns, from.seq}, to);
}

static void put_acks(FILE *out, const struct pl_transfer *t, const struct pl_tables *tables)
{
    struct point ack = {-1, 0}, edge = {-1, 0};
    struct pl_cursor cursor = {.begun = false};
    struct pl_ack one, *row = &one;
    for (; pl_tables_ack(tables, t, &cursor, &one); cursor.row++) {
        if (row->t_received_ns < 0 || row->ack < ack.seq || row->t_received_ns < ack.t_ns)
            continue;
        struct point next = {row->t_received_ns, row->ack}, next_edge = {row->t_received_ns, row->ack + row->window};
        if (ack.t_ns >= 0) {
            put_step(out, "green", ack, next);
            put_step(out, "yellow", edge, next_edge);
        }
        ack = next;
        edge = next_edge;
    }
}

static void put_stops(FILE *out, const struct pl_transfer *t, uint64_t seq)
{
    for (size_t i = 0; i < t->stops.n; i++) {
        const struct pl_stop *stop = &t->stops.at[i];
        fputs("orange\n", out);
        text(out, "rtext", (struct point){stop->t0_ns, seq}, stop->text);
    }
}

void pl_xplot_write(FILE *out, const struct pl_transfer *t, const struct pl_tables *tables)
{
    fprintf(out,
            "timeval unsigned\ntitle\nflow %" PRIu32 " (time sequence graph)\nxlabel\ntime\nylabel\nsequence number\n",
            t->number);
    put_acks(out, t, tables);
    put_stops(out, t, put_segments(out, t, tables));
    fputs("go\n", out);
}
