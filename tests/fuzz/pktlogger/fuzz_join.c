/* Any bytes as the captures of both ends. The first byte says where the input is divided (in 255ths; 255: the whole is
 * both). Checked: every part lies within what was sent, arrivals follow sending, spans are spans. */
#include <stdio.h>
#include <stdlib.h>

#include "analyse.h"
#include "summary.h"
#include "xplot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static int check_transfer(void *context, const struct pl_transfer *t)
{
    uint64_t counted = 0;
    for (size_t i = 0; i < t->segments.n; i++) {
        const struct pl_segment *segment = &t->segments.at[i];
        check(segment->len > 0 && segment->kind < PL_KIND_N && segment->transmission > 0);
        check((segment->t_received_ns < 0) == (segment->receiver_frame == 0));
        check(segment->t_received_ns < 0 || segment->delay_ns >= 0);
        counted += pl_lost(t, segment);
    }
    check(counted == t->lost);
    for (size_t i = 0; i < t->stops.n; i++)
        check(t->stops.at[i].t1_ns > t->stops.at[i].t0_ns && t->stops.at[i].cause < PL_CAUSE_N);
    for (size_t i = 0; i < t->events.n; i++)
        check(t->events.at[i].kind < PL_EVENT_KIND_N);
    json_decref(pl_summary_flow(t));
    pl_xplot_write(context, t);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_trace sender, receiver;
    struct nc_error error;
    if (size < 2)
        return 0;
    size_t first = data[0] == 255 ? size - 1 : (size - 1) * data[0] / 255;
    const uint8_t *second = data[0] == 255 ? data + 1 : data + 1 + first;
    enum pl_status a = pl_trace_load(&sender, data + 1, first, &error);
    enum pl_status b = pl_trace_load(&receiver, second, data[0] == 255 ? first : size - 1 - first, &error);
    if (a == PL_OK && b == PL_OK) {
        struct pl_joined joined;
        FILE *null = fopen("/dev/null", "w");
        check(null && pl_analyse(&sender, &receiver, NULL, check_transfer, null, &joined) == PL_OK);
        fclose(null);
    }
    pl_trace_free(&sender);
    pl_trace_free(&receiver);
    return 0;
}
