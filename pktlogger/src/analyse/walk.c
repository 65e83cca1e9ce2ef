/* Implements walk.h. The rules, which are also in FORMAT.md:
 *
 * Time-out: data are sent again from the first outstanding byte on, and no acknowledgement triggered this, because none
 * came for 10 ms. If duplicate acknowledgements or SACK blocks have hinted at a loss since una last advanced, half the
 * smallest round-trip time and 20 ms for the kernel's ticks replace the 10 ms, up to 200 ms (longer than RACK waits for
 * reordering, RFC 8985).
 * Until everything sent before the time-out is acknowledged, all retransmissions are "after time-out".
 * Tail-loss probe (RFC 8985, section 7): after a round-trip time of silence, the last packet is sent again, alone, and
 * nothing has hinted at a loss. Senders wait for twice the smoothed RTT and more; how much more depends on the sender
 * (clock ticks, the other end's delayed acknowledgements), so the rule has no fixed time. When only one packet is
 * outstanding, its retransmission may be a probe or a time-out. If samples have the kernel's count of time-outs, that
 * decides. Otherwise the first copy is a probe if both ends have SACK and the copy came in the time that RFC 8985, 7.2
 * allows. The second copy is a time-out, because a sender probes once.
 * Fast: every other retransmission.
 * Spurious: a retransmission of either kind when an earlier copy of all its bytes arrived. */
#include "shown.h"
#include "thresholds.h"
#include "walk_state.h"

enum { PARTS_ROOM = 64, FORGET_EVERY = 65536 };

static void end_recovery(struct pl_walk *s)
{
    if (s->mode == PL_MODE_FAST)
        pl_walk_event(s, PL_FAST_RETRANSMIT, s->fast);
    s->mode = PL_MODE_NORMAL;
}

/* Whether an acknowledgement undoes a fast recovery: it acknowledges everything that the recovery retransmitted, and
 * echoes a time stamp from before the first retransmission (Eifel, RFC 3522). So the originals had arrived, nothing
 * needs repair, and the sender undoes its reduction (RFC 4015; Linux does so if no retransmission is outstanding). */
static bool is_undone(const struct pl_walk *s, const struct pl_row *packet)
{
    return s->mode == PL_MODE_FAST && s->una >= s->repaired && s->repair_tsval && packet->tsecr &&
           (int32_t)(packet->tsecr - s->repair_tsval) < 0;
}

/* The number of an acknowledgement's SACK blocks that lie after a hole, which hints at a loss. A block that reports a
 * duplicate (D-SACK) does not count. */
static unsigned behind_holes(const struct pl_row *packet)
{
    return packet->sack_n - (unsigned)pl_shown_duplicate(packet);
}

/* Takes an acknowledgement. If a later one overtook it, it must not update the window (RFC 9293, 3.10.7.4). */
static void note_ack(struct pl_walk *s, const struct pl_row *packet)
{
    if (packet->ack < s->acked)
        return;
    s->acked = packet->ack;
    pl_walk_note_window(s, packet);
}

static int on_ack(struct pl_walk *s, const struct pl_row *packet, int64_t rtt_ns)
{
    if (packet->flags & NC_TCP_RST)
        return 0;
    if (packet->flags & NC_TCP_SYN) { /* the SYN's window holds until the first acknowledgement of data */
        note_ack(s, packet);
        return 0;
    }
    bool same_window = s->window_known && s->window == packet->window;
    uint64_t una = s->una;
    enum pl_sender_mode mode = s->mode;
    bool duplicate = packet->ack == s->una && !packet->len && same_window && s->high > s->una;
    note_ack(s, packet);
    s->last_ack_ns = packet->t_ns;
    if (!s->gap.started)
        return 0;
    pl_marks_ack(&s->marks, s->t, packet, packet->ack > s->una ? packet->ack : s->una);
    if (packet->ack > s->high && !s->t->flow->side[s->t->dir].syn)
        s->high = packet->ack; /* the data may have been sent before the capture began in mid-connection */
    if (packet->ack > s->una) {
        s->una = packet->ack;
        s->hint = behind_holes(packet) > 0;
        if (s->mode != PL_MODE_NORMAL && (s->una >= s->recover || is_undone(s, packet)))
            end_recovery(s);
    } else if (behind_holes(packet) || (duplicate && !packet->sack_n))
        s->hint = true;
    s->t->duplicate_acks += duplicate && !(packet->flags & NC_TCP_FIN);
    const struct pl_acked acked = {
        .t_ns = packet->t_ns,
        .una = s->una,
        .high = s->high,
        .window = s->t->scale_known || s->window == 0 ? s->window : UINT32_MAX,
        .advanced = s->una > una,
        .missed = s->una > s->high + 1, /* a FIN counts as a byte */
        .answer = packet->len > 0,
        .ended = s->mode == PL_MODE_NORMAL ? mode : PL_MODE_NORMAL,
    };
    pl_gap_ack(&s->gap, &acked);
    struct pl_told *told = pl_aside_next(s->aside, PL_TELL_RATES_ACK);
    told->of.rates = s->rates;
    told->what.rates_ack.t_ns = packet->t_ns;
    told->what.rates_ack.rtt_ns = rtt_ns;
    told->what.rates_ack.bytes = s->una - una;
    told->what.rates_ack.window = s->window;
    return pl_aside_tell(s->aside);
}

static int64_t silent_ns(const struct pl_walk *s, int64_t now_ns)
{
    return now_ns - (s->last_ack_ns > s->gap.t0_ns ? s->last_ack_ns : s->gap.t0_ns);
}

static bool is_probe(const struct pl_walk *s, const struct pl_segment *first, int64_t now_ns)
{
    return first->transmission > 1 && s->mode == PL_MODE_NORMAL && !s->hint && s->parts.n == 1 &&
           first->seq >= s->una && first->seq + first->len == s->high &&
           silent_ns(s, now_ns) > pl_transfer_rtt_ns(s->t, now_ns);
}

/* Whether the first copy of the only outstanding packet is a tail-loss probe. By RFC 8985, 7.2 a probe is sent only if
 * SACK is in use, and at the latest after twice the smoothed RTT plus the longest delay of an acknowledgement. */
static bool is_lone_probe(const struct pl_walk *s, const struct pl_segment *first, int64_t now_ns)
{
    const struct pl_side *side = s->t->flow->side;
    int64_t srtt_ns = s->srtt_ns ? s->srtt_ns : pl_transfer_rtt_ns(s->t, now_ns);
    bool no_sack = !s->trips.sack && side[0].syn && side[1].syn;
    return is_probe(s, first, now_ns) && first->transmission == 2 && !no_sack &&
           silent_ns(s, now_ns) <= 2 * srtt_ns + PL_PROBE_DELAYED_ACK_NS + PL_TIMER_TICKS_NS;
}

static bool is_timeout(const struct pl_walk *s, const struct pl_segment *first, int64_t now_ns)
{
    int64_t quiet_ns = PL_QUIET_NS, hinted_ns = pl_transfer_rtt_ns(s->t, now_ns) / 2 + PL_TIMER_TICKS_NS;
    if (first->transmission == 1 || first->seq > s->una || first->seq + first->len <= s->una)
        return false;
    enum pl_counted counted = pl_samples_timeout(&s->explain.samples, now_ns);
    bool new = s->mode != PL_MODE_TIMEOUT || now_ns - s->timeout_ns >= PL_TIMEOUTS_APART_NS;
    if (counted == PL_COUNTED_ONE && new)
        quiet_ns = PL_QUIET_COUNTED_NS;
    else if (s->hint)
        quiet_ns = hinted_ns < PL_QUIET_HINTED_NS ? hinted_ns : PL_QUIET_HINTED_NS;
    if (now_ns - s->last_ack_ns < quiet_ns)
        return false;
    return counted == PL_COUNTED_UNKNOWN ? !is_lone_probe(s, first, now_ns) : counted == PL_COUNTED_ONE;
}

/* The outstanding octets by the capture. It may lack some data that are acknowledged. */
static uint64_t flight_of(const struct pl_walk *s)
{
    return s->high > s->una ? s->high - s->una : 0;
}

static void enter_timeout(struct pl_walk *s, int64_t now_ns)
{
    end_recovery(s);
    s->mode = PL_MODE_TIMEOUT;
    s->recover = s->high;
    s->timeout_segment = s->segment;
    s->timeout_ns = now_ns;
    s->t->timeouts++;
    pl_losses_forget(&s->losses, s->timeout_segment, s->una);
    pl_walk_event(
        s, PL_RTO,
        (struct pl_event){.t0_ns = s->gap.t0_ns, .t1_ns = now_ns, .seq = s->una, .bytes = flight_of(s), .packets = 1});
}

static void enter_fast(struct pl_walk *s, const struct pl_segment *first, uint32_t tsval)
{
    s->mode = PL_MODE_FAST;
    s->recover = s->high;
    s->repaired = 0;
    s->repair_tsval = tsval;
    s->fast = (struct pl_event){.t0_ns = first->t_sent_ns, .seq = first->seq};
    s->t->fast_recoveries++;
}

/* Sets the kinds of the parts of one packet. The table already says which parts are new and which have copies that
 * arrived. */
static void set_kinds(struct pl_walk *s)
{
    for (size_t i = 0; i < s->parts.n; i++) {
        const struct pl_segment *segment = &s->parts.at[i].segment;
        if (segment->kind == PL_FAST && s->mode == PL_MODE_TIMEOUT)
            pl_tables_set_kind(s->tables, s->parts.at[i].row, PL_TIMEOUT);
        if (segment->kind == PL_FAST && s->probe)
            pl_tables_set_kind(s->tables, s->parts.at[i].row, PL_PROBE);
        if (segment->transmission > 1 && s->mode == PL_MODE_FAST) {
            s->fast.t1_ns = segment->t_sent_ns;
            s->fast.bytes += segment->len;
            s->fast.packets++;
            s->repaired = segment->seq + segment->len > s->repaired ? segment->seq + segment->len : s->repaired;
        }
    }
}

/* Ends a gap that is a stop. `next`: the segment that ends it, or NULL at the end of the capture. */
static int note_stop(struct pl_walk *s, int64_t now_ns, const struct pl_segment *next, bool timeout)
{
    const struct pl_resume resume = {
        .gap = &s->gap,
        .t1_ns = now_ns,
        .una = s->una,
        .high = s->high,
        .losses = &s->losses,
        .since = s->timeout_segment,
        .ended = next,
        .timeout = timeout,
        .retransmission = next && next->transmission > 1,
        .probe = s->probe,
    };
    if (pl_gap_empty(&s->gap, now_ns))
        pl_walk_event(s, PL_IDLE, (struct pl_event){.t0_ns = s->gap.empty_ns, .t1_ns = now_ns, .seq = s->una});
    return pl_add_stop(s->t, &resume);
}

/* Derives a lower bound of the window scale (at most 14: RFC 7323, 2.3): the outstanding octets must fit into the
 * window. */
static void note_scale(struct pl_walk *s)
{
    enum { SCALE_MAX = 14 };
    uint64_t flight = flight_of(s);
    while (!s->t->scale_known && s->window > 0 && s->t->scale_least < SCALE_MAX &&
           flight > (uint64_t)s->window << s->t->scale_least)
        s->t->scale_least++;
}

/* Counts each time that the window becomes full, and how often it is then far smaller than the buffer allows, which
 * shows a program that reads slowly. */
static void note_full(struct pl_walk *s)
{
    s->t->signs.shut++;
    s->t->signs.shut_small += 100 * (uint64_t)s->window < PL_SMALL_PERCENT * (uint64_t)s->t->window_kept;
    s->t->signs.shut_largest += 100 * (uint64_t)s->window >= PL_LARGEST_PERCENT * (uint64_t)s->t->window_kept;
}

/* Counts packets that Nagle's algorithm held back (RFC 9293, 3.7.4). Such a packet is short, and leaves as soon as
 * everything before it is acknowledged. The acknowledgement carries no data, and came later than the round-trip time by
 * most of the time for which a receiver delays acknowledgements (RFC 1122, 4.2.3.2). */
static void note_held_back(struct pl_walk *s, const struct pl_row *packet)
{
    bool shorter = s->t->mss && packet->len < s->t->mss;
    int64_t waited_ns = s->gap.empty_ns - s->gap.t0_ns;
    if (s->gap.empty_ns < 0 || !s->gap.bare || !shorter ||
        pl_gap_empty_ns(&s->gap, packet->t_ns) > PL_NAGLE_PROMPT_NS ||
        waited_ns < pl_transfer_rtt_ns(s->t, packet->t_ns) + PL_NAGLE_DELAYED_NS)
        return;
    s->t->signs.delayed++;
    s->t->signs.delayed_ns += packet->t_ns - s->gap.t0_ns;
}

/* Counts sends before which the peer's data came and everything was acknowledged: the program may have waited for these
 * data. */
static void note_answer(struct pl_walk *s, int64_t now_ns)
{
    if (s->gap.answered && s->gap.empty_ns >= 0) {
        s->t->signs.answers++;
        s->t->signs.answers_ns += now_ns - s->gap.t0_ns;
    }
}

static void after_send(struct pl_walk *s)
{
    for (size_t i = 0; i < s->parts.n; i++) {
        const struct pl_segment *segment = &s->parts.at[i].segment;
        if (segment->seq + segment->len > s->high)
            s->high = segment->seq + segment->len;
    }
    s->segment += s->parts.n;
    uint64_t flight = flight_of(s);
    if (flight > s->t->max_unacknowledged_bytes)
        s->t->max_unacknowledged_bytes = flight;
    note_scale(s);
}

static int take_parts(struct pl_walk *s)
{
    set_kinds(s);
    for (size_t i = 0; i < s->parts.n; i++) {
        const struct pl_segment *segment = &s->parts.at[i].segment;
        pl_explain_part(&s->explain, segment);
        bool down = pl_explain_down(&s->explain, segment->t_sent_ns);
        if (pl_losses_add(&s->losses, s->t, s->tables, segment, s->segment + i, down) < 0)
            return -1;
    }
    if (s->losses.parts.n >= PARTS_ROOM && s->losses.parts.n >= 2 * s->losses.kept)
        pl_losses_forget(&s->losses, s->timeout_segment, s->una);
    return 0;
}

/* Passes a data packet and the arrivals of its parts on to the rates. */
static int note_rates(struct pl_walk *s, const struct pl_row *packet)
{
    struct pl_told *told = pl_aside_next(s->aside, PL_TELL_RATES_SEND);
    told->of.rates = s->rates;
    told->what.rates_send = (struct pl_rates_send){
        .t_ns = packet->t_ns,
        .flight = flight_of(s),
        .window = s->window,
        .bytes = packet->len,
        .n = (uint32_t)s->parts.n,
    };
    if (pl_aside_tell(s->aside) < 0)
        return -1;
    for (size_t i = 0; s->t->ends == PL_BOTH_ENDS && i < s->parts.n; i++) {
        const struct pl_segment *segment = &s->parts.at[i].segment;
        if (segment->t_received_ns < 0)
            continue;
        told = pl_aside_next(s->aside, PL_TELL_RATES_ARRIVAL);
        told->of.rates = s->rates;
        told->what.arrival.t_ns = segment->t_received_ns;
        told->what.arrival.bytes = segment->len;
        if (pl_aside_tell(s->aside) < 0)
            return -1;
    }
    return 0;
}

static bool note_reduction(struct pl_walk *s, const struct pl_row *packet)
{
    struct pl_event event;
    if (!pl_marks_send(&s->marks, s->t, packet, s->una, s->high, s->mode != PL_MODE_NORMAL, &event))
        return false;
    pl_walk_event(s, PL_ECN_REDUCTION, event);
    return true;
}

/* Handles one data packet, whose parts are s->parts. */
static int on_send(struct pl_walk *s, const struct pl_row *packet)
{
    const struct pl_segment *first = &s->parts.at[0].segment;
    if (!s->gap.started) {
        s->una = s->high = first->seq;
        s->gap.t0_ns = s->last_ack_ns = packet->t_ns;
    }
    bool timeout = is_timeout(s, first, packet->t_ns);
    s->probe = !timeout && is_probe(s, first, packet->t_ns);
    if (packet->t_ns - s->gap.t0_ns > pl_stop_threshold_ns(s->t, s->gap.t0_ns) &&
        note_stop(s, packet->t_ns, first, timeout) < 0)
        return -1;
    pl_walk_end_window_wait(s, packet->t_ns);
    note_held_back(s, packet);
    note_answer(s, packet->t_ns);
    if (timeout)
        enter_timeout(s, packet->t_ns);
    if (!timeout && !s->probe && first->transmission > 1 && s->mode == PL_MODE_NORMAL)
        enter_fast(s, first, packet->tsval);
    bool reduced = note_reduction(s, packet);
    int64_t queue_ns = pl_explain_queue_ns(&s->explain, first), line_ns = pl_explain_line_ns(&s->explain, first);
    s->t->most_queue_ns = queue_ns > s->t->most_queue_ns ? queue_ns : s->t->most_queue_ns;
    if (take_parts(s) < 0)
        return -1;
    after_send(s);
    if (note_rates(s, packet) < 0)
        return -1;
    struct pl_told *told = pl_aside_next(s->aside, PL_TELL_LIMITS_SEND);
    struct pl_sent *sent = &told->what.limits_send.sent;
    told->of.limits = s->explain.limits;
    told->what.limits_send.gap = s->gap;
    *sent = (struct pl_sent){
        .t_ns = packet->t_ns,
        .queue_ns = queue_ns,
        .line_ns = line_ns,
        .rtt_ns = pl_transfer_rtt_ns(s->t, packet->t_ns),
        .segment_ns = pl_explain_segment_ns(s->t, packet->t_ns),
        .una = s->una,
        .high = s->high,
        .len = packet->len,
        .window = s->window,
        .window_known = s->window_known && s->t->scale_known,
        .timeout = timeout,
        .probe = s->probe,
        .repair = s->probe && first->kind != PL_SPURIOUS,
        .reduced = reduced,
        .mode = s->mode,
    };
    pl_gap_begin(&s->gap, sent);
    if (s->gap.full)
        note_full(s);
    return pl_aside_tell(s->aside);
}

/* Reads the rows of one packet from the table. */
static int fetch_parts(struct pl_walk *s, uint64_t frame)
{
    s->parts.n = 0;
    while (pl_tables_is_of_frame(s->tables, s->t, &s->cursor, frame)) {
        struct walked *part = PL_MORE(&s->parts);
        if (!part)
            return -1;
        pl_tables_segment(s->tables, s->t, &s->cursor, &part->segment, &part->row);
        s->cursor.row++;
        if (part->row % FORGET_EVERY == 0)
            pl_tables_forget(s->tables, part->row);
    }
    return 0;
}

static struct pl_walk *begin(struct pl_transfer *t, struct pl_tables *tables, struct pl_aside *aside)
{
    struct pl_walk *walk = calloc(1, sizeof *walk);
    if (!walk)
        return NULL;
    walk->t = t;
    walk->tables = tables;
    walk->aside = aside;
    walk->marks = pl_marks_begin(t);
    walk->trips = pl_round_trips_begin(t->flow);
    walk->gap = pl_gap_none(t->mss);
    walk->rates = pl_rates_new(t, tables);
    if (!walk->rates || pl_explain_begin(&walk->explain, t, tables) < 0) {
        pl_explain_end(&walk->explain);
        pl_rates_free(walk->rates);
        free(walk);
        return NULL;
    }
    walk->marks.unheeded = pl_samples_heed_no_marks(&walk->explain.samples);
    return walk;
}

int pl_walk(struct pl_transfer *t, const struct pl_row *row, struct pl_tables *tables, struct pl_aside *aside)
{
    if (!t->walk && !(t->walk = begin(t, tables, aside)))
        return -1;
    struct pl_walk *s = t->walk;
    struct pl_row packet = *row;
    if (packet.t_ns < s->now_ns) /* two processors may write packets out of order; later code needs times that never
                                  * decrease */
        packet.t_ns = s->now_ns;
    s->now_ns = packet.t_ns;
    if (packet.dir != t->dir && !(packet.flags & NC_TCP_SYN))
        packet.window <<= t->window_shift;
    s->reset = s->reset || packet.flags & NC_TCP_RST;
    struct pl_round_trip trip;
    if (pl_round_trips_packet(&s->trips, &packet, t->dir, &trip) < 0)
        return -1;
    if (trip.ns >= 0) {
        const struct pl_trip found = {.flow = t->number, .t_ns = trip.t_ns, .rtt_ns = trip.ns, .gap = trip.gap};
        pl_tables_put_trip(tables, &found);
        s->srtt_ns = s->srtt_ns ? s->srtt_ns + (trip.ns - s->srtt_ns) / 8 : trip.ns;
    }
    if (pl_is_data(&packet, t->dir)) {
        if (fetch_parts(s, packet.frame) < 0)
            return -1;
        return s->parts.n ? on_send(s, &packet) : 0;
    }
    if (packet.dir != t->dir && packet.ack < UINT64_MAX / 4)
        return on_ack(s, &packet, trip.ns);
    return 0;
}

/* At the end of the capture, data still outstanding make the silence a stop, unless a reset ended the connection. */
static int finish(struct pl_walk *s)
{
    int64_t now_ns = s->t->sender_last_ns;
    s->probe = false;
    end_recovery(s);
    pl_walk_end_windows(s, now_ns);
    pl_losses_end(&s->losses, s->t, s->tables);
    if (s->gap.t0_ns > s->t->last_ns) /* time stamps were out of order: now_ns did not go back */
        s->t->last_ns = s->gap.t0_ns;
    if (!s->gap.started || s->reset || s->una >= s->high ||
        now_ns - s->gap.t0_ns <= pl_stop_threshold_ns(s->t, s->gap.t0_ns))
        return 0;
    s->t->last_ns = now_ns;
    return note_stop(s, now_ns, NULL, false);
}

static void release(void *ended)
{
    struct pl_walk *walk = ended;
    pl_explain_end(&walk->explain);
    pl_rates_free(walk->rates);
    pl_round_trips_free(&walk->trips);
    free(walk->losses.bursts.at);
    free(walk->losses.parts.at);
    free(walk->parts.at);
    free(walk);
}

int pl_walk_end(struct pl_transfer *t, struct pl_tables *tables, struct pl_aside *aside)
{
    if (!t->walk && !(t->walk = begin(t, tables, aside)))
        return -1;
    int result = finish(t->walk);
    struct pl_told *told = pl_aside_next(aside, PL_TELL_LIMITS_END);
    told->of.limits = t->walk->explain.limits;
    told->what.limits_send.gap = t->walk->gap;
    if (pl_aside_tell(aside) < 0)
        result = -1;
    told = pl_aside_next(aside, PL_TELL_END);
    told->of.ended = t->walk;
    told->what.release = release;
    t->walk = NULL;
    return pl_aside_tell(aside) < 0 ? -1 : result;
}

int64_t pl_stop_threshold_ns(const struct pl_transfer *t, int64_t t_ns)
{
    int64_t rtt_ns = pl_transfer_rtt_ns(t, t_ns);
    if (rtt_ns >= INT64_MAX / PL_STOP_TRIPS)
        return INT64_MAX;
    return rtt_ns * PL_STOP_TRIPS > PL_STOP_NS ? rtt_ns * PL_STOP_TRIPS : PL_STOP_NS;
}
