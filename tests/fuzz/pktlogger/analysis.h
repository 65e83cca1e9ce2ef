/* Runs a whole analysis into a folder that is removed, and checks what it says of each transfer. */
#ifndef PL_FUZZ_ANALYSIS_H
#define PL_FUZZ_ANALYSIS_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse.h"
#include "folder.h"
#include "summary.h"
#include "xplot.h"

static inline void check(bool good)
{
    if (!good)
        abort();
}

/* Every part lies within what was sent, arrivals follow sending, spans are spans. */
static inline void check_transfer(const struct pl_transfer *t, const struct pl_tables *tables)
{
    struct pl_cursor cursor = {.begun = false}, ack_cursor = {.begun = false};
    struct pl_segment segment;
    struct pl_ack ack;
    uint64_t lost = 0, unseen = 0, n = 0, fates = 0, at;
    for (; pl_tables_segment(tables, t, &cursor, &segment, &at); cursor.row++, n++) {
        check(segment.len > 0 && segment.kind < PL_KIND_N && segment.transmission > 0);
        bool both = t->ends == PL_BOTH_ENDS;
        check(!both || segment.t_received_ns < 0 || segment.receiver_frame > 0);
        check(!both || t->box || segment.t_received_ns >= 0 || segment.receiver_frame == 0);
        check(!segment.unseen || ((!both || segment.t_received_ns < 0) && !pl_lost(t, &segment)));
        check(both || segment.t_acked_ns < 0 || (segment.t_acked_ns > segment.t_sent_ns && segment.unseen));
        check(segment.t_received_ns < 0 || segment.delay_ns >= 0);
        check(t->box || segment.box_fate == PL_NO_FATE);
        lost += pl_lost(t, &segment);
        unseen += segment.unseen;
    }
    check(n == t->segments && lost == t->lost && unseen == t->unseen && t->reordered <= n);
    check(t->trains.parts >= t->trains.n && t->overtaken_max <= t->overtaken_sum);
    for (unsigned i = 0; i < t->pace->scale_n; i++)
        check(t->scales[i].bytes[0] >= t->scales[i].most[0] && t->scales[i].bytes[1] >= t->scales[i].most[1]);
    for (; pl_tables_ack(tables, t, &ack_cursor, &ack); ack_cursor.row++)
        check(t->ends != PL_BOTH_ENDS || ack.t_received_ns < 0 || ack.t_received_ns >= ack.t_sent_ns);
    for (int fate = 0; t->box_fates && fate <= UINT8_MAX; fate++)
        fates += t->box_fates[fate];
    check(!t->box_fates || fates == n);
    for (size_t i = 0; i < t->stops.n; i++)
        check(t->stops.at[i].t1_ns > t->stops.at[i].t0_ns && t->stops.at[i].cause < PL_CAUSE_N);
}

/* Where the receiver's capture is all there is, the rows are what arrived, and losses are the holes in it, which have
 * no rows. */
static inline void check_arrived(const struct pl_transfer *t, const struct pl_tables *tables)
{
    struct pl_cursor cursor = {.begun = false};
    struct pl_segment segment;
    uint64_t n = 0, again = 0, at;
    for (; pl_tables_segment(tables, t, &cursor, &segment, &at); cursor.row++, n++) {
        check(segment.len > 0 && segment.kind < PL_KIND_N && segment.transmission > 0);
        check(segment.t_sent_ns < 0 && segment.sender_frame == 0 && segment.delay_ns < 0 && !segment.unseen);
        check(segment.t_received_ns >= t->first_ns && segment.t_received_ns <= t->last_ns);
        check(segment.receiver_frame > 0);
        again += segment.transmission > 1;
    }
    check(n == t->segments && again == t->retransmitted && t->spurious <= again && t->reordered <= n);
    check(!t->box && t->stops.n == 0);
}

/* The end at which a transfer was captured is a question of each connection: one capture may have both kinds. */
static inline void check_all(const struct pl_analysis *analysis, const struct pl_tables *tables)
{
    FILE *null = fopen("/dev/null", "w");
    check(null);
    for (uint32_t i = 0; i < analysis->n; i++) {
        const struct pl_transfer *t = &analysis->transfers[i];
        if (t->ends == PL_RECEIVER_ALONE) {
            check_arrived(t, tables);
            continue;
        }
        check_transfer(t, tables);
        pl_xplot_write(null, t, tables, &(struct pl_time_range){0});
    }
    fclose(null);
    json_t *summary = pl_summary(analysis);
    check(summary);
    json_decref(summary);
}

/* Returns the number of transfers; 0 when a capture is none. */
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
        if (done && pl_analysis_count(&analysis, PL_RECEIVER_ALONE) == analysis.n) /* nothing has read the rows again */
            check(pl_tables_map(&tables, &error) == 0);
        if (done)
            check_all(&analysis, &tables);
        check(pl_tables_close(&tables) == 0);
        pl_tables_free(&tables);
        pl_folder_abort(&folder);
        n = analysis.n;
    }
    pl_analysis_free(&analysis);
    return n;
}

#endif
