/* The second and third reading of analyse.h. */
#include "analyse.h"

#include <math.h>

#include "aggregate.h"
#include "arrived.h"
#include "aside.h"
#include "feed.h"
#include "join.h"
#include "others.h"
#include "passed_on.h"
#include "set_clock.h"
#include "silences.h"
#include "walk.h"

#define BOX_LEAD_NS INT64_C(1000000000) /* rows of the record are read so far ahead of the captures' packets */

/* One capture being read again. */
struct source {
    struct pl_feed feed;
    const struct pl_row *row; /* NULL at the end */
    int end;
};

static void advance(struct source *source)
{
    source->row = pl_feed_next(&source->feed);
}

static int open_source(struct source *source, const struct pl_analysis *analysis, int end, struct nc_error *error)
{
    source->end = end;
    if (pl_feed_open(&source->feed, &analysis->captures[end], &analysis->surveys[end].index, &analysis->clock, end,
                     error) < 0)
        return -1;
    advance(source);
    return 0;
}

/* Gives a packet with data the payload of its wire packets where the MSS has changed. `followed`: room for the row. */
static const struct pl_row *follow_mss(struct pl_transfer *t, int end, const struct pl_row *row,
                                       struct pl_row *followed)
{
    bool arrived = end == PL_RECEIVER || t->ends == PL_RECEIVER_ALONE;
    if (!t->levels || !row->len || row->dir != (arrived ? t->receiver_dir : t->dir))
        return row;
    *followed = *row;
    followed->part_len = arrived ? pl_mss_place_arrived(&t->place[PL_RECEIVER], t->levels, row)
                                 : pl_mss_place_sent(&t->place[PL_SENDER], t->levels, t->delta, row);
    return followed;
}

static int join_one(struct pl_analysis *analysis, struct pl_transfer *t, int end, const struct pl_row *row,
                    struct pl_tables *tables)
{
    struct pl_row followed;
    row = follow_mss(t, end, row, &followed);
    if (t->ends == PL_RECEIVER_ALONE)
        return pl_arrived_take(t, row, tables);
    if (!t->join && !(t->join = pl_join_new(t, &analysis->open)))
        return -1;
    return end == PL_SENDER || t->ends == PL_SENDER_ALONE ? pl_join_sender(t->join, row, tables)
                                                          : pl_join_receiver(t->join, row);
}

static int finish_join(struct pl_transfer *t, struct pl_tables *tables)
{
    if (!t->join)
        return pl_arrived_end(t, tables);
    int result = pl_join_finish(t->join, tables) < 0 ? -1 : pl_tally_end(&t->join->tally);
    pl_join_free(t->join);
    t->join = NULL;
    return result;
}

/* Takes the rows of the box's record until `until_ns`. */
static int read_box(struct pl_analysis *analysis, int64_t until_ns)
{
    const struct pl_box *box = analysis->box;
    uint32_t rows = box ? (uint32_t)box->column[0].rows : 0;
    for (; analysis->box_row < rows; analysis->box_row++) {
        uint32_t flow = pl_box_flow(box, analysis->box_row);
        uint32_t number = flow == UINT32_MAX ? UINT32_MAX : analysis->box_numbers[flow];
        if (number == UINT32_MAX)
            continue;
        if (pl_box_row(box, analysis->box_row).t_in_ns > until_ns)
            return 0;
        struct pl_transfer *t = &analysis->transfers[number];
        if (!t->join && !(t->join = pl_join_new(t, &analysis->open)))
            return -1;
        if (pl_join_box(t->join, analysis->box_row) < 0)
            return -1;
    }
    return 0;
}

/* A transfer is finished with its last packet. One that is in the box's record waits for the end of the record. */
static int join_rows(struct pl_analysis *analysis, struct source sources[PL_END_N], struct pl_tables *tables,
                     struct nc_error *error)
{
    const struct source *first = &sources[PL_SENDER], *second = &sources[PL_RECEIVER];
    while (first->row || second->row) {
        int end = !first->row || (second->row && second->row->t_ns < first->row->t_ns);
        const struct pl_row *row = sources[end].row;
        uint32_t number = analysis->numbers[end][row->flow];
        if (analysis->box && read_box(analysis, row->t_ns + BOX_LEAD_NS) < 0)
            return -1;
        if (number != UINT32_MAX) {
            struct pl_transfer *t = &analysis->transfers[number];
            if (join_one(analysis, t, end, row, tables) < 0)
                return -1;
            if (--t->rows_left == 0 && !t->box && finish_join(t, tables) < 0)
                return -1;
        }
        advance(&sources[end]);
    }
    for (int end = 0; end < PL_END_N; end++)
        if (pl_feed_failed(&sources[end].feed, error))
            return -1;
    if (read_box(analysis, INT64_MAX) < 0)
        return -1;
    for (uint32_t i = 0; i < analysis->n; i++)
        if (finish_join(&analysis->transfers[i], tables) < 0)
            return -1;
    return 0;
}

static int read_both(struct pl_analysis *analysis, struct pl_tables *tables, struct nc_error *error)
{
    struct source sources[PL_END_N] = {{.row = NULL}, {.row = NULL}};
    int result = 0;
    for (int end = 0; end < PL_END_N && result == 0; end++)
        result = pl_has_end(analysis, end) ? open_source(&sources[end], analysis, end, error) : 0;
    if (result == 0)
        result = join_rows(analysis, sources, tables, error);
    for (int end = 0; end < PL_END_N; end++)
        pl_feed_close(&sources[end].feed);
    return result;
}

/* Follows the senders of all connections that the sender's capture has. */
static int walk_rows(struct pl_analysis *analysis, struct source *source, struct pl_tables *tables,
                     struct pl_aside *aside, struct nc_error *error)
{
    for (uint32_t i = 0; i < analysis->n; i++)
        analysis->transfers[i].rows_left = analysis->transfers[i].sender_rows;
    for (; source->row; advance(source)) {
        uint32_t number = analysis->numbers[source->end][source->row->flow];
        if (number == UINT32_MAX || analysis->transfers[number].ends == PL_RECEIVER_ALONE)
            continue;
        struct pl_transfer *t = &analysis->transfers[number];
        if (pl_walk(t, source->row, tables, aside) < 0)
            return -1;
        if (--t->rows_left == 0 && pl_walk_end(t, tables, aside) < 0)
            return -1;
    }
    return pl_feed_failed(&source->feed, error) ? -1 : 0;
}

static int read_sender(struct pl_analysis *analysis, struct pl_tables *tables, struct nc_error *error)
{
    struct source source = {.row = NULL};
    int result = open_source(&source, analysis, pl_has_end(analysis, PL_SENDER) ? PL_SENDER : PL_RECEIVER, error);
    struct pl_aside aside;
    if (result == 0) {
        result = pl_aside_open(&aside) < 0 ? -1 : walk_rows(analysis, &source, tables, &aside, error);
        result = pl_aside_close(&aside) < 0 ? -1 : result;
    }
    pl_feed_close(&source.feed);
    return result;
}

/* The properties of the line: those that the user gave, else those that the box recorded for the direction of the
 * data. */
static void set_line(const struct pl_analysis *analysis, struct pl_transfer *t)
{
    const struct pl_lines *lines = analysis->lines ? analysis->lines : t->box ? &t->box->lines : NULL;
    t->hosts_bps = lines ? lines->hosts_bps : INFINITY;
    if (lines)
        t->line = &lines->way[analysis->lines ? 0 : pl_box_way(t->box, t->box_flow, t->box_dir)];
}

/* Returns 0, or -1 without memory. */
static int find_busy(struct pl_analysis *analysis)
{
    int known = analysis->box ? pl_box_busy(analysis->box, analysis->busy) : 0;
    for (uint32_t i = 0; known > 0 && i < analysis->n; i++) {
        struct pl_transfer *t = &analysis->transfers[i];
        if (t->box)
            t->busy = &analysis->busy[pl_box_way(t->box, t->box_flow, t->box_dir)];
    }
    return known < 0 ? -1 : 0;
}

/* Returns 0, or -1 without memory. */
static int find_silences(struct pl_analysis *analysis, const struct pl_tables *tables)
{
    if (!analysis->silences)
        analysis->silences = calloc(analysis->n ? analysis->n : 1, sizeof *analysis->silences);
    return analysis->silences ? pl_silences_note(analysis->transfers, analysis->n, tables, analysis->silences) : -1;
}

enum pl_status pl_analysis_run(struct pl_analysis *analysis, struct pl_tables *tables, struct nc_error *error)
{
    *error = (struct nc_error){.status = NC_EXIT_FAILED};
    for (uint32_t i = 0; i < analysis->n; i++) {
        analysis->transfers[i].ruled_out = analysis->ruled_out;
        analysis->transfers[i].outages = analysis->outages;
        set_line(analysis, &analysis->transfers[i]);
        analysis->transfers[i].samples = analysis->samples;
        analysis->transfers[i].from_gateway = analysis->from_gateway;
        analysis->transfers[i].to_gateway = analysis->to_gateway;
        analysis->transfers[i].always_data = analysis->always_data;
        analysis->transfers[i].opening_bytes = analysis->opening_bytes;
        analysis->transfers[i].lateness.from_ns = analysis->late_from_ns;
    }
    int clocked = pl_set_clock(analysis);
    if (clocked == 0 && analysis->reversed) {
        nc_fail(error, NC_EXIT_USAGE, "packets arrive before they are sent");
        return PL_SINK_FAILED;
    }
    if (clocked == 0 && read_both(analysis, tables, error) == 0 && find_busy(analysis) == 0) {
        if (pl_analysis_count(analysis, PL_RECEIVER_ALONE) == analysis->n)
            return PL_OK;
        if (pl_tables_map(tables, error) < 0)
            return PL_SINK_FAILED;
        /* pl_others_note is called twice: before read_sender, which needs it for the base delays, and after it, because
         * read_sender counts bytes */
        if (pl_others_note(analysis->transfers, analysis->n, tables) == 0 && find_silences(analysis, tables) == 0 &&
            pl_aggregates_find(&analysis->aggregates, analysis->transfers, analysis->n, tables) == 0 &&
            read_sender(analysis, tables, error) == 0) {
            pl_passed_on_note(analysis);
            if (pl_others_note(analysis->transfers, analysis->n, tables) == 0)
                return PL_OK;
        }
    }
    if (!error->text[0])
        nc_fail(error, NC_EXIT_FAILED, "out of memory");
    return PL_NO_MEMORY;
}
