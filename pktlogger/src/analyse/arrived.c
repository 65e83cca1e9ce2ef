/* Implements arrived.h. */
#include "arrived.h"

#include "holes.h"
#include "join.h"
#include "offers.h"
#include "rates.h"
#include "round_trips.h"

struct pl_arrived {
    struct pl_transfer *t;
    struct pl_tables *tables;
    struct pl_holes holes;
    struct pl_rates *rates;
    struct pl_round_trips trips; /* of the packets that the receiver sends: its SYN, and its data */
    uint64_t acked;
    uint32_t window;
    struct pl_offers offers;
    bool answered;     /* `acked` and `window` are set */
    int64_t closed_ns; /* time since which the window is 0; -1: the window is open */
    int64_t now_ns;
    bool probing; /* `probe` came while the window was closed; whether the receiver accepted it is not known yet */
    struct pl_row probe;
};

static uint64_t parts_of(const struct pl_transfer *t, uint64_t octets)
{
    return t->mss ? (octets + t->mss - 1) / t->mss : 1;
}

static int note_lost(void *context, uint64_t left, uint64_t right, const struct pl_hole *hole)
{
    struct pl_arrived *a = context;
    uint64_t octets = right - left, parts = parts_of(a->t, octets);
    struct pl_loss row = {
        .flow = a->t->number,
        .seq = left,
        .len = octets < UINT32_MAX ? (uint32_t)octets : UINT32_MAX,
        .t_sent_ns = -1,
        .run = parts < UINT32_MAX ? (uint32_t)parts : UINT32_MAX,
        .queue_ns = -1,
        .spacing_ns = -1,
        .cause = PL_LOSS_UNKNOWN,
        .seen_cause = PL_LOSS_UNKNOWN,
    };
    (void)hole;
    a->t->lost += parts;
    a->t->lost_bytes += octets;
    a->t->loss_causes[PL_LOSS_UNKNOWN] += parts;
    a->t->loss_seen_causes[PL_LOSS_UNKNOWN] += parts;
    pl_tables_put_loss(a->tables, &row);
    return 0;
}

static int begin(struct pl_transfer *t, struct pl_tables *tables)
{
    struct pl_arrived *a = t->arrived = calloc(1, sizeof *a);
    if (!a)
        return -1;
    a->t = t;
    a->tables = tables;
    a->holes = (struct pl_holes){.rtt_ns = -1, .lost = note_lost, .context = a};
    a->trips = pl_round_trips_begin(t->flow);
    a->closed_ns = -1;
    a->rates = pl_rates_new(t, tables);
    return a->rates ? 0 : -1;
}

static void count_part(struct pl_transfer *t, const struct pl_arrival *part, const struct pl_filled *filled)
{
    if (!t->segments++)
        t->first_ns = part->t_ns;
    t->last_ns = part->t_ns > t->last_ns ? part->t_ns : t->last_ns;
    t->bytes += filled->fresh + filled->again + filled->overtaken;
    t->retransmitted += filled->again || filled->known;
    t->retransmitted_bytes += filled->again + filled->known;
    t->spurious += filled->known == part->len;
    t->reordered += filled->overtaken > 0;
    t->marks.ce_received += part->ecn == NC_CE;
    t->marks.ce_received_bytes += part->ecn == NC_CE ? part->len : 0;
}

static int take_part(struct pl_arrived *a, const struct pl_arrival *part, const struct pl_row *row)
{
    struct pl_transfer *t = a->t;
    struct pl_filled filled;
    const struct pl_piece_seen piece = {
        .left = part->number,
        .right = part->number + part->len,
        .t_ns = part->t_ns,
        .stamp = row->tsval,
        .id = t->data_ids ? (uint16_t)part->token : 0,
    };
    a->holes.rtt_ns = t->min_rtt_ns;
    if (pl_holes_take(&a->holes, &piece, &filled) < 0)
        return -1;
    count_part(t, part, &filled);
    struct pl_segment segment = {
        .flow = t->number,
        .seq = part->number,
        .len = part->len,
        .t_sent_ns = -1,
        .t_received_ns = part->t_ns,
        .t_acked_ns = -1,
        .rtt_ns = -1,
        .delay_ns = -1,
        .receiver_frame = part->frame,
        .transmission = filled.again || filled.known ? 2 : 1,
        .repeats = filled.known == part->len,
        .ecn_sent = PL_NO_ECN,
        .ecn_received = part->ecn,
        .box_fate = PL_NO_FATE,
    };
    pl_tables_put_segments(a->tables, t, &segment, 1);
    const struct pl_rates_send moment = {.t_ns = part->t_ns, .window = a->window};
    if (pl_rates_send(a->rates, &moment) < 0)
        return -1;
    return pl_rates_arrival(a->rates, part->t_ns, part->len);
}

static int take_data(struct pl_arrived *a, const struct pl_row *row)
{
    struct pl_arrival part;
    for (uint32_t i = 0; pl_part_of(a->t, row, i, &part); i++)
        if (take_part(a, &part, row) < 0)
            return -1;
    return 0;
}

/* Later packets show whether the receiver accepted a probe of a closed window (RFC 9293, 3.8.6.1). */
static int end_probe(struct pl_arrived *a, uint64_t taken)
{
    bool data = a->probing && taken > a->probe.seq;
    a->probing = false;
    return data ? take_data(a, &a->probe) : 0;
}

/* Skips keep-alives (RFC 1122, 4.2.3.6). Holds back a probe of a closed window until later packets show its fate. */
static int on_data(struct pl_arrived *a, const struct pl_row *row)
{
    if (row->len == 1 && a->answered && row->seq + 1 == a->holes.high && a->acked >= a->holes.high)
        return 0;
    if (end_probe(a, row->seq) < 0)
        return -1;
    if (a->closed_ns < 0 || row->seq != a->acked || row->seq < a->holes.high)
        return take_data(a, row);
    a->probe = *row;
    a->probing = true;
    return 0;
}

static void open_window(struct pl_arrived *a, int64_t now_ns)
{
    struct pl_event event = {
        .flow = a->t->number, .kind = PL_ZERO_WINDOW, .t0_ns = a->closed_ns, .t1_ns = now_ns, .seq = a->acked};
    if (a->closed_ns >= 0)
        pl_tables_put_event(a->tables, &event);
    a->closed_ns = -1;
}

static void note_window(struct pl_arrived *a, const struct pl_row *row)
{
    struct pl_transfer *t = a->t;
    bool same = a->answered && row->ack == a->acked && row->window == a->window && !row->len;
    t->duplicate_acks += same && a->holes.list.n && !(row->flags & NC_TCP_FIN);
    a->window = row->window;
    pl_offers_note(&a->offers, t, row->ack, row->window);
    if (row->window)
        open_window(a, row->t_ns);
    else if (a->closed_ns < 0)
        a->closed_ns = row->t_ns;
}

static int on_ack(struct pl_arrived *a, const struct pl_row *row)
{
    struct pl_transfer *t = a->t;
    struct pl_ack ack = {
        .flow = t->number,
        .ack = row->ack,
        .t_sent_ns = row->t_ns,
        .t_received_ns = -1,
        .window = row->window,
        .ace = NC_TCP_ACE(row->flags),
        .box_fate = PL_NO_FATE,
    };
    pl_tables_put_acks(a->tables, t, &ack, 1);
    if (row->flags & (NC_TCP_SYN | NC_TCP_RST))
        return 0;
    note_window(a, row);
    uint64_t advanced = a->answered && row->ack > a->acked ? row->ack - a->acked : 0;
    if (advanced && end_probe(a, row->ack) < 0)
        return -1;
    if (!a->answered || row->ack > a->acked)
        a->acked = row->ack;
    a->answered = true;
    uint64_t missed = pl_holes_forget(&a->holes, a->acked);
    t->acked_unseen_bytes += missed;
    t->unseen += missed ? parts_of(t, missed) : 0;
    return pl_rates_ack(a->rates, row->t_ns, advanced, row->window, -1);
}

int pl_arrived_take(struct pl_transfer *t, const struct pl_row *given, struct pl_tables *tables)
{
    if (!t->arrived && begin(t, tables) < 0)
        return -1;
    struct pl_arrived *a = t->arrived;
    struct pl_row row = *given;
    struct pl_round_trip trip;
    if (row.t_ns < a->now_ns) /* two processors may write packets out of order; later code needs times that never
                               * decrease */
        row.t_ns = a->now_ns;
    a->now_ns = row.t_ns;
    if (pl_round_trips_packet(&a->trips, &row, !t->dir, &trip) < 0)
        return -1;
    if (trip.ns >= 0) {
        t->min_rtt_ns = t->min_rtt_ns < 0 || trip.ns < t->min_rtt_ns ? trip.ns : t->min_rtt_ns;
        t->max_rtt_ns = trip.ns > t->max_rtt_ns ? trip.ns : t->max_rtt_ns;
    }
    if (pl_is_data(&row, t->dir))
        return on_data(a, &row);
    return row.dir != t->dir && row.ack < UINT64_MAX / 4 ? on_ack(a, &row) : 0;
}

/* Ends the holes at the end of the capture. An octet still missing counts as lost if there was time for a
 * retransmission, else as in flight. */
int pl_arrived_end(struct pl_transfer *t, struct pl_tables *tables)
{
    struct pl_arrived *a = t->arrived;
    (void)tables;
    if (!a)
        return 0;
    for (size_t i = 0; i < a->holes.list.n; i++) {
        const struct pl_hole *hole = &a->holes.list.at[i];
        if (t->receiver_last_ns - hole->behind.t_ns > (t->min_rtt_ns > 0 ? t->min_rtt_ns : 0))
            note_lost(a, hole->left, hole->right, hole);
        else
            t->in_flight_at_end += parts_of(t, hole->right - hole->left);
    }
    open_window(a, t->receiver_last_ns > a->closed_ns ? t->receiver_last_ns : a->closed_ns);
    pl_arrived_free(t);
    return 0;
}

void pl_arrived_free(struct pl_transfer *t)
{
    if (!t->arrived)
        return;
    pl_holes_free(&t->arrived->holes);
    pl_rates_free(t->arrived->rates);
    pl_round_trips_free(&t->arrived->trips);
    free(t->arrived);
    t->arrived = NULL;
}
