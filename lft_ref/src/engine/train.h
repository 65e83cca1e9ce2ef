/* A train measures the capacity of the bottleneck: frames that leave back to back leave the bottleneck at its rate.
 * The frames in front of and behind a train are ACK frames with LFT_REPORT_ASK, so the receiver reports when each of
 * the two arrived and how many octets had arrived by then. A train may exceed the rate that `auto` has set, but not the
 * limit; the sender pauses for as long as the train's octets take at the rate.
 * Source: Carter and Crovella, "Measuring bottleneck link speed in packet-switched networks", 1996. */
#ifndef LFT_TRAIN_H
#define LFT_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

struct lft_train {
    unsigned left;        /* frames still to send, the two ACK frames included; 0: no train leaves now */
    uint64_t first, last; /* counters of the two ACK frames; 0: not sent yet */
    uint64_t sent_bytes;  /* octets sent in front of the train */
    uint64_t bytes;       /* the train's; 0: it is leaving, or its source ran dry */
    bool paid;            /* the sender has paused for it */
    bool begun;           /* the first report has come; it said: */
    uint32_t begun_us;
    uint64_t begun_ns;                /* when that frame was sent */
    uint64_t begun_bytes, begun_sent; /* octets that had arrived, and that had been sent, by then */
};

/* What became of a train, from its first frame that was reported alone to its last. */
struct lft_train_result {
    uint64_t sent_bytes, arrived_bytes;
    uint32_t us;      /* between their arrivals */
    uint64_t sent_ns; /* between their departures */
};

struct lft_report;
/* Begins a train of `frames` frames; an earlier one that has no result yet is given up. */
void lft_train_begin(struct lft_train *train, unsigned frames);
/* Takes a report about a transmission that was sent at `sent_ns`, and with which `sent_bytes` had been sent. Returns
 * true with the result when this was the last report of a train. */
bool lft_train_report(struct lft_train *train, const struct lft_report *report, uint64_t sent_ns, uint64_t sent_bytes,
                      struct lft_train_result *result);

#endif
