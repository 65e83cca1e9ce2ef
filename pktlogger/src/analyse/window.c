/* The events of the receiver's window (walk_state.h): closed, and full. */
#include "thresholds.h"
#include "walk_state.h"

void pl_walk_event(struct pl_walk *s, enum pl_event_kind kind, struct pl_event event)
{
    event.flow = s->t->number;
    event.kind = (uint8_t)kind;
    pl_tables_put_event(s->tables, &event);
}

void pl_walk_open_window(struct pl_walk *s, int64_t now_ns)
{
    int64_t since_ns = s->closed_ns;
    if (since_ns < 0)
        return;
    s->closed_ns = -1;
    s->closed_since_send_ns += now_ns - (since_ns > s->last_send_ns ? since_ns : s->last_send_ns);
    pl_walk_event(s, PL_ZERO_WINDOW, (struct pl_event){.t0_ns = since_ns, .t1_ns = now_ns, .seq = s->una});
}

void pl_walk_note_window(struct pl_walk *s, const struct pl_row *packet)
{
    s->window = packet->window;
    s->window_known = true;
    if (!(packet->flags & NC_TCP_SYN))
        pl_offers_note(&s->offers, s->t, packet->ack, packet->window);
    if (packet->window > 0)
        pl_walk_open_window(s, packet->t_ns);
    else if (s->closed_ns < 0)
        s->closed_ns = packet->t_ns;
}

void pl_walk_end_window_wait(struct pl_walk *s, int64_t now_ns)
{
    int64_t since_ns = s->limited_ns, rtt_ns = pl_transfer_rtt_ns(s->t, now_ns);
    int64_t near_ns = rtt_ns > PL_APART_NS ? rtt_ns : PL_APART_NS;
    s->limited_ns = -1;
    if (s->limited.packets && (since_ns < 0 || since_ns - s->limited.t1_ns > near_ns)) {
        struct pl_event ended = s->limited;
        if (since_ns < 0 && now_ns - ended.t1_ns <= near_ns)
            return;
        s->limited.packets = 0;
        if (ended.t1_ns - ended.t0_ns >= (rtt_ns > PL_MS ? rtt_ns : PL_MS))
            pl_walk_event(s, PL_RECEIVER_WINDOW, ended);
    }
    if (since_ns < 0)
        return;
    if (!s->limited.packets)
        s->limited = (struct pl_event){.t0_ns = since_ns, .seq = s->una};
    s->limited.t1_ns = now_ns;
    s->limited.packets++;
    s->limited.bytes = s->window > s->limited.bytes ? s->window : s->limited.bytes;
}
