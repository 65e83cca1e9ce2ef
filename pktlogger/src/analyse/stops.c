/* Finds the cause of a stop: a span in which the sender sent nothing for longer than pl_stop_threshold_ns. The first of
 * these causes that applies counts: a time-out ended the stop; the window was closed for most of it; nothing was
 * outstanding for most of it; the capture ended; the window left no room; a retransmission ended it. Otherwise the
 * sender waited for acknowledgements. */
#include "walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* 98900 → "98,900". */
static const char *grouped(uint64_t value, char out[32])
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, value), used = 0;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

/* Counts of outstanding lost parts: all; those lost to an outage; and, by the box's record, those that the box dropped
 * and those that its queue dropped. */
struct outstanding {
    int64_t last_sent_ns;
    uint64_t bytes;
    uint32_t packets, retransmissions, dropped, queued, outage;
    bool full_queue;
};

/* Counts only parts sent since the previous time-out, because earlier losses explain that time-out. */
static struct outstanding outstanding_losses(const struct pl_resume *resume)
{
    struct outstanding sum = {0};
    const struct pl_losses *losses = resume->losses;
    for (size_t i = 0; i < losses->parts.n; i++) {
        const struct pl_lost_part *part = &losses->parts.at[i];
        if (part->number < resume->since || part->end <= resume->una)
            continue;
        sum.last_sent_ns = part->t_sent_ns;
        sum.packets++;
        sum.bytes += part->len;
        sum.retransmissions += part->retransmission;
        sum.dropped += pl_box_dropped(part->fate);
        sum.queued += pl_box_queue(part->fate);
        sum.outage += part->outage;
    }
    for (size_t b = 0; b < losses->bursts.n; b++) {
        const struct pl_burst *burst = &losses->bursts.at[b];
        sum.full_queue =
            sum.full_queue || (burst->first >= resume->since && burst->full_queue && burst->seq_end > resume->una);
    }
    if (sum.dropped) /* if the record has reasons for drops, the majority of these decides */
        sum.full_queue = 2 * sum.queued > sum.dropped;
    return sum;
}

/* Appends how many of the lost parts an outage took: ", 60 of them to an outage", or " to an outage" if it took all. */
static void add_outage(struct pl_stop *stop)
{
    char outage[32];
    size_t used = strlen(stop->text);
    if (stop->outage && stop->outage < stop->packets)
        snprintf(stop->text + used, sizeof stop->text - used, ", %s of them to an outage",
                 grouped(stop->outage, outage));
    else if (stop->outage)
        snprintf(stop->text + used, sizeof stop->text - used, " to an outage");
}

static void explain_timeout(const struct pl_resume *resume, struct pl_stop *stop)
{
    struct outstanding lost = outstanding_losses(resume);
    char packets[32], bytes[32];
    const char *what;
    if (lost.packets == 0) {
        stop->cause = PL_RTO_SPURIOUS;
        snprintf(stop->text, sizeof stop->text, "retransmission time-out although nothing outstanding was lost");
        return;
    }
    stop->packets = lost.packets;
    stop->bytes = lost.bytes;
    stop->outage = lost.outage;
    stop->waited_ns = resume->t1_ns - lost.last_sent_ns;
    stop->full_queue = lost.full_queue;
    if (lost.retransmissions == lost.packets) {
        stop->cause = PL_RTO_AFTER_LOST_RETRANSMISSION;
        what = lost.full_queue ? "a tail drop of retransmissions:" : "the loss of retransmissions:";
    } else if (lost.full_queue) {
        stop->cause = PL_RTO_AFTER_TAIL_DROP;
        what = "a tail-drop burst of";
    } else {
        stop->cause = PL_RTO_AFTER_LOSS;
        what = "the loss of";
    }
    snprintf(stop->text, sizeof stop->text, "retransmission time-out %.2f s after %s %s packet%s (%s bytes)",
             (double)stop->waited_ns / 1e9, what, grouped(lost.packets, packets), lost.packets == 1 ? "" : "s",
             grouped(lost.bytes, bytes));
    add_outage(stop);
}

static void explain_other(const struct pl_resume *resume, struct pl_stop *stop)
{
    char bytes[32];
    const struct pl_gap *gap = resume->gap;
    uint64_t left = resume->una < resume->high ? resume->high - resume->una : 0;
    stop->outstanding_bytes = resume->ended ? pl_gap_flight(gap) : left;
    grouped(stop->outstanding_bytes, bytes);
    if (pl_gap_closed(gap, gap->t0_ns, resume->t1_ns)) {
        stop->cause = PL_CAUSE_ZERO_WINDOW;
        stop->waited_ns = pl_gap_shut_ns(gap, gap->t0_ns, resume->t1_ns);
        snprintf(stop->text, sizeof stop->text, "the receiver's window was closed for %.2f s",
                 (double)stop->waited_ns / 1e9);
    } else if (pl_gap_empty(gap, resume->t1_ns)) {
        stop->cause = PL_CAUSE_IDLE;
        stop->waited_ns = pl_gap_empty_ns(gap, resume->t1_ns);
        snprintf(stop->text, sizeof stop->text, "the application had nothing to send for %.2f s",
                 (double)stop->waited_ns / 1e9);
    } else if (!resume->ended) {
        stop->cause = PL_UNFINISHED;
        snprintf(stop->text, sizeof stop->text, "the capture ends with %s bytes outstanding", bytes);
    } else if (gap->full) {
        stop->cause = PL_CAUSE_RECEIVER_WINDOW;
        snprintf(stop->text, sizeof stop->text, "the receiver's window was full with %s bytes outstanding", bytes);
    } else if (resume->retransmission) {
        stop->cause = PL_LOSS_RECOVERY;
        stop->probe = resume->probe;
        snprintf(stop->text, sizeof stop->text, "waited for %s",
                 resume->probe ? "the time of a tail-loss probe" : "the acknowledgements that showed a loss");
    } else {
        stop->cause = PL_ACK_WAIT;
        snprintf(stop->text, sizeof stop->text, "waited for acknowledgements with %s bytes outstanding", bytes);
    }
}

int pl_add_stop(struct pl_transfer *t, const struct pl_resume *resume)
{
    struct pl_stop stop = {.t0_ns = resume->gap->t0_ns, .t1_ns = resume->t1_ns};
    if (resume->timeout)
        explain_timeout(resume, &stop);
    else
        explain_other(resume, &stop);
    return PL_APPEND(&t->stops, stop);
}
