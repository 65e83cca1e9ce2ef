/* Runs a complete analysis into a temporary folder, and checks the results for each transfer. */
#ifndef PL_FUZZ_ANALYSIS_H
#define PL_FUZZ_ANALYSIS_H

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse.h"
#include "folder.h"
#include "summary.h"
#include "transfer_verdict.h"
#include "xplot.h"

/* Names the line of the check that fails. */
#define check(good)                                                                                                    \
    do {                                                                                                               \
        if (!(good)) {                                                                                                 \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #good);                                  \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Sums over the rows of a transfer. The figures in the summary must equal them. */
struct sums {
    uint64_t parts, octets, again, spurious, lost, lost_octets, unseen, in_flight, arrived_octets;
};

/* Every part must lie within the data that were sent, arrivals must follow sending, and each part must have one
 * fate. */
static inline struct sums check_parts(const struct pl_transfer *t, const struct pl_tables *tables)
{
    struct pl_cursor cursor = {.begun = false};
    struct pl_segment segment;
    struct sums sums = {0};
    uint64_t at;
    bool both = t->ends == PL_BOTH_ENDS;
    for (; pl_tables_segment(tables, t, &cursor, &segment, &at); cursor.row++) {
        bool lost = pl_lost(t, &segment), arrived = segment.t_received_ns >= 0;
        check(segment.len > 0 && segment.kind < PL_KIND_N && segment.transmission > 0);
        check((segment.kind == PL_NEW) == (segment.transmission == 1));
        check(segment.seq + segment.len <= t->data_end);
        check(!both || !arrived || segment.receiver_frame > 0);
        check(!both || t->box || arrived || segment.receiver_frame == 0);
        check(!segment.unseen || ((!both || !arrived) && !lost));
        check(both || segment.t_acked_ns < 0 || (segment.t_acked_ns > segment.t_sent_ns && segment.unseen));
        check(!arrived || (segment.delay_ns >= t->min_delay_ns && segment.delay_ns <= t->max_delay_ns));
        check(t->box || segment.box_fate == PL_NO_FATE);
        check(!arrived || !pl_box_dropped(segment.box_fate));
        sums.parts++;
        sums.octets += segment.len;
        sums.again += segment.transmission > 1;
        sums.spurious += segment.kind == PL_SPURIOUS;
        sums.lost += lost;
        sums.lost_octets += lost ? segment.len : 0;
        sums.unseen += segment.unseen;
        sums.in_flight += !lost && !segment.unseen && !arrived;
        sums.arrived_octets += arrived ? segment.len : 0;
    }
    return sums;
}

static inline void check_transfer(const struct pl_transfer *t, const struct pl_tables *tables)
{
    struct pl_cursor cursor = {.begun = false};
    struct pl_ack ack;
    struct sums sums = check_parts(t, tables);
    uint64_t fates = 0, causes = 0, seen_causes = 0;
    bool both = t->ends == PL_BOTH_ENDS;
    check(sums.parts == t->segments && sums.again == t->retransmitted && sums.spurious == t->spurious);
    check(sums.octets == t->bytes + t->retransmitted_bytes);
    check(sums.lost == t->lost && sums.lost_octets == t->lost_bytes && sums.unseen == t->unseen);
    check(sums.in_flight == t->in_flight_at_end && t->reordered <= sums.parts);
    for (int cause = 0; cause < PL_LOSS_N; cause++) {
        causes += t->loss_causes[cause];
        seen_causes += t->loss_seen_causes[cause];
    }
    check(causes == t->lost + (both ? t->unseen : 0) && seen_causes == causes);
    check(t->trains.parts == sums.parts && t->trains.n <= sums.parts && t->trains.parts_max <= sums.parts);
    check(t->overtaken_max <= t->overtaken_sum);
    check(t->min_rtt_ns <= t->max_rtt_ns && t->min_delay_ns <= t->max_delay_ns);
    for (unsigned i = 0; i < t->pace->scale_n; i++) {
        check(t->scales[i].bytes[0] == sums.octets && t->scales[i].most[0] <= sums.octets);
        check(t->scales[i].bytes[1] <= sums.arrived_octets && t->scales[i].most[1] <= t->scales[i].bytes[1]);
    }
    for (; pl_tables_ack(tables, t, &cursor, &ack); cursor.row++)
        check(!both || ack.t_received_ns < 0 || ack.t_received_ns >= ack.t_sent_ns);
    for (int fate = 0; t->box_fates && fate <= UINT8_MAX; fate++)
        fates += t->box_fates[fate];
    check(!t->box_fates || fates == sums.parts);
    for (size_t i = 0; i < t->stops.n; i++) {
        const struct pl_stop *stop = &t->stops.at[i];
        check(stop->t1_ns > stop->t0_ns && stop->cause < PL_CAUSE_N);
        check(stop->t0_ns >= (i ? t->stops.at[i - 1].t1_ns : t->first_ns) && stop->t1_ns <= t->last_ns);
        check(strlen(stop->text) > 0 && strlen(stop->text) + 1 < sizeof stop->text);
    }
}

/* With the receiver's capture alone, the rows are the data that arrived. The losses are the holes between these
 * rows. */
static inline void check_arrived(const struct pl_transfer *t, const struct pl_tables *tables)
{
    struct pl_cursor cursor = {.begun = false};
    struct pl_segment segment;
    uint64_t n = 0, again = 0, octets = 0, at;
    for (; pl_tables_segment(tables, t, &cursor, &segment, &at); cursor.row++, n++) {
        check(segment.len > 0 && segment.kind < PL_KIND_N && segment.transmission > 0);
        check(segment.t_sent_ns < 0 && segment.sender_frame == 0 && segment.delay_ns < 0 && !segment.unseen);
        check(segment.t_received_ns >= t->first_ns && segment.t_received_ns <= t->last_ns);
        check(segment.receiver_frame > 0);
        again += segment.transmission > 1;
        octets += segment.len;
    }
    check(n == t->segments && again == t->retransmitted && t->spurious <= again && t->reordered <= n);
    check(t->bytes <= octets && t->retransmitted_bytes <= octets && t->bytes + t->retransmitted_bytes >= octets);
    check(t->lost == t->loss_causes[PL_LOSS_UNKNOWN] && t->lost == t->loss_seen_causes[PL_LOSS_UNKNOWN]);
    check(!t->box && t->stops.n == 0);
}

/* True when the captures are in order of time: no packet has an earlier time than the previous one, by the clock of the
 * tables. */
static inline bool in_order(const struct pl_analysis *analysis)
{
    bool good = analysis->clock.kind != PL_CLOCK_TWO;
    for (int end = 0; end < PL_END_N && good; end++) {
        struct pl_index index;
        struct pl_row row;
        struct nc_error error;
        int64_t before_ns = INT64_MIN;
        if (!pl_has_end(analysis, end))
            continue;
        check(pl_index_open_source(&index, &analysis->captures[end], &error) == PL_OK);
        while (good && pl_index_next(&index, &row, &error) == PL_ROW) {
            good = row.t_ns >= before_ns;
            before_ns = row.t_ns;
        }
        pl_index_free(&index);
    }
    return good;
}

/* Checks that parts are in order of sending, where the captures are in order of time. */
static inline void check_times(const struct pl_transfer *t, const struct pl_tables *tables)
{
    struct pl_cursor cursor = {.begun = false};
    struct pl_segment segment;
    int64_t before_ns = t->first_ns;
    for (; pl_tables_passage(tables, t, &cursor, &segment); cursor.row++) {
        check(segment.t_sent_ns >= before_ns && segment.t_sent_ns <= t->last_ns);
        before_ns = segment.t_sent_ns;
    }
}

/* The text about a transfer must consist of complete sentences, and the summary of numbers. */
static inline void check_verdict(const struct pl_transfer *t)
{
    struct pl_verdict v = pl_verdict_of(t);
    check(t->segments == 0 || t->last_ns >= t->first_ns);
    check(isfinite(v.rate_bps) && v.rate_bps >= 0 && isfinite(v.then_bps) && v.then_bps >= 0);
    check(t->segments == 0 || pl_stopped_share(t) <= 1 + 1e-9);
    check(!v.known || v.share == -1 || (v.share >= 0 && v.share <= 1 + 1e-9));
    check(!v.known || (strlen(v.text) > 0 && strlen(v.text) + 1 < sizeof v.text));
}

/* The rows of a table, if the folder has it. */
struct sheet {
    struct pl_table_form form;
    struct pl_column_map maps[PL_SEGMENT_COLUMNS];
    uint64_t rows;
};

static inline struct sheet open_sheet(const struct pl_tables *tables, int number)
{
    struct sheet sheet = {.form = pl_tables_form(tables, number)};
    struct nc_error error;
    char folder[64];
    snprintf(folder, sizeof folder, "/proc/self/fd/%d/%s", tables->dir_fd, sheet.form.name);
    for (size_t i = 0; i < sheet.form.n; i++) {
        const struct pl_column *column = &sheet.form.columns[i];
        check(pl_column_open(&sheet.maps[i], folder, column->name, column->descr, column->size, &error) == 0);
        check(i == 0 || sheet.maps[i].rows == sheet.rows);
        sheet.rows = sheet.maps[i].rows;
    }
    return sheet;
}

static inline void close_sheet(struct sheet *sheet)
{
    for (size_t i = 0; i < sheet->form.n; i++)
        pl_column_close(&sheet->maps[i]);
}

/* Puts the values of a row into its struct. */
static inline void read_row(const struct sheet *sheet, uint64_t number, void *row)
{
    for (size_t i = 0; i < sheet->form.n; i++) {
        size_t size = sheet->form.columns[i].size;
        memcpy((uint8_t *)row + sheet->form.columns[i].offset, sheet->maps[i].values + number * size, size);
    }
}

/* The spans of a transfer must be contiguous, and must add up to its limits and its packets. */
static inline void check_limits(const struct pl_analysis *analysis, const struct pl_tables *tables, bool ordered)
{
    struct sheet sheet = open_sheet(tables, PL_CHAINED_N + 1);
    struct seen {
        int64_t t1_ns, sum_ns[PL_LIMIT_N];
        uint64_t rows, bytes;
    } *seen = calloc(analysis->n + 1, sizeof *seen);
    check(seen);
    for (uint64_t i = 0; i < sheet.rows; i++) {
        struct pl_limit row;
        read_row(&sheet, i, &row);
        check(row.flow < analysis->n && row.cause < PL_LIMIT_N);
        struct seen *flow = &seen[row.flow];
        check(row.t1_ns >= row.t0_ns && row.queue_ns >= -1);
        check(flow->rows == 0 || row.t0_ns == flow->t1_ns);
        const struct pl_transfer *t = &analysis->transfers[row.flow];
        check(row.t0_ns >= t->first_ns && row.t1_ns <= t->last_ns);
        check(!ordered || flow->rows || row.t0_ns == t->first_ns);
        flow->t1_ns = row.t1_ns;
        flow->sum_ns[row.cause] += row.t1_ns - row.t0_ns;
        flow->bytes += row.bytes;
        flow->rows++;
    }
    for (uint32_t i = 0; i < analysis->n; i++) {
        const struct pl_transfer *t = &analysis->transfers[i];
        check(memcmp(seen[i].sum_ns, t->limit_ns, sizeof t->limit_ns) == 0);
        check(seen[i].bytes <= t->bytes + t->retransmitted_bytes);
    }
    free(seen);
    close_sheet(&sheet);
}

/* Every lost part must have a row with an existing cause, and lie in a run. */
static inline void check_losses(const struct pl_analysis *analysis, const struct pl_tables *tables)
{
    struct sheet sheet = open_sheet(tables, PL_CHAINED_N + 2);
    struct seen {
        uint64_t causes[PL_LOSS_N], octets, unseen_octets;
    } *seen = calloc(analysis->n + 1, sizeof *seen);
    check(seen);
    for (uint64_t i = 0; i < sheet.rows; i++) {
        struct pl_loss row;
        read_row(&sheet, i, &row);
        check(row.flow < analysis->n && row.cause < PL_LOSS_N && row.seen_cause < PL_LOSS_N);
        check(row.len > 0 && row.run > 0 && row.queue_ns >= -1 && row.service_ns >= 0);
        bool arrived = analysis->transfers[row.flow].ends == PL_RECEIVER_ALONE;
        seen[row.flow].causes[row.cause] += arrived ? row.run : 1;
        seen[row.flow].octets += row.len;
    }
    for (uint32_t i = 0; i < analysis->n; i++) {
        const struct pl_transfer *t = &analysis->transfers[i];
        check(memcmp(seen[i].causes, t->loss_causes, sizeof t->loss_causes) == 0);
        check(seen[i].octets >= t->lost_bytes);
        check(t->loss_causes[PL_LOSS_CAPTURE] || seen[i].octets == t->lost_bytes);
    }
    free(seen);
    close_sheet(&sheet);
}

/* For each counted occasion there must be an event. */
static inline void check_events(const struct pl_analysis *analysis, const struct pl_tables *tables, bool ordered)
{
    struct sheet sheet = open_sheet(tables, PL_CHAINED_N);
    struct seen {
        uint64_t n[PL_EVENT_KIND_N];
    } *seen = calloc(analysis->n + 1, sizeof *seen);
    check(seen);
    for (uint64_t i = 0; i < sheet.rows; i++) {
        struct pl_event row;
        read_row(&sheet, i, &row);
        check(row.flow < analysis->n && row.kind < PL_EVENT_KIND_N);
        const struct pl_transfer *t = &analysis->transfers[row.flow];
        bool burst = row.kind == PL_LOSS_BURST, repairs = row.kind == PL_FAST_RETRANSMIT;
        check(!burst || (row.packets >= 2 && row.packets <= t->lost && row.bytes <= t->lost_bytes));
        check(!repairs || (row.packets <= t->retransmitted && row.bytes <= t->bytes + t->retransmitted_bytes));
        check((row.kind != PL_RTO && row.kind != PL_ECN_REDUCTION) || row.bytes <= t->data_end); /* outstanding */
        check(!ordered || row.t1_ns >= row.t0_ns);
        seen[row.flow].n[row.kind]++;
    }
    for (uint32_t i = 0; i < analysis->n; i++) {
        const struct pl_transfer *t = &analysis->transfers[i];
        check(seen[i].n[PL_RTO] == t->timeouts && seen[i].n[PL_FAST_RETRANSMIT] == t->fast_recoveries);
        check(seen[i].n[PL_ECN_REDUCTION] == t->marks.reductions);
    }
    free(seen);
    close_sheet(&sheet);
}

/* Every sample of the round-trip time must lie between the smallest and the largest of its transfer. */
static inline void check_trips(const struct pl_analysis *analysis, const struct pl_tables *tables, bool ordered)
{
    struct sheet sheet = open_sheet(tables, PL_CHAINED_N + 4);
    for (uint64_t i = 0; i < sheet.rows; i++) {
        struct pl_trip row;
        read_row(&sheet, i, &row);
        check(row.flow < analysis->n && row.rtt_ns >= 0);
        const struct pl_transfer *t = &analysis->transfers[row.flow];
        check(!ordered || (row.rtt_ns >= t->min_rtt_ns && row.rtt_ns <= t->max_rtt_ns));
    }
    close_sheet(&sheet);
}

/* No value of the summary may be missing. A NaN would be missing. */
static inline void check_summary(const struct pl_analysis *analysis)
{
    json_t *summary = pl_summary(analysis);
    check(summary);
    const json_t *flows = json_object_get(summary, "flows");
    check(json_array_size(flows) == analysis->n);
    for (uint32_t i = 0; i < analysis->n; i++) {
        const json_t *flow = json_array_get(flows, i), *rates = json_object_get(flow, "rates");
        check(json_object_size(flow) == json_object_size(json_array_get(flows, 0)));
        check(json_object_get(flow, "verdict") && json_object_get(flow, "bursts"));
        check(json_is_null(rates) || json_array_size(rates) == analysis->pace.scale_n);
    }
    json_decref(summary);
}

/* Each connection has its own end at which it was captured, because one capture may have both kinds. */
static inline void check_all(const struct pl_analysis *analysis, const struct pl_tables *tables)
{
    FILE *null = fopen("/dev/null", "w");
    bool ordered = in_order(analysis);
    check(null);
    for (uint32_t i = 0; i < analysis->n; i++) {
        const struct pl_transfer *t = &analysis->transfers[i];
        check_verdict(t);
        if (t->ends == PL_RECEIVER_ALONE) {
            check_arrived(t, tables);
            continue;
        }
        check_transfer(t, tables);
        if (ordered)
            check_times(t, tables);
        pl_xplot_write(null, t, tables, &(struct pl_time_range){0});
    }
    fclose(null);
    check_limits(analysis, tables, ordered);
    check_losses(analysis, tables);
    check_events(analysis, tables, ordered);
    check_trips(analysis, tables, ordered);
    check_summary(analysis);
}

/* Returns the number of transfers; 0 when an input is not a capture. */
static inline uint32_t analyse(const struct pl_source captures[PL_END_N], const struct pl_box *box)
{
    struct pl_folder folder = {.temporary = "/dev/shm/pktlogger-fuzz-XXXXXX"};
    struct pl_analysis analysis;
    struct pl_tables tables;
    struct nc_error error;
    int end;
    uint32_t n = 0;
    if (pl_analysis_survey(&analysis, captures, box, &(struct pl_clock){.kind = PL_CLOCK_UNKNOWN}, &end, &error) ==
        PL_OK) {
        analysis.pace = (struct pl_pace){{100000, 1000000000}, 2, 100000};
        check(mkdtemp(folder.temporary));
        folder.fd = open(folder.temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        check(folder.fd >= 0 &&
              pl_tables_create(&tables, folder.fd, pl_analysis_count(&analysis, PL_SENDER_ALONE), box) == 0);
        bool done = pl_analysis_run(&analysis, &tables, &error) == PL_OK;
        check(done || analysis.reversed);
        if (done &&
            pl_analysis_count(&analysis, PL_RECEIVER_ALONE) == analysis.n) /* no later reading has mapped the rows */
            check(pl_tables_map(&tables, &error) == 0);
        check(pl_tables_close(&tables) == 0);
        if (done)
            check_all(&analysis, &tables);
        pl_tables_free(&tables);
        pl_folder_abort(&folder);
        n = analysis.n;
    }
    pl_analysis_free(&analysis);
    return n;
}

#endif
