/* Implements gap.h. */
#include "gap.h"

#include "thresholds.h"

struct pl_gap pl_gap_none(uint32_t mss)
{
    return (struct pl_gap){.mss = mss ? mss : PL_USUAL_MSS,
                           .empty_ns = -1,
                           .room_ns = -1,
                           .shut_ns = -1,
                           .recovered_ns = -1,
                           .acked_ns = -1};
}

void pl_gap_begin(struct pl_gap *gap, const struct pl_sent *sent)
{
    if (!pl_gap_outstanding(gap, sent))
        gap->waits_ns = sent->t_ns;
    gap->started = true;
    gap->t0_ns = sent->t_ns;
    gap->una = sent->una;
    gap->high = sent->high;
    gap->full = sent->window_known && sent->una + sent->window < sent->high + gap->mss;
    gap->roomy = sent->window_known && !gap->full;
    gap->answered = gap->missed = false;
    gap->room_ns = gap->recovered_ns = -1;
    gap->was_shut_ns = 0;
    if (sent->high > sent->una)
        gap->empty_ns = -1;
    if (sent->mode != PL_MODE_NORMAL)
        gap->probed = 0;
    if (sent->repair)
        gap->probed = sent->high;
}

static void note_recovered(struct pl_gap *gap, const struct pl_acked *acked, enum pl_sender_mode mode)
{
    gap->recovered_ns = acked->t_ns;
    gap->recovered_flight = acked->high > acked->una ? acked->high - acked->una : 0;
    gap->recovered = mode;
}

void pl_gap_ack(struct pl_gap *gap, const struct pl_acked *acked)
{
    if (acked->advanced) {
        gap->between_acks_ns = gap->acked_ns < 0 ? 0 : acked->t_ns - gap->acked_ns;
        gap->acked_ns = gap->waits_ns = acked->t_ns;
        if (acked->una >= acked->high && gap->empty_ns < 0) {
            gap->empty_ns = acked->t_ns;
            gap->bare = !acked->answer;
        }
    }
    gap->missed = gap->missed || acked->missed;
    gap->answered = gap->answered || acked->answer;
    if (acked->ended != PL_MODE_NORMAL)
        note_recovered(gap, acked, acked->ended);
    if (gap->probed && acked->una >= gap->probed) { /* the probe repaired all that had been lost */
        gap->probed = 0;
        note_recovered(gap, acked, PL_MODE_FAST);
    }
    bool room = acked->una + acked->window >= acked->high + gap->mss;
    if (gap->room_ns < 0 && room && (acked->advanced || gap->full))
        gap->room_ns = acked->t_ns;
}

int64_t pl_gap_window(struct pl_gap *gap, int64_t now_ns, uint32_t window)
{
    int64_t since_ns = gap->shut_ns;
    if (window == 0 && since_ns < 0)
        gap->shut_ns = now_ns;
    if (window == 0 || since_ns < 0)
        return -1;
    gap->was_shut_ns = pl_gap_shut_ns(gap, gap->t0_ns, now_ns);
    gap->shut_ns = -1;
    return since_ns;
}
