/* The events of the receiver's window (walk_state.h): closed, and full. */
#include "thresholds.h"
#include "walk_state.h"

void pl_walk_event(struct pl_walk *s, enum pl_event_kind kind, struct pl_event event)
{
    event.flow = s->t->number;
    event.kind = (uint8_t)kind;
    pl_tables_put_event(s->tables, &event);
}

static void note_window_opens(struct pl_walk *s, int64_t now_ns, uint32_t window)
{
    int64_t since_ns = pl_gap_window(&s->gap, now_ns, window);
    if (since_ns >= 0)
        pl_walk_event(s, PL_ZERO_WINDOW, (struct pl_event){.t0_ns = since_ns, .t1_ns = now_ns, .seq = s->una});
}

void pl_walk_note_window(struct pl_walk *s, const struct pl_row *packet)
{
    s->window = packet->window;
    s->window_known = true;
    if (!(packet->flags & NC_TCP_SYN))
        pl_offers_note(&s->offers, s->t, packet->ack, packet->window);
    note_window_opens(s, packet->t_ns, packet->window);
}

/* Ends the present wait if the next one, which begins at since_ns (-1: there is none by now_ns), is too far. */
static void end_limited(struct pl_walk *s, int64_t since_ns, int64_t now_ns)
{
    struct pl_event ended = s->limited;
    if (!ended.packets)
        return;
    int64_t rtt_ns = pl_transfer_rtt_ns(s->t, now_ns), near_ns = rtt_ns > PL_APART_NS ? rtt_ns : PL_APART_NS;
    if ((since_ns < 0 ? now_ns : since_ns) - ended.t1_ns <= near_ns)
        return;
    s->limited.packets = 0;
    if (ended.t1_ns - ended.t0_ns >= (rtt_ns > PL_MS ? rtt_ns : PL_MS))
        pl_walk_event(s, PL_RECEIVER_WINDOW, ended);
}

void pl_walk_end_window_wait(struct pl_walk *s, int64_t now_ns)
{
    end_limited(s, s->gap.full ? s->gap.t0_ns : -1, now_ns);
    if (!s->gap.full)
        return;
    if (!s->limited.packets)
        s->limited = (struct pl_event){.t0_ns = s->gap.t0_ns, .seq = s->una};
    s->limited.t1_ns = now_ns;
    s->limited.packets++;
    s->limited.bytes = s->window > s->limited.bytes ? s->window : s->limited.bytes;
}

void pl_walk_end_windows(struct pl_walk *s, int64_t now_ns)
{
    note_window_opens(s, now_ns > s->gap.shut_ns ? now_ns : s->gap.shut_ns, UINT32_MAX);
    end_limited(s, -1, INT64_MAX / 2);
}
