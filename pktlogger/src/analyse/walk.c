/* Follows the sender packet by packet as its capture shows it, and finds what is outstanding, the kind of each
 * transmission, and the stops. The rules, which are also in FORMAT.md:
 *
 * Time-out: data are sent again from the first outstanding byte on, and no acknowledgement triggered it: none came for
 * 10 ms. If duplicate acknowledgements or SACK blocks had hinted at a loss since the last progress, the time is instead
 * half the smallest round-trip time, within 10 … 200 ms (longer than RACK waits for reordering, RFC 8985). Until
 * everything sent before the time-out is acknowledged, all retransmissions are "after time-out". A tail-loss probe
 * counts as a time-out only where it cannot be told from one, which is when it repeats the first outstanding byte.
 * Fast: every other retransmission.
 * Spurious: a retransmission of either kind when an earlier copy of all its bytes arrived. */
#include "transfer.h"

#define MS INT64_C(1000000)

struct sender {
    struct pl_transfer *t;
    size_t segment;         /* the next one to be sent */
    size_t timeout_segment; /* the first one sent by the last time-out */
    bool started;           /* data has been sent */
    uint64_t una, high;     /* first byte outstanding, end of the last byte sent */
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

static int add_event(struct sender *s, enum pl_event_kind kind, struct pl_event event)
{
    event.flow = s->t->number;
    event.kind = (uint8_t)kind;
    return PL_APPEND(&s->t->events, event);
}

static int end_recovery(struct sender *s)
{
    bool fast = s->mode == FAST;
    s->mode = NORMAL;
    return fast ? add_event(s, PL_FAST_RETRANSMIT, s->fast) : 0;
}

static int open_window(struct sender *s, int64_t now_ns)
{
    int64_t since_ns = s->closed_ns;
    if (since_ns < 0)
        return 0;
    s->closed_ns = -1;
    s->closed_since_send_ns += now_ns - (since_ns > s->last_send_ns ? since_ns : s->last_send_ns);
    return add_event(s, PL_ZERO_WINDOW, (struct pl_event){.t0_ns = since_ns, .t1_ns = now_ns, .seq = s->una});
}

static int note_window(struct sender *s, const struct pl_packet *packet)
{
    s->window = packet->window;
    s->window_known = true;
    if (packet->window > 0)
        return open_window(s, packet->t_ns);
    if (s->closed_ns < 0)
        s->closed_ns = packet->t_ns;
    return 0;
}

static int on_ack(struct sender *s, const struct pl_packet *packet)
{
    if (packet->flags & (NC_TCP_RST | NC_TCP_SYN))
        return 0;
    bool same_window = s->window_known && s->window == packet->window;
    if (note_window(s, packet) < 0)
        return -1;
    s->last_ack_ns = packet->t_ns;
    if (!s->started)
        return 0;
    if (packet->ack > s->una) {
        s->una = packet->ack;
        s->hint = packet->sack_n > 0;
        if (s->una >= s->high && s->drained_ns < 0)
            s->drained_ns = packet->t_ns;
        if (s->mode != NORMAL && s->una >= s->recover)
            return end_recovery(s);
    } else if (packet->sack_n || (packet->ack == s->una && !packet->len && same_window && s->high > s->una))
        s->hint = true;
    return 0;
}

static bool is_timeout(const struct sender *s, const struct pl_segment *first, int64_t now_ns)
{
    int64_t quiet_ns = 10 * MS;
    if (s->hint && s->t->min_rtt_ns / 2 > quiet_ns)
        quiet_ns = s->t->min_rtt_ns / 2 < 200 * MS ? s->t->min_rtt_ns / 2 : 200 * MS;
    return first->transmission > 1 && first->seq <= s->una && first->seq + first->len > s->una &&
           now_ns - s->last_ack_ns >= quiet_ns;
}

static int enter_timeout(struct sender *s, int64_t now_ns)
{
    if (end_recovery(s) < 0)
        return -1;
    s->mode = AFTER_TIMEOUT;
    s->recover = s->high;
    s->timeout_segment = s->segment;
    s->t->timeouts++;
    return add_event(
        s, PL_RTO,
        (struct pl_event){
            .t0_ns = s->last_send_ns, .t1_ns = now_ns, .seq = s->una, .bytes = s->high - s->una, .packets = 1});
}

static void enter_fast(struct sender *s, const struct pl_segment *first)
{
    s->mode = FAST;
    s->recover = s->high;
    s->fast = (struct pl_event){.t0_ns = first->t_sent_ns, .seq = first->seq};
    s->t->fast_recoveries++;
}

/* Sets the kinds of the parts of one packet. */
static void set_kinds(struct sender *s, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        struct pl_segment *segment = &s->t->segments.at[i];
        if (segment->transmission == 1)
            segment->kind = PL_NEW;
        else if (segment->repeats)
            segment->kind = PL_SPURIOUS;
        else
            segment->kind = s->mode == AFTER_TIMEOUT ? PL_TIMEOUT : PL_FAST;
        if (segment->transmission > 1 && s->mode == FAST) {
            s->fast.t1_ns = segment->t_sent_ns;
            s->fast.bytes += segment->len;
            s->fast.packets++;
        }
    }
}

/* This send ends a wait for the window. Waits less than a round-trip time apart are one span. */
static int end_window_wait(struct sender *s, int64_t now_ns)
{
    int64_t since_ns = s->limited_ns, near_ns = s->t->min_rtt_ns > 10 * MS ? s->t->min_rtt_ns : 10 * MS;
    s->limited_ns = -1;
    if (s->limited.packets && (since_ns < 0 || since_ns - s->limited.t1_ns > near_ns)) {
        struct pl_event ended = s->limited;
        if (since_ns < 0 && now_ns - ended.t1_ns <= near_ns)
            return 0;
        s->limited.packets = 0;
        if (ended.t1_ns - ended.t0_ns >= (s->t->min_rtt_ns > MS ? s->t->min_rtt_ns : MS) &&
            add_event(s, PL_RECEIVER_WINDOW, ended) < 0)
            return -1;
    }
    if (since_ns < 0)
        return 0;
    if (!s->limited.packets)
        s->limited = (struct pl_event){.t0_ns = since_ns, .seq = s->una};
    s->limited.t1_ns = now_ns;
    s->limited.packets++;
    s->limited.bytes = s->window > s->limited.bytes ? s->window : s->limited.bytes;
    return 0;
}

static int note_stop(struct sender *s, int64_t now_ns, size_t segment, bool timeout)
{
    struct pl_resume resume = {
        .t0_ns = s->last_send_ns,
        .t1_ns = now_ns,
        .una = s->una,
        .high = s->high,
        .segment = segment,
        .since = s->timeout_segment,
        .timeout = timeout,
        .window_limited = s->limited_ns >= 0,
        .closed_ns = s->closed_since_send_ns,
        .drained_ns = s->drained_ns < 0 ? 0 : now_ns - s->drained_ns,
        .retransmission = segment < s->t->segments.n && s->t->segments.at[segment].transmission > 1,
    };
    if (s->closed_ns >= 0)
        resume.closed_ns += now_ns - (s->closed_ns > s->last_send_ns ? s->closed_ns : s->last_send_ns);
    if (resume.drained_ns * 2 > now_ns - s->last_send_ns &&
        add_event(s, PL_IDLE, (struct pl_event){.t0_ns = s->drained_ns, .t1_ns = now_ns, .seq = s->una}) < 0)
        return -1;
    return pl_add_stop(s->t, &resume);
}

static void after_send(struct sender *s, size_t end, int64_t now_ns)
{
    for (; s->segment < end; s->segment++) {
        const struct pl_segment *segment = &s->t->segments.at[s->segment];
        if (segment->seq + segment->len > s->high)
            s->high = segment->seq + segment->len;
    }
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

/* Handles one data packet, whose parts are segments [s->segment, end). */
static int on_send(struct sender *s, const struct pl_packet *packet, size_t end)
{
    const struct pl_segment *first = &s->t->segments.at[s->segment];
    if (!s->started) {
        s->started = true;
        s->una = s->high = first->seq;
        s->last_send_ns = s->last_ack_ns = packet->t_ns;
    }
    bool timeout = is_timeout(s, first, packet->t_ns);
    if (packet->t_ns - s->last_send_ns > pl_stop_threshold_ns(s->t) &&
        note_stop(s, packet->t_ns, s->segment, timeout) < 0)
        return -1;
    if (end_window_wait(s, packet->t_ns) < 0)
        return -1;
    if (timeout && enter_timeout(s, packet->t_ns) < 0)
        return -1;
    if (!timeout && first->transmission > 1 && s->mode == NORMAL)
        enter_fast(s, first);
    set_kinds(s, s->segment, end);
    after_send(s, end, packet->t_ns);
    return 0;
}

/* Ends what is under way when the capture ends. Data still outstanding then make the silence a stop, unless a reset
 * ended the connection. */
static int finish(struct sender *s, bool reset)
{
    int64_t now_ns = s->t->sender_last_ns;
    if (end_recovery(s) < 0)
        return -1;
    if (s->closed_ns >= 0 && open_window(s, now_ns > s->closed_ns ? now_ns : s->closed_ns) < 0)
        return -1;
    if (s->limited.packets) {
        s->limited_ns = -1;
        if (end_window_wait(s, INT64_MAX / 2) < 0)
            return -1;
    }
    if (!s->started || reset || s->una >= s->high || now_ns - s->last_send_ns <= pl_stop_threshold_ns(s->t))
        return 0;
    s->t->last_ns = now_ns;
    return note_stop(s, now_ns, s->t->segments.n, false);
}

int pl_walk_sender(struct pl_transfer *t)
{
    struct sender s = {.t = t, .limited_ns = -1, .closed_ns = -1, .drained_ns = -1};
    bool reset = false;
    int64_t now_ns = 0;
    for (size_t i = 0; i < t->sender_n; i++) {
        struct pl_packet packet = t->sender[i];
        if (packet.t_ns < now_ns) /* packets of two processors may be out of order in the file: time stands still */
            packet.t_ns = now_ns;
        now_ns = packet.t_ns;
        reset = reset || packet.flags & NC_TCP_RST;
        if (pl_is_data(&packet, t->dir)) {
            size_t end = s.segment;
            while (end < t->segments.n && t->segments.at[end].sender_frame == packet.frame)
                end++;
            if (on_send(&s, &packet, end) < 0)
                return -1;
        } else if (packet.dir != t->dir && packet.ack < UINT64_MAX / 4 && on_ack(&s, &packet) < 0)
            return -1;
    }
    return finish(&s, reset);
}
