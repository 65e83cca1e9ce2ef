/* Implements analyse_many.h. */
#include "analyse_many.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyse_text.h"
#include "limits.h"
#include "transfer_verdict.h"

uint32_t pl_analyse_main(const struct pl_analysis *analysis)
{
    uint32_t main = 0;
    for (uint32_t i = 1; i < analysis->n; i++)
        if (analysis->transfers[i].bytes > analysis->transfers[main].bytes)
            main = i;
    return main;
}

static void print_totals(const struct pl_analysis *analysis)
{
    uint64_t bytes = 0, segments = 0, lost = 0, again = 0, with_data = 0;
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    for (uint32_t i = 0; i < analysis->n; i++) {
        const struct pl_transfer *t = &analysis->transfers[i];
        bytes += t->bytes;
        segments += t->segments;
        lost += t->lost;
        again += t->retransmitted;
        with_data += t->segments > 0;
        if (t->segments && t->first_ns < first_ns)
            first_ns = t->first_ns;
        if (t->segments && t->last_ns > last_ns)
            last_ns = t->last_ns;
    }
    double seconds = with_data ? (double)(last_ns - first_ns) / 1e9 : 0;
    printf("%" PRIu32 " connections, %" PRIu64 " of them with data: %" PRIu64 " bytes in %.3f s, which is %.4g Mbit/s "
           "together. Of %" PRIu64 " packets %" PRIu64 " were lost and %" PRIu64 " sent again.\n",
           analysis->n, with_data, bytes, seconds, seconds > 0 ? (double)bytes * 8e-6 / seconds : 0, segments, lost,
           again);
}

/* Prints the number of connections, and the share of the octets, with each verdict. */
static void print_shared_causes(const struct pl_analysis *analysis)
{
    enum { N = PL_LIMIT_N + PL_FINDING_N };
    uint64_t flows[N] = {0}, bytes[N] = {0}, all = 0;
    const char *words[N] = {NULL};
    for (uint32_t i = 0; i < analysis->n; i++) {
        struct pl_verdict verdict = pl_verdict_of(&analysis->transfers[i]);
        unsigned cause = verdict.finding >= 0 ? PL_LIMIT_N + (unsigned)verdict.finding : verdict.cause;
        all += analysis->transfers[i].bytes;
        if (!verdict.known)
            continue;
        words[cause] = pl_verdict_words(&verdict);
        flows[cause]++;
        bytes[cause] += analysis->transfers[i].bytes;
    }
    for (unsigned left = N; left; left--) {
        unsigned most = 0;
        for (unsigned i = 1; i < N; i++)
            most = bytes[i] > bytes[most] || (bytes[i] == bytes[most] && flows[i] > flows[most]) ? i : most;
        if (!flows[most])
            return;
        printf("  %" PRIu64 " of them, with %.0f %% of the bytes, were limited mostly by %s\n", flows[most],
               all ? 100.0 * (double)bytes[most] / (double)all : 0, words[most]);
        flows[most] = bytes[most] = 0;
    }
}

static bool scaling_off(const struct pl_transfer *t)
{
    return t->scale_known && !pl_flow_scaled(t->flow) && !t->window_shift;
}

/* Prints what all connections have in common. */
static void print_common(const struct pl_analysis *analysis)
{
    const struct pl_transfer *first = &analysis->transfers[0];
    bool sender = true, receiver = true, port = true, unscaled = true;
    for (uint32_t i = 0; i < analysis->n; i++) {
        const struct pl_transfer *t = &analysis->transfers[i];
        const struct pl_side *from = &t->flow->side[t->dir], *to = &t->flow->side[!t->dir];
        sender = sender && memcmp(from->address, first->flow->side[first->dir].address, 16) == 0;
        receiver = receiver && memcmp(to->address, first->flow->side[!first->dir].address, 16) == 0;
        port = port && to->port == first->flow->side[!first->dir].port;
        unscaled = unscaled && scaling_off(t);
    }
    if (!sender && !receiver && !port && !unscaled)
        return;
    printf("  All of them share%s%s", sender ? " the sender" : "", sender && receiver ? " and" : "");
    printf("%s", receiver ? " the receiver" : "");
    if (port)
        printf("%s port %u of the receiver", sender || receiver ? ", and" : "", first->flow->side[!first->dir].port);
    printf("%s.\n",
           unscaled ? (sender || receiver || port ? "; window scaling is off in all" : " that window scaling is off")
                    : "");
}

void pl_analyse_print_many(const struct pl_analysis *analysis)
{
    uint32_t largest[PL_MANY], n = 0;
    print_totals(analysis);
    print_shared_causes(analysis);
    print_common(analysis);
    for (uint32_t i = 0; i < analysis->n; i++) {
        uint32_t place = n < PL_MANY ? n : PL_MANY;
        while (place > 0 && analysis->transfers[largest[place - 1]].bytes < analysis->transfers[i].bytes)
            place--;
        if (place == PL_MANY)
            continue;
        n += n < PL_MANY;
        memmove(largest + place + 1, largest + place, (n - 1 - place) * sizeof *largest);
        largest[place] = i;
    }
    printf("The ten largest:\n");
    for (uint32_t i = 0; i < n; i++)
        pl_analyse_print_line(&analysis->transfers[largest[i]]);
}
