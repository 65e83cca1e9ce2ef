/* Implements walk.h. The rules, which are also in FORMAT.md:
 *
 * Time-out: data are sent again from the first outstanding byte on, and no acknowledgement triggered it: none came for
 * 10 ms. If duplicate acknowledgements or SACK blocks had hinted at a loss since the last progress, the time is instead
 * half the smallest round-trip time, within 10 … 200 ms (longer than RACK waits for reordering, RFC 8985). Until
 * everything sent before the time-out is acknowledged, all retransmissions are "after time-out". A tail-loss probe
 * counts as a time-out only where it cannot be told from one, which is when it repeats the first outstanding byte.
 * Fast: every other retransmission.
 * Spurious: a retransmission of either kind when an earlier copy of all its bytes arrived. */
#include "walk.h"

#define MS INT64_C(1000000)

enum { PARTS_ROOM = 64, FORGET_EVERY = 65536 };

/* A part of the present packet, and its row in the table. Rows of a packet need not be neighbours. */
struct walked {
    struct pl_segment segment;
    uint64_t row;
};

struct pl_walk {
    struct pl_transfer *t;
    struct pl_tables *tables;
    struct pl_cursor cursor;
    PL_VECTOR(struct walked) parts; /* of the present packet */
    struct pl_losses losses;
    uint64_t segment;         /* the number of the next one to be sent */
    uint64_t timeout_segment; /* the first one sent by the last time-out */
    bool reset;
    int64_t now_ns;     /* of the last packet */
    bool started;       /* data has been sent */
    uint64_t una, high; /* first byte outstanding, end of the last byte sent */
    int64_t last_send_ns, last_ack_ns;
    bool hint; /* a hint at a loss came since una last moved */
    bool window_known;
    uint32_t window;
    enum { NORMAL, FAST, AFTER_TIMEOUT } mode;
    uint64_t recover;             /* una at which the mode ends */
    struct pl_event fast;         /* the present fast recovery */
    struct pl_event limited;      /* the present span limited by the receiver's window; packets 0: none */
    int64_t limited_ns;           /* since when no segment fits into the window; -1: one fits */
    int64_t closed_ns;            /* since when the window is 0; -1: it is not 0 */
    int64_t closed_since_send_ns; /* time with window 0 since the last send */
    int64_t drained_ns;           /* since when nothing is outstanding; -1: something is */
};

static void add_event(struct pl_walk *s, enum pl_event_kind kind, struct pl_event event)
{
    event.flow = s->t->number;
    event.kind = (uint8_t)kind;
    pl_tables_put_event(s->tables, &event);
}

static void end_recovery(struct pl_walk *s)
{
    if (s->mode == FAST)
        add_event(s, PL_FAST_RETRANSMIT, s->fast);
    s->mode = NORMAL;
}

static void open_window(struct pl_walk *s, int64_t now_ns)
{
    int64_t since_ns = s->closed_ns;
    if (since_ns < 0)
        return;
    s->closed_ns = -1;
    s->closed_since_send_ns += now_ns - (since_ns > s->last_send_ns ? since_ns : s->last_send_ns);
    add_event(s, PL_ZERO_WINDOW, (struct pl_event){.t0_ns = since_ns, .t1_ns = now_ns, .seq = s->una});
}

static void note_window(struct pl_walk *s, const struct pl_row *packet)
{
    s->window = packet->window;
    s->window_known = true;
    if (packet->window > 0)
        open_window(s, packet->t_ns);
    else if (s->closed_ns < 0)
        s->closed_ns = packet->t_ns;
}

static void on_ack(struct pl_walk *s, const struct pl_row *packet)
{
    if (packet->flags & (NC_TCP_RST | NC_TCP_SYN))
        return;
    bool same_window = s->window_known && s->window == packet->window;
    note_window(s, packet);
    s->last_ack_ns = packet->t_ns;
    if (!s->started)
        return;
    if (packet->ack > s->una) {
        s->una = packet->ack;
        s->hint = packet->sack_n > 0;
        if (s->una >= s->high && s->drained_ns < 0)
            s->drained_ns = packet->t_ns;
        if (s->mode != NORMAL && s->una >= s->recover)
            end_recovery(s);
    } else if (packet->sack_n || (packet->ack == s->una && !packet->len && same_window && s->high > s->una))
        s->hint = true;
}

static bool is_timeout(const struct pl_walk *s, const struct pl_segment *first, int64_t now_ns)
{
    int64_t quiet_ns = 10 * MS;
    if (s->hint && s->t->min_rtt_ns / 2 > quiet_ns)
        quiet_ns = s->t->min_rtt_ns / 2 < 200 * MS ? s->t->min_rtt_ns / 2 : 200 * MS;
    return first->transmission > 1 && first->seq <= s->una && first->seq + first->len > s->una &&
           now_ns - s->last_ack_ns >= quiet_ns;
}

static void enter_timeout(struct pl_walk *s, int64_t now_ns)
{
    end_recovery(s);
    s->mode = AFTER_TIMEOUT;
    s->recover = s->high;
    s->timeout_segment = s->segment;
    s->t->timeouts++;
    pl_losses_forget(&s->losses, s->timeout_segment, s->una);
    add_event(s, PL_RTO,
              (struct pl_event){
                  .t0_ns = s->last_send_ns, .t1_ns = now_ns, .seq = s->una, .bytes = s->high - s->una, .packets = 1});
}

static void enter_fast(struct pl_walk *s, const struct pl_segment *first)
{
    s->mode = FAST;
    s->recover = s->high;
    s->fast = (struct pl_event){.t0_ns = first->t_sent_ns, .seq = first->seq};
    s->t->fast_recoveries++;
}

/* Sets the kinds of the parts of one packet. The table already tells new ones from those whose copies had arrived. */
static void set_kinds(struct pl_walk *s)
{
    for (size_t i = 0; i < s->parts.n; i++) {
        const struct pl_segment *segment = &s->parts.at[i].segment;
        if (segment->kind == PL_FAST && s->mode == AFTER_TIMEOUT)
            pl_tables_set_kind(s->tables, s->parts.at[i].row, PL_TIMEOUT);
        if (segment->transmission > 1 && s->mode == FAST) {
            s->fast.t1_ns = segment->t_sent_ns;
            s->fast.bytes += segment->len;
            s->fast.packets++;
        }
    }
}

/* This send ends a wait for the window. Waits less than a round-trip time apart are one span. */
static void end_window_wait(struct pl_walk *s, int64_t now_ns)
{
    int64_t since_ns = s->limited_ns, near_ns = s->t->min_rtt_ns > 10 * MS ? s->t->min_rtt_ns : 10 * MS;
    s->limited_ns = -1;
    if (s->limited.packets && (since_ns < 0 || since_ns - s->limited.t1_ns > near_ns)) {
        struct pl_event ended = s->limited;
        if (since_ns < 0 && now_ns - ended.t1_ns <= near_ns)
            return;
        s->limited.packets = 0;
        if (ended.t1_ns - ended.t0_ns >= (s->t->min_rtt_ns > MS ? s->t->min_rtt_ns : MS))
            add_event(s, PL_RECEIVER_WINDOW, ended);
    }
    if (since_ns < 0)
        return;
    if (!s->limited.packets)
        s->limited = (struct pl_event){.t0_ns = since_ns, .seq = s->una};
    s->limited.t1_ns = now_ns;
    s->limited.packets++;
    s->limited.bytes = s->window > s->limited.bytes ? s->window : s->limited.bytes;
}

/* `next`: the segment that ends the stop, or NULL. */
static int note_stop(struct pl_walk *s, int64_t now_ns, const struct pl_segment *next, bool timeout)
{
    struct pl_resume resume = {
        .t0_ns = s->last_send_ns,
        .t1_ns = now_ns,
        .una = s->una,
        .high = s->high,
        .losses = &s->losses,
        .since = s->timeout_segment,
        .ended = next,
        .timeout = timeout,
        .window_limited = s->limited_ns >= 0,
        .closed_ns = s->closed_since_send_ns,
        .drained_ns = s->drained_ns < 0 ? 0 : now_ns - s->drained_ns,
        .retransmission = next && next->transmission > 1,
    };
    if (s->closed_ns >= 0)
        resume.closed_ns += now_ns - (s->closed_ns > s->last_send_ns ? s->closed_ns : s->last_send_ns);
    if (resume.drained_ns * 2 > now_ns - s->last_send_ns)
        add_event(s, PL_IDLE, (struct pl_event){.t0_ns = s->drained_ns, .t1_ns = now_ns, .seq = s->una});
    return pl_add_stop(s->t, &resume);
}

static void after_send(struct pl_walk *s, int64_t now_ns)
{
    for (size_t i = 0; i < s->parts.n; i++) {
        const struct pl_segment *segment = &s->parts.at[i].segment;
        if (segment->seq + segment->len > s->high)
            s->high = segment->seq + segment->len;
    }
    s->segment += s->parts.n;
    s->last_send_ns = now_ns;
    s->closed_since_send_ns = 0;
    if (s->high > s->una) {
        s->drained_ns = -1;
        if (s->high - s->una > s->t->max_in_flight_bytes)
            s->t->max_in_flight_bytes = s->high - s->una;
    }
    uint64_t step = s->t->mss ? s->t->mss : 1;
    if (s->window_known && s->una + s->window < s->high + step)
        s->limited_ns = now_ns;
}

static void count(struct pl_transfer *t, const struct pl_segment *segment)
{
    if (segment->transmission == 1)
        t->bytes += segment->len;
    else {
        t->retransmitted++;
        t->retransmitted_bytes += segment->len;
        t->spurious += segment->kind == PL_SPURIOUS;
    }
    if (pl_lost(t, segment)) {
        t->lost++;
        t->lost_bytes += segment->len;
    } else if (segment->t_received_ns < 0)
        t->in_flight_at_end++;
    if (t->box_fates)
        t->box_fates[segment->box_fate]++;
}

static int take_parts(struct pl_walk *s)
{
    set_kinds(s);
    for (size_t i = 0; i < s->parts.n; i++) {
        count(s->t, &s->parts.at[i].segment);
        if (pl_losses_add(&s->losses, s->t, s->tables, &s->parts.at[i].segment, s->segment + i) < 0)
            return -1;
    }
    if (s->losses.parts.n >= PARTS_ROOM && s->losses.parts.n >= 2 * s->losses.kept)
        pl_losses_forget(&s->losses, s->timeout_segment, s->una);
    return 0;
}

/* Handles one data packet, whose parts are s->parts. */
static int on_send(struct pl_walk *s, const struct pl_row *packet)
{
    const struct pl_segment *first = &s->parts.at[0].segment;
    if (!s->started) {
        s->started = true;
        s->una = s->high = first->seq;
        s->last_send_ns = s->last_ack_ns = packet->t_ns;
    }
    bool timeout = is_timeout(s, first, packet->t_ns);
    if (packet->t_ns - s->last_send_ns > pl_stop_threshold_ns(s->t) && note_stop(s, packet->t_ns, first, timeout) < 0)
        return -1;
    end_window_wait(s, packet->t_ns);
    if (timeout)
        enter_timeout(s, packet->t_ns);
    if (!timeout && first->transmission > 1 && s->mode == NORMAL)
        enter_fast(s, first);
    if (take_parts(s) < 0)
        return -1;
    after_send(s, packet->t_ns);
    return 0;
}

/* Reads the rows of one packet from the table. */
static int fetch_parts(struct pl_walk *s, uint64_t frame)
{
    struct walked part;
    s->parts.n = 0;
    while (pl_tables_segment(s->tables, s->t, &s->cursor, &part.segment, &part.row) &&
           part.segment.sender_frame == frame) {
        if (PL_APPEND(&s->parts, part) < 0)
            return -1;
        s->cursor.row++;
        if (part.row % FORGET_EVERY == 0)
            pl_tables_forget(s->tables, part.row);
    }
    return 0;
}

static struct pl_walk *begin(struct pl_transfer *t, struct pl_tables *tables)
{
    struct pl_walk *walk = calloc(1, sizeof *walk);
    if (!walk)
        return NULL;
    walk->t = t;
    walk->tables = tables;
    walk->limited_ns = walk->closed_ns = walk->drained_ns = -1;
    return walk;
}

int pl_walk(struct pl_transfer *t, const struct pl_row *row, struct pl_tables *tables)
{
    if (!t->walk && !(t->walk = begin(t, tables)))
        return -1;
    struct pl_walk *s = t->walk;
    struct pl_row packet = *row;
    if (packet.t_ns < s->now_ns) /* packets of two processors may be out of order in the file: time stands still */
        packet.t_ns = s->now_ns;
    s->now_ns = packet.t_ns;
    s->reset = s->reset || packet.flags & NC_TCP_RST;
    if (pl_is_data(&packet, t->dir)) {
        if (fetch_parts(s, packet.frame) < 0)
            return -1;
        return s->parts.n ? on_send(s, &packet) : 0;
    }
    if (packet.dir != t->dir && packet.ack < UINT64_MAX / 4)
        on_ack(s, &packet);
    return 0;
}

/* Data still outstanding make the silence at the end a stop, unless a reset ended the connection. */
static int finish(struct pl_walk *s)
{
    int64_t now_ns = s->t->sender_last_ns;
    end_recovery(s);
    if (s->closed_ns >= 0)
        open_window(s, now_ns > s->closed_ns ? now_ns : s->closed_ns);
    if (s->limited.packets) {
        s->limited_ns = -1;
        end_window_wait(s, INT64_MAX / 2);
    }
    pl_losses_end(&s->losses, s->t, s->tables);
    if (!s->started || s->reset || s->una >= s->high || now_ns - s->last_send_ns <= pl_stop_threshold_ns(s->t))
        return 0;
    s->t->last_ns = now_ns;
    return note_stop(s, now_ns, NULL, false);
}

int pl_walk_end(struct pl_transfer *t, struct pl_tables *tables)
{
    if (!t->walk && !(t->walk = begin(t, tables)))
        return -1;
    int result = finish(t->walk);
    free(t->walk->losses.bursts.at);
    free(t->walk->losses.parts.at);
    free(t->walk->parts.at);
    free(t->walk);
    t->walk = NULL;
    return result;
}

int64_t pl_stop_threshold_ns(const struct pl_transfer *t)
{
    const int64_t least_ns = 100 * MS;
    return t->min_rtt_ns <= least_ns / 4 ? least_ns : t->min_rtt_ns < INT64_MAX / 4 ? 4 * t->min_rtt_ns : INT64_MAX;
}
