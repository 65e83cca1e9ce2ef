/* Implements limits.h. The gap between two packets is judged when the second one is sent; until its round is over, it
 * is kept in `spans`. */
#include "limits.h"

#include "round.h"
#include "send_buffer.h"
#include "thresholds.h"

/* Provisional results of gap_cause for a gap that does not show its cause by itself. OF_ROUND: the round decides.
 * SILENCE and IDLE: the cause is pacing if the round was paced. Otherwise SILENCE, in which the program always had
 * data, means the send buffer, and IDLE, by the samples, means the application. */
enum { OF_ROUND = -1, SILENCE = -2, IDLE = -3 };

struct pl_limits {
    struct pl_limits_path path;
    struct pl_spans spans;
    struct pl_rounds rounds;
    struct pl_round round;
    struct pl_round rounds_before[PL_STEADY_ROUNDS]; /* index: round number modulo PL_STEADY_ROUNDS */
    uint32_t number;                                 /* of the round */
    uint64_t first;                                  /* where it began to send */
    int64_t open_ns;                                 /* end of the last gap whose cause depends on its round */
    bool clocked;             /* an acknowledgement triggered the packet at the beginning of the row */
    bool opens;               /* the program first waits for answers, and path.opening_bytes is exactly what it sends in
                            * that phase */
    const struct pl_gap *gap; /* the gap that is judged */
    bool full;                /* the window had no room at the beginning of its part that is judged, */
    bool held;                /* or the receiver's window was full for the first part of it */
    uint64_t shrinks;         /* end of the data sent when marks last reduced the window */
    enum pl_sender_mode mode;
    struct pl_limit row; /* under way; its cause is open */
    struct pl_send_buffer buffer;
    struct pl_samples_of round_samples; /* the samples that the present round has not used */
    size_t down_at, late_at, busy_at;   /* index of the first span of each that is not over */
    enum pl_limit_cause last_cause;
};

static struct pl_round fresh_round(uint64_t end, int64_t now_ns)
{
    return (struct pl_round){.end = end, .t0_ns = now_ns, .since_ns = now_ns, .queue_ns = -1, .line_ns = -1};
}

static int64_t at_least(int64_t ns, int64_t least_ns)
{
    return ns > least_ns ? ns : least_ns;
}

/* path->min_rtt_ns may come from a short segment, which takes no time at the bottleneck. */
static int64_t standing_ns(const struct pl_limits_path *path)
{
    return at_least(at_least(path->min_rtt_ns / PL_STANDING_OF_RTT, PL_STANDING_NS),
                    path->segment_ns * PL_STANDING_HALVES / 2);
}

struct pl_limits *pl_limits_new(const struct pl_limits_path *path)
{
    struct pl_limits *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->path = *path;
    uint64_t opening = pl_samples_opening(&path->samples);
    l->opens = opening || path->opening_bytes > PL_OPENING_BYTES;
    if (opening) /* the data sent before its opening are less than a segment */
        l->path.opening_bytes = opening + path->mss;
    else if (l->path.opening_bytes < PL_OPENING_BYTES)
        l->path.opening_bytes = PL_OPENING_BYTES;
    l->round_samples = path->samples;
    l->spans = pl_spans_new(path->sink, path->context);
    l->spans.busy = path->line_alone ? path->busy : NULL;
    l->rounds = (struct pl_rounds){
        .mss = path->mss ? path->mss : PL_USUAL_MSS,
        .standing_ns = standing_ns(path),
        .opening = true,
        .middle = path->middle,
        .hidden = path->shown_from_ns > 0 && !path->line_known,
        .reduced = path->middle,
        .passes_on = path->passes_on,
        .filled = path->line_known,
    };
    l->last_cause = path->middle ? PL_LIMIT_CONGESTION_AVOIDANCE : PL_LIMIT_SLOW_START;
    return l;
}

/* The first of the consecutive steady rounds that end with this one. */
static uint32_t first_steady(const struct pl_limits *l)
{
    return l->number + 1 > PL_STEADY_ROUNDS ? l->number + 1 - PL_STEADY_ROUNDS : 0;
}

/* Whether the program has written its last octet by then. */
static bool finished(const struct pl_limits *l, int64_t t_ns)
{
    return l->path.samples.written_ns && t_ns >= l->path.samples.written_ns;
}

/* True when the program had data to send throughout a span: it always has data after its opening, and `sent` octets
 * were sent before the span. */
static bool never_idle(const struct pl_limits *l, int64_t t0_ns, uint64_t sent)
{
    return l->path.always_data && !finished(l, t0_ns) && sent - l->first > l->path.opening_bytes;
}

/* Whether the program may have had nothing to write from t0_ns on, when `sent` octets had been sent. */
static bool may_be_idle(const struct pl_limits *l, int64_t t0_ns, uint64_t sent)
{
    return !(l->opens ? never_idle(l, t0_ns, sent) : l->path.always_data) && !finished(l, t0_ns);
}

/* Whether the program had written all its data, by most samples. */
static bool gave_no_more(const struct pl_limits *l, const struct pl_evidence *known, int64_t t0_ns, uint64_t sent)
{
    return (pl_idle(known) && may_be_idle(l, t0_ns, sent)) || (pl_late(known) && !finished(l, t0_ns));
}

/* Whether the line was idle for a good part of this round. If so, the line was not the limit, whatever the queue. */
static bool line_was_idle(struct pl_limits *l, int64_t now_ns)
{
    int64_t t0_ns = l->round.t0_ns;
    return l->path.busy && (double)pl_time_spans_cover(l->path.busy, &l->busy_at, t0_ns, now_ns) <
                               PL_BUSY_LINE * (double)(now_ns - t0_ns);
}

/* Collects the evidence of program, kernel and box about the round that ends (or is cut) now. Samples count only up to
 * the last gap whose cause is open: if the program waits later, this says nothing about earlier gaps. */
static void know_round(struct pl_limits *l, int64_t now_ns)
{
    struct pl_round *round = &l->round;
    int64_t until_ns = l->open_ns > round->since_ns ? l->open_ns : now_ns;
    struct pl_evidence known = pl_evidence_over(&l->round_samples, round->since_ns, until_ns, l->rounds.mss);
    bool empty = round->empty_ns * 2 > now_ns - round->t0_ns;
    bool gave_none = pl_idle(&known) || (empty && !(known.within && pl_unsent(&known)));
    round->t1_ns = now_ns;
    round->unheld = (known.seen.unsent + known.seen.room) * 2 > known.seen.n || finished(l, round->t0_ns) || empty;
    round->unsent = pl_unsent(&known);
    round->filled = pl_filled(&known);
    round->rate_holds = pl_rate_holds(&known);
    round->program_holds = pl_program_holds(&known);
    round->spent = known.seen.spent * 2 > known.seen.n;
    round->idle = (gave_none && may_be_idle(l, round->t0_ns, l->gap->high)) ||
                  gave_no_more(l, &known, round->t0_ns, l->gap->high);
    round->may_starve = may_be_idle(l, round->t0_ns, l->gap->high) && !pl_unsent(&known) && !pl_waits(&known);
    round->pace_bytes_per_s = known.seen.pace_bytes_per_s;
    round->kernel_pace_bytes_per_s = known.seen.kernel_pace_bytes_per_s;
    /* True when the program does not pace its data either. */
    bool not_by_itself = (pl_idle(&known) || pl_late(&known)) && !pl_given(&known);
    round->unpaced = known.seen.unpaced && (l->path.always_data || pl_unsent(&known) || not_by_itself);
    round->slow = known.slow;
    round->shut = known.window == PL_YES || (round->shut && known.window != PL_NO);
    bool at_line = l->path.line_alone || round->line_ns >= l->rounds.standing_ns;
    round->line_idle = at_line && line_was_idle(l, now_ns);
}

static void end_round(struct pl_limits *l, const struct pl_sent *sent)
{
    struct pl_judged judged = {.cause = l->last_cause};
    know_round(l, sent->t_ns);
    if (l->mode == PL_MODE_NORMAL && l->round.flight)
        judged = pl_round_judge(&l->rounds, &l->round);
    l->last_cause = judged.cause;
    pl_spans_close(&l->spans, judged.cause, pl_round_window(&l->rounds, l->round.slow), judged.left);
    l->rounds_before[l->number % PL_STEADY_ROUNDS] = l->round;
    for (uint32_t number = first_steady(l); judged.relabel && number <= l->number; number++)
        if (pl_round_may_be(&l->rounds_before[number % PL_STEADY_ROUNDS], judged.cause))
            pl_spans_rename(&l->spans, number, judged.cause);
    l->number++;
    l->round = fresh_round(sent->high, sent->t_ns);
    pl_spans_let_go(&l->spans, first_steady(l));
}

/* An incomplete round gets the cause of the previous one. If a queue shows the path's rate, this counts more, except
 * after a round in slow start, which builds a queue before it fills the line. */
static void cut_round(struct pl_limits *l, int64_t now_ns)
{
    know_round(l, now_ns);
    pl_spans_close(&l->spans, pl_round_carry(&l->rounds, &l->round, l->last_cause),
                   pl_round_window(&l->rounds, l->round.slow), false);
    l->round = fresh_round(l->round.end, now_ns);
}

static void sum_up(struct pl_limits *l)
{
    struct pl_round *round = &l->round;
    double ns = (double)(l->row.t1_ns - l->row.t0_ns), bytes = (double)l->row.bytes;
    if (bytes <= 0)
        return;
    round->packets += l->row.packets;
    round->gaps++;
    round->time_ns += ns;
    round->bytes += bytes;
    round->unevenness += ns * ns / bytes;
    round->clocked += l->clocked ? bytes : 0;
}

/* Ends the gap at t_ns. `cause` may be OF_ROUND, SILENCE or IDLE. */
static int end_gap(struct pl_limits *l, int64_t t_ns, int cause)
{
    l->row.t1_ns = t_ns;
    l->row.cause = (uint8_t)(cause < 0 ? 0 : cause);
    if (cause < 0) {
        sum_up(l);
        l->open_ns = t_ns;
    }
    l->round.paused = l->round.paused || cause == PL_LIMIT_APPLICATION || cause == PL_LIMIT_PATH_DOWN;
    const struct pl_span span = {.row = l->row,
                                 .round = l->number,
                                 .open = cause < 0,
                                 .unpaced = cause == SILENCE ? PL_LIMIT_SEND_BUFFER
                                            : cause == IDLE  ? PL_LIMIT_APPLICATION
                                                             : PL_LIMIT_N,
                                 .woken = cause == PL_LIMIT_APPLICATION && l->buffer.woken};
    l->row = (struct pl_limit){.flow = l->path.flow, .t0_ns = t_ns, .queue_ns = -1};
    l->row.window_bytes = span.row.window_bytes;
    l->row.flight_bytes = span.row.flight_bytes;
    return pl_spans_add(&l->spans, &span);
}

/* Ends the gap at a moment within it, and begins another gap there. The window of that gap counts as full only if it
 * had no room by then. */
static int divide_gap(struct pl_limits *l, int64_t t_ns, int cause)
{
    l->full = l->full && (l->gap->room_ns < 0 || l->gap->room_ns > t_ns);
    return end_gap(l, t_ns, cause);
}

/* Whether an acknowledgement triggered a packet: it arrived just before, by less than 1/`part` of the usual time
 * between acknowledgements. */
static bool at_once(const struct pl_limits *l, int64_t now_ns, int64_t part)
{
    return l->gap->acked_ns >= 0 && now_ns - l->gap->acked_ns <= at_least(l->gap->between_acks_ns / part, PL_SOON_NS);
}

/* True when the silence, in a window with room, is long enough to show that the application had nothing to send. A
 * shorter one may be a wait for the send buffer: the kernel wakes a writer when an acknowledgement has freed a third of
 * it. */
static bool had_nothing(const struct pl_limits *l, int64_t now_ns)
{
    int64_t silent_ns = now_ns - l->gap->room_ns;
    bool woken = at_once(l, now_ns, PL_SOON_OF_GAP);
    return silent_ns >=
           at_least(l->path.min_rtt_ns / (woken ? PL_SILENCE_WOKEN_OF_RTT : PL_SILENCE_OF_RTT), PL_SILENCE_NS);
}

/* True for a shorter silence that an acknowledgement ended and that a full send buffer may explain. Slow start causes
 * no such silence, because each acknowledgement releases more than it frees. A reduced congestion window does cause
 * some, because Linux waits for room for a super-packet. So these are left out. */
static bool was_short_of_room(const struct pl_limits *l, int64_t now_ns)
{
    return now_ns - l->gap->room_ns >= at_least(l->path.min_rtt_ns / PL_SILENCE_OF_RTT, PL_SILENCE_NS) &&
           at_once(l, now_ns, PL_SOON_OF_GAP) && !l->full && !l->path.samples.n && !l->rounds.reduced;
}

/* True when acknowledgements were overdue. Then neither the application nor the path's rate was the limit. */
static bool unanswered(const struct pl_limits *l, const struct pl_sent *sent)
{
    return pl_gap_outstanding(l->gap, sent) && sent->t_ns - l->gap->waits_ns > l->path.min_rtt_ns + PL_DELAYED_ACK_NS;
}

/* Whether the receiver's window held the sender up: the kernel says so, or the packets show no room and the kernel does
 * not contradict. */
static bool window_held(const struct pl_limits *l, const struct pl_evidence *known)
{
    return known->window == PL_YES || (l->full && known->window != PL_NO);
}

/* Whether the program's own rate limit explains the gap, alone or together with its round so far. */
static bool gap_at_pace(const struct pl_limits *l, const struct pl_evidence *known, int64_t now_ns)
{
    double ns = (double)(now_ns - l->row.t0_ns), bytes = (double)l->row.bytes;
    if (pl_filled(known))
        return false;
    return pl_at_pace(bytes, ns, known->seen.pace_bytes_per_s) ||
           pl_at_pace(bytes + l->round.bytes, ns + l->round.time_ns, known->seen.pace_bytes_per_s);
}

/* Which window kept the sender waiting. */
static enum pl_limit_cause window_cause(const struct pl_limits *l, bool full, enum pl_answer slow)
{
    if (full)
        return PL_LIMIT_RECEIVER_WINDOW;
    if (slow == PL_UNKNOWN && l->last_cause == PL_LIMIT_SLOW_START)
        return PL_LIMIT_SLOW_START;
    return pl_round_window(&l->rounds, slow);
}

static bool buffer_was_full(struct pl_limits *l, const struct pl_sent *sent)
{
    uint64_t outstanding = sent->una + sent->len, left = sent->high > outstanding ? sent->high - outstanding : 0;
    if (!pl_send_buffer_silence(&l->buffer, left, at_once(l, sent->t_ns, PL_SOON_OF_GAP), sent->len, l->rounds.mss))
        return false;
    pl_spans_were_woken(&l->spans);
    return true;
}

/* Whether the flight had to shrink for ECN marks before this packet was sent. Either the window has just been reduced;
 * or data sent before the reduction were still outstanding when the gap began, and an acknowledgement released the
 * packet. */
static bool shrank(const struct pl_limits *l, const struct pl_sent *sent, const struct pl_evidence *known)
{
    bool shrinks = l->gap->una < l->shrinks && at_once(l, sent->t_ns, PL_SOON_OF_GAP) && !pl_idle(known);
    return (sent->reduced || shrinks) && pl_gap_outstanding(l->gap, sent);
}

/* The cause of a silence although the window had room. Unsent data in the queue show whether the application had
 * written enough. Where there were none, the size of the queue, or the pattern of its silences, shows the send
 * buffer. */
static int silence_cause(struct pl_limits *l, const struct pl_sent *sent)
{
    int64_t since_ns = l->gap->room_ns > l->row.t0_ns ? l->gap->room_ns : l->row.t0_ns;
    struct pl_evidence known;
    if (l->full && since_ns > l->row.t0_ns) {
        known = pl_evidence_over(&l->path.samples, l->row.t0_ns, since_ns, l->rounds.mss);
        l->held = window_held(l, &known);
    }
    known = pl_evidence_over(&l->path.samples, since_ns, sent->t_ns, l->rounds.mss);
    bool always = never_idle(l, since_ns, sent->high - sent->len) || pl_waits(&known);
    bool sized = known.seen.n && known.seen.sized;
    bool given = pl_unsent(&known) || finished(l, since_ns) || (always && sized && !known.seen.full);
    if (shrank(l, sent, &known))
        return PL_LIMIT_ECN;
    if (pl_keeps_pace(&known))
        return PL_LIMIT_PACING;
    if (known.window != PL_YES && gap_at_pace(l, &known, sent->t_ns))
        return PL_LIMIT_PACING;
    if (known.buffer != PL_YES && given) /* behind a full window Linux waits for room for a super-packet */
        return window_held(l, &known) ? PL_LIMIT_RECEIVER_WINDOW : OF_ROUND;
    if (always && !sized && l->row.queue_ns >= sent->t_ns - since_ns)
        return OF_ROUND; /* all this time the line was busy with data sent before */
    if (known.buffer == PL_YES || (sized ? known.seen.full : !l->path.passes_on && buffer_was_full(l, sent)))
        return PL_LIMIT_SEND_BUFFER;
    return always ? SILENCE : PL_LIMIT_APPLICATION;
}

/* True when the peer's data came and everything sent is acknowledged: the next packet is a new message. */
static bool answered(const struct pl_limits *l, const struct pl_sent *sent)
{
    return l->gap->answered && !pl_gap_outstanding(l->gap, sent);
}

/* True when the program waited for its peer, as with request and response. */
static bool awaited_answer(const struct pl_limits *l, const struct pl_sent *sent, const struct pl_evidence *known)
{
    return answered(l, sent) && !never_idle(l, l->row.t0_ns, sent->high - sent->len) &&
           !(known->within && (pl_unsent(known) || pl_waits(known)));
}

/* Whether less than a segment is outstanding in a window with room, and no sample shows that the program had more to
 * write. Then the congestion window is not full. */
static bool little_outstanding(const struct pl_limits *l, const struct pl_evidence *known)
{
    return l->row.flight_bytes < l->rounds.mss && !known->within && !finished(l, l->row.t0_ns) &&
           !never_idle(l, l->row.t0_ns, l->gap->high);
}

/* The cause of a gap that is too short for a silence. If most samples in it say that the program had written all its
 * data, the gap is IDLE even while data are outstanding. */
static int unsilent_cause(const struct pl_limits *l, const struct pl_evidence *known, int64_t now_ns)
{
    if (known->buffer == PL_YES)
        return PL_LIMIT_SEND_BUFFER;
    if (pl_keeps_pace(known))
        return PL_LIMIT_PACING;
    bool idle = known->within && pl_idle(known) && may_be_idle(l, l->row.t0_ns, l->gap->high);
    bool lasts = now_ns - l->row.t0_ns >= at_least(l->path.min_rtt_ns / PL_SILENCE_OF_RTT, PL_SILENCE_NS);
    return idle || (lasts && l->gap->roomy && little_outstanding(l, known)) ? IDLE : OF_ROUND;
}

/* The cause of a gap in which acknowledgements were overdue. */
static enum pl_limit_cause unanswered_cause(const struct pl_limits *l, const struct pl_evidence *known, bool full,
                                            int64_t now_ns)
{
    if (gap_at_pace(l, known, now_ns) || pl_keeps_pace(known))
        return PL_LIMIT_PACING;
    if (!full &&
        (little_outstanding(l, known) || (known->within && gave_no_more(l, known, l->row.t0_ns, l->gap->high))))
        return PL_LIMIT_APPLICATION;
    return window_cause(l, full, known->slow);
}

/* Whether the spans cover more than half of the gap that ends now. */
static bool covered(const struct pl_limits *l, const struct pl_time_spans *spans, size_t *at, int64_t now_ns)
{
    return spans && pl_time_spans_cover(spans, at, l->row.t0_ns, now_ns) * 2 > now_ns - l->row.t0_ns;
}

/* True when everything that the program ever wrote had been sent: only a retransmission could follow. */
static bool all_was_sent(const struct pl_limits *l)
{
    return l->path.data_end && l->gap->high >= l->path.data_end;
}

/* True when the sender waited for a retransmission and not for the program: everything that the program had written had
 * been sent. */
static bool awaited_repair(const struct pl_limits *l, const struct pl_sent *sent, const struct pl_evidence *known)
{
    return (all_was_sent(l) || pl_given(known)) && (sent->repair || sent->mode == PL_MODE_FAST);
}

/* The cause of the gap that a packet ends, or OF_ROUND, SILENCE or IDLE. */
static int gap_cause(struct pl_limits *l, const struct pl_sent *sent)
{
    if (covered(l, l->path.down, &l->down_at, sent->t_ns))
        return PL_LIMIT_PATH_DOWN;
    if (sent->timeout || l->mode == PL_MODE_TIMEOUT)
        return PL_LIMIT_TIMEOUT;
    if (l->mode == PL_MODE_FAST || l->gap->probed)
        return PL_LIMIT_FAST_RECOVERY;
    if (l->gap->missed)
        return PL_LIMIT_CAPTURE_LOSS;
    if (pl_gap_closed(l->gap, l->row.t0_ns, sent->t_ns))
        return PL_LIMIT_ZERO_WINDOW;
    bool late = covered(l, l->path.late, &l->late_at, sent->t_ns);
    struct pl_evidence known = pl_evidence_over(&l->path.samples, l->row.t0_ns, sent->t_ns, l->rounds.mss);
    if (!late && awaited_repair(l, sent, &known))
        return PL_LIMIT_FAST_RECOVERY;
    bool full = window_held(l, &known) && (known.window == PL_YES || !gap_at_pace(l, &known, sent->t_ns));
    if (!late && all_was_sent(l))
        return window_cause(l, false, known.slow);
    if (!late && sent->repair)
        return full ? PL_LIMIT_RECEIVER_WINDOW : PL_LIMIT_FAST_RECOVERY;
    if (!late && unanswered(l, sent) && !pl_given(&known))
        return unanswered_cause(l, &known, full, sent->t_ns);
    if (!late && awaited_answer(l, sent, &known))
        return PL_LIMIT_APPLICATION;
    bool judged =
        sent->window_known || !pl_gap_outstanding(l->gap, sent); /* otherwise it may have waited for the window */
    if (judged && l->gap->room_ns >= 0 && had_nothing(l, sent->t_ns))
        return silence_cause(l, sent);
    if (judged && l->gap->room_ns >= 0 && !late && was_short_of_room(l, sent->t_ns) && buffer_was_full(l, sent))
        return PL_LIMIT_SEND_BUFFER;
    if (late)
        return PL_LIMIT_EMULATOR_LATE;
    return full ? PL_LIMIT_RECEIVER_WINDOW : unsilent_cause(l, &known, sent->t_ns);
}

/* The outage under way at the beginning of the gap, or the next one; NULL: none follows. */
static const struct pl_time_span *next_outage(const struct pl_limits *l)
{
    size_t at = l->down_at, n = l->path.down ? l->path.down->list.n : 0;
    while (at < n && l->path.down->list.at[at].t1_ns <= l->row.t0_ns)
        at++;
    return at < n ? &l->path.down->list.at[at] : NULL;
}

/* Ends an outage that was under way when the gap began. If the path came up before until_ns, the gap is split in two:
 * the outage, and the rest, in which the sender waits (for its time-out, for example). */
static int end_of_outage(struct pl_limits *l, int64_t until_ns)
{
    const struct pl_time_span *down = next_outage(l);
    bool within = down && down->t0_ns <= l->row.t0_ns && down->t1_ns < until_ns;
    return within ? divide_gap(l, down->t1_ns, PL_LIMIT_PATH_DOWN) : 0;
}

/* Splits the gap where the path went down before the packet that ends the gap. */
static int begin_of_outage(struct pl_limits *l, const struct pl_sent *sent)
{
    const struct pl_time_span *down = next_outage(l);
    if (!down || down->t0_ns <= l->row.t0_ns || down->t0_ns >= sent->t_ns)
        return 0;
    struct pl_sent before = *sent;
    before.t_ns = down->t0_ns;
    before.timeout = before.probe = before.repair = false;
    return divide_gap(l, down->t0_ns, gap_cause(l, &before));
}

static enum pl_limit_cause recovered_cause(const struct pl_gap *gap)
{
    return gap->recovered == PL_MODE_TIMEOUT ? PL_LIMIT_TIMEOUT : PL_LIMIT_FAST_RECOVERY;
}

/* Splits the gap where a recovery ended. The first half counts as an outage if the path was down, because
 * acknowledgements may have been lost. */
static int end_of_recovery(struct pl_limits *l)
{
    if (l->gap->recovered_ns <= l->row.t0_ns)
        return 0;
    if (end_of_outage(l, l->gap->recovered_ns) < 0)
        return -1;
    bool down = covered(l, l->path.down, &l->down_at, l->gap->recovered_ns);
    return divide_gap(l, l->gap->recovered_ns, down ? PL_LIMIT_PATH_DOWN : (int)recovered_cause(l->gap));
}

/* Splits a gap that a time-out or a probe ends. The wait for the retransmission begins at the last acknowledgement.
 * This holds only if the program had written nothing more until then. */
static int begin_of_wait(struct pl_limits *l, const struct pl_sent *sent)
{
    bool waits = (sent->timeout || sent->repair) && l->mode == PL_MODE_NORMAL && !l->gap->probed && !l->gap->missed;
    if (!waits || l->gap->waits_ns <= l->row.t0_ns || covered(l, l->path.down, &l->down_at, l->gap->waits_ns))
        return 0;
    struct pl_evidence known = pl_evidence_over(&l->path.samples, l->row.t0_ns, l->gap->waits_ns, l->rounds.mss);
    if (window_held(l, &known) || !gave_no_more(l, &known, l->row.t0_ns, l->gap->high))
        return 0;
    return divide_gap(l, l->gap->waits_ns, IDLE);
}

/* Splits a gap that a fast retransmission ends, if the receiver's window was full first. From the moment when the
 * window had room, the sender waited for the retransmission: pacing or the congestion window delayed it. */
static int end_of_window(struct pl_limits *l, const struct pl_sent *sent)
{
    bool repairs = sent->mode == PL_MODE_FAST && l->mode == PL_MODE_NORMAL && !l->gap->probed && !l->gap->missed;
    if (!repairs || !l->full || l->gap->room_ns <= l->row.t0_ns ||
        covered(l, l->path.down, &l->down_at, l->gap->room_ns))
        return 0;
    struct pl_evidence known = pl_evidence_over(&l->path.samples, l->row.t0_ns, l->gap->room_ns, l->rounds.mss);
    if (!window_held(l, &known))
        return 0;
    if (divide_gap(l, l->gap->room_ns, PL_LIMIT_RECEIVER_WINDOW) < 0)
        return -1;
    return end_gap(l, sent->t_ns, PL_LIMIT_FAST_RECOVERY);
}

/* Ends the gap before a packet. If the sender waited first for the window and then for the application, the gap is
 * split in two. */
static int judge_gap(struct pl_limits *l, const struct pl_sent *sent)
{
    int64_t from_ns;
    if (end_of_recovery(l) < 0)
        return -1;
    do { /* several outages may be within the gap */
        from_ns = l->row.t0_ns;
        if (begin_of_outage(l, sent) < 0 || end_of_outage(l, sent->t_ns) < 0)
            return -1;
    } while (l->row.t0_ns > from_ns);
    if (begin_of_wait(l, sent) < 0 || end_of_window(l, sent) < 0)
        return -1;
    if (l->row.t0_ns >= sent->t_ns) /* nothing is left of it */
        return 0;
    l->buffer.woken = l->held = false; /* silence_cause sets these for this gap */
    int cause = gap_cause(l, sent);
    bool idle = cause == PL_LIMIT_APPLICATION;
    if ((idle || cause == SILENCE) && l->held && !answered(l, sent) &&
        end_gap(l, l->gap->room_ns, PL_LIMIT_RECEIVER_WINDOW) < 0)
        return -1;
    if (idle && l->gap->room_ns >= 0 && sent->t_ns - l->gap->room_ns >= PL_IDLE_RESTART_NS + l->path.min_rtt_ns) {
        l->rounds.opening = true;
        l->rounds.last_flight = l->rounds.steady_n = 0;
    }
    return end_gap(l, sent->t_ns, cause);
}

/* Handles a reduction that ECN marks caused. In slow start it ends slow start and the round. */
static void reduce(struct pl_limits *l, const struct pl_sent *sent)
{
    if (l->rounds.opening)
        cut_round(l, sent->t_ns);
    l->rounds.opening = false;
    l->rounds.reduced = l->rounds.marked = true;
    l->shrinks = sent->high;
    if (l->last_cause == PL_LIMIT_SLOW_START)
        l->last_cause = pl_round_window(&l->rounds, PL_UNKNOWN);
}

static void enter_mode(struct pl_limits *l, const struct pl_sent *sent)
{
    if (sent->mode != PL_MODE_NORMAL && l->mode == PL_MODE_NORMAL)
        cut_round(l, sent->t_ns);
    if (sent->mode == PL_MODE_FAST && l->mode == PL_MODE_NORMAL)
        l->rounds.opening = false;
    if (sent->timeout)
        l->rounds.opening = true;
    if (sent->mode != PL_MODE_NORMAL) {
        l->rounds.reduced = true;
        l->rounds.marked = false;
    } else if (sent->reduced)
        reduce(l, sent);
    l->mode = sent->mode;
}

/* Begins the row after a packet, or continues it when packets are sent at the same time. */
static void begin_row(struct pl_limits *l, const struct pl_sent *sent)
{
    uint64_t flight = sent->high > sent->una ? sent->high - sent->una : 0;
    enter_mode(l, sent);
    l->row.packets++;
    l->row.bytes += sent->len;
    l->row.window_bytes = sent->window;
    l->row.flight_bytes = flight;
    l->row.queue_ns = pl_least_queue(l->row.queue_ns, sent->queue_ns);
    l->clocked = at_once(l, sent->t_ns, PL_CLOCKED_OF_GAP);
    l->round.blind |= !sent->window_known;
    l->round.shut |= sent->window_known && sent->una + sent->window < sent->high + sent->len;
    l->round.flight = flight > l->round.flight ? flight : l->round.flight;
    l->round.queue_ns = pl_least_queue(l->round.queue_ns, sent->queue_ns);
    l->round.line_ns = pl_least_queue(l->round.line_ns, sent->line_ns);
    l->round.work_ns += (double)l->path.segment_ns * sent->len / l->rounds.mss;
}

/* Takes the path's present times, because the path may have become longer or shorter, or its line faster or slower. */
static void take_path(struct pl_limits *l, const struct pl_sent *sent)
{
    if (sent->rtt_ns > 0)
        l->path.min_rtt_ns = sent->rtt_ns;
    if (sent->segment_ns > 0)
        l->path.segment_ns = sent->segment_ns;
    if (sent->rtt_ns > 0 || sent->segment_ns > 0)
        l->rounds.standing_ns = standing_ns(&l->path);
}

/* Notes that nothing was outstanding before a packet, so the queue of this sender's packets was empty. */
static void note_empty(struct pl_limits *l, const struct pl_sent *sent)
{
    if (pl_gap_outstanding(l->gap, sent) || l->gap->empty_ns < l->row.t0_ns)
        return;
    l->round.empty_ns += sent->t_ns - l->gap->empty_ns;
    l->rounds.hidden = l->rounds.hidden && sent->t_ns < l->path.shown_from_ns;
}

/* Ends the recovery that ended in the gap. */
static void note_recovered(struct pl_limits *l)
{
    if (l->gap->recovered_ns < 0)
        return;
    l->round.since_ns = l->gap->recovered_ns;
    if (l->mode == PL_MODE_NORMAL) /* a probe repaired a loss */
        return;
    l->mode = PL_MODE_NORMAL;
    l->rounds.last_flight = l->gap->recovered_flight;
    l->rounds.steady_n = 0;
    l->last_cause = l->rounds.opening ? PL_LIMIT_SLOW_START : PL_LIMIT_CONGESTION_AVOIDANCE;
}

int pl_limits_send(struct pl_limits *l, const struct pl_gap *gap, const struct pl_sent *sent)
{
    l->gap = gap;
    l->full = gap->full;
    take_path(l, sent);
    if (!gap->started) {
        l->first = sent->una;
        l->row = (struct pl_limit){.flow = l->path.flow, .t0_ns = sent->t_ns, .queue_ns = -1};
        l->round = fresh_round(sent->high, sent->t_ns);
    } else {
        note_recovered(l);
        note_empty(l, sent);
        if (sent->t_ns > l->row.t0_ns && judge_gap(l, sent) < 0)
            return -1;
    }
    if (sent->una >= l->round.end)
        end_round(l, sent);
    begin_row(l, sent);
    return 0;
}

void pl_limits_end(struct pl_limits *l, const struct pl_gap *gap)
{
    l->gap = gap;
    note_recovered(l);
    if (l->mode == PL_MODE_NORMAL)
        cut_round(l, l->row.t0_ns);
    else
        pl_spans_close(&l->spans, l->last_cause, pl_round_window(&l->rounds, l->round.slow), false);
    pl_spans_end(&l->spans);
}

void pl_limits_free(struct pl_limits *l)
{
    if (l)
        pl_spans_free(&l->spans);
    free(l);
}
