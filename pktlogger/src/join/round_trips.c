/* Implements round_trips.h. */
#include "round_trips.h"

#include <string.h>

enum { COMPACT_FROM = 256, SENT_MAX = 1 << 20 }; /* SENT_MAX bounds the memory if nothing is acknowledged */

struct pl_round_trips pl_round_trips_begin(const struct pl_flow *flow)
{
    return (struct pl_round_trips){.sack = flow->side[0].sack_permitted && flow->side[1].sack_permitted};
}

/* Begins with the first data that the sender sends. Data acknowledged earlier was sent before the capture began. */
static void begin(struct pl_round_trips *trips, const struct pl_row *row)
{
    trips->started = true;
    trips->whole = row->flags & NC_TCP_SYN;
    trips->asked = (row->flags & (NC_TCP_SYN | NC_TCP_ACK)) == NC_TCP_SYN;
    trips->begun = row->seq;
    trips->high = trips->shown > row->seq ? trips->shown : row->seq;
    trips->again_ns = INT64_MIN;
}

/* Takes a packet of the sender. A SYN and a FIN count as one byte each. */
static int take_sent(struct pl_round_trips *trips, const struct pl_row *row)
{
    uint64_t end = row->seq + row->len + !!(row->flags & NC_TCP_SYN) + !!(row->flags & NC_TCP_FIN);
    if (row->seq >= UINT64_MAX / 4)
        return 0;
    if (!trips->started)
        begin(trips, row);
    if (row->seq != trips->high || (!trips->whole && trips->una <= trips->begun)) {
        trips->again_ns = row->t_ns;
        trips->gap = trips->gap || trips->open_ns;
        trips->open_ns = 0;
    }
    if (end <= trips->high)
        return 0;
    trips->high = end;
    if (row->len > 0)
        trips->data = end;
    if (trips->sent.n - trips->first >= SENT_MAX) {
        trips->sent.n = trips->first = 0;
        trips->again_ns = row->t_ns;
    }
    return PL_APPEND(&trips->sent, ((struct pl_timed){end, row->t_ns}));
}

/* When the newest data below `edge` was sent. Marks all data below it as arrived, although a part of a super-packet may
 * still be under way. */
static int64_t newest_below(struct pl_round_trips *trips, uint64_t edge)
{
    int64_t t_ns = INT64_MIN;
    for (; trips->first < trips->sent.n; trips->first++) {
        t_ns = trips->sent.at[trips->first].t_ns;
        if (trips->sent.at[trips->first].end >= edge) {
            trips->first += trips->sent.at[trips->first].end == edge;
            break;
        }
    }
    if (trips->first == trips->sent.n)
        trips->sent.n = trips->first = 0;
    else if (trips->first >= COMPACT_FROM && trips->first * 2 > trips->sent.n) {
        trips->sent.n -= trips->first;
        memmove(trips->sent.at, trips->sent.at + trips->first, trips->sent.n * sizeof *trips->sent.at);
        trips->first = 0;
    }
    return t_ns;
}

static void give(struct pl_round_trips *trips, int64_t sample_ns, int64_t t_ns, struct pl_round_trip *trip)
{
    trip->ns = sample_ns;
    trip->t_ns = t_ns;
    trip->gap = trip->gap || trips->gap;
    trips->gap = false;
}

/* Without SACK an acknowledgement is uncertain evidence. If the one before it was lost, it may be for data behind a
 * hole that begins at its number; the next acknowledgement shows this. It is certain if nothing is outstanding. */
static void decide(struct pl_round_trips *trips, int64_t sample_ns, int64_t now_ns, bool advanced,
                   struct pl_round_trip *trip)
{
    bool at_once = trips->sack || trips->first == trips->sent.n;
    if (trips->open_ns && advanced)
        give(trips, trips->open_ns, trips->open_t_ns, trip);
    trips->gap = trips->gap || (trips->open_ns && !advanced);
    trips->open_ns = 0;
    if (sample_ns < 0)
        trips->gap = trips->gap || trip->answer;
    else if (at_once)
        give(trips, sample_ns, now_ns, trip);
    else {
        trips->open_ns = sample_ns;
        trips->open_t_ns = now_ns;
    }
}

/* The sample that an acknowledgement gives, before the next acknowledgement confirms it. */
static int64_t sample_of(struct pl_round_trips *trips, const struct pl_row *row)
{
    uint64_t edge = row->ack, most = row->ack;
    for (unsigned i = 0; i < row->sack_n; i++)
        if (row->sack_right[i] < UINT64_MAX / 4 && row->sack_right[i] > most) {
            most = row->sack_right[i];
            edge = i ? edge : most;
        }
    if (most <= trips->shown)
        return -1;
    trips->shown = most;
    if (!trips->started)
        return -1;
    int64_t sent_ns = newest_below(trips, most);
    if (trips->asked && most == trips->begun + 1 && !(row->flags & NC_TCP_SYN))
        return -1;            /* the capture missed the answer to the SYN, and this acknowledgement came later */
    if (most > trips->high) { /* the capture missed data */
        trips->high = most;
        trips->again_ns = row->t_ns;
    }
    return edge == most && sent_ns > trips->again_ns ? row->t_ns - sent_ns : -1;
}

static void take_answer(struct pl_round_trips *trips, const struct pl_row *row, struct pl_round_trip *trip)
{
    bool advanced = row->ack > trips->una;
    trip->answer = advanced && row->ack > trips->begun && trips->una < trips->data;
    trips->una = advanced ? row->ack : trips->una;
    trips->sack = trips->sack || row->sack_n > 0;
    decide(trips, sample_of(trips, row), row->t_ns, advanced, trip);
}

int pl_round_trips_packet(struct pl_round_trips *trips, const struct pl_row *row, unsigned dir,
                          struct pl_round_trip *trip)
{
    *trip = (struct pl_round_trip){.ns = -1};
    if (row->flags & NC_TCP_RST)
        return 0;
    if (row->dir == dir)
        return take_sent(trips, row);
    if (row->ack < UINT64_MAX / 4)
        take_answer(trips, row, trip);
    return 0;
}

void pl_round_trips_free(struct pl_round_trips *trips)
{
    free(trips->sent.at);
    *trips = (struct pl_round_trips){.first = 0};
}
