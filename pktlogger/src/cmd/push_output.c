/* Implements push_output.h. */
#include "push_output.h"

#include <inttypes.h>
#include <stdio.h>

#include "nc_jsonl.h"

void pl_push_print_ready(bool human, const struct pl_pusher *pusher)
{
    if (!human)
        nc_jsonl_event(
            stdout, "ready",
            json_pack("{s:I, s:i}", "session", (json_int_t)pusher->port->session, "flows", (int)pusher->port->flows));
}

static void print_text(const struct pl_pusher *pusher)
{
    const struct pl_punctuality *p = &pusher->punctuality;
    const struct pl_port_counts *counts = &pusher->port->counts;
    printf("%" PRIu64 " packets, %" PRIu64 " bytes, %.1f packets/s\n", p->n - counts->too_long,
           pusher->bytes - counts->too_long_bytes, pl_punctuality_pps(p));
    if (p->timed)
        printf("late by %.1f us (median), %.1f us (99 %%), %.1f us (most); gaps wrong by %.1f us (90 %%)\n",
               (double)nc_spread_percentile(&p->late, 0.5) / 1e3, (double)nc_spread_percentile(&p->late, 0.99) / 1e3,
               (double)p->late.max / 1e3, (double)nc_spread_percentile(&p->gap, 0.9) / 1e3);
    if (pusher->port->counts.refused)
        printf("nobody listens there: refused %" PRIu64 " times\n", pusher->port->counts.refused);
    if (pusher->port->counts.dropped)
        printf("%" PRIu64 " packets found no buffer at the interface\n", pusher->port->counts.dropped);
    if (pusher->replayed && pusher->replayed->skipped + pusher->port->counts.too_long)
        printf("%" PRIu64 " frames could not be sent, %" PRIu64 " of them too long for the interface\n",
               pusher->replayed->skipped + pusher->port->counts.too_long, pusher->port->counts.too_long);
    if (pusher->replayed && pusher->replayed->padded)
        printf("%" PRIu64 " frames were sent with zeros for what the capture cut off\n", pusher->replayed->padded);
}

void pl_push_print_end(bool human, const struct pl_pusher *pusher)
{
    const struct pl_punctuality *p = &pusher->punctuality;
    const struct pl_port_counts *counts = &pusher->port->counts;
    if (human) {
        print_text(pusher);
        return;
    }
    json_t *end = json_pack(
        "{s:I, s:I, s:f, s:f, s:I, s:o, s:o, s:I, s:I, s:I, s:b}", "packets", (json_int_t)(p->n - counts->too_long),
        "bytes", (json_int_t)(pusher->bytes - counts->too_long_bytes), "seconds",
        (double)(p->last_ns - p->first_ns) / 1e9, "pps", pl_punctuality_pps(p), "asked_pps",
        (json_int_t)pusher->schedule.pps, "late_ns", p->timed ? nc_spread_json(&p->late) : json_null(), "gap_error_ns",
        p->timed ? nc_spread_json(&p->gap) : json_null(), "refused", (json_int_t)counts->refused, "dropped",
        (json_int_t)counts->dropped, "calls", (json_int_t)counts->calls, "interrupted", (int)pusher->interrupted);
    if (pusher->replayed) {
        json_object_set_new(end, "skipped", json_integer((json_int_t)(pusher->replayed->skipped + counts->too_long)));
        json_object_set_new(end, "padded", json_integer((json_int_t)pusher->replayed->padded));
    }
    nc_jsonl_event(stdout, "end", end);
}
