/* HighSpeed TCP. Source: RFC 3649, section 5 (response function), appendix B (table).
 *
 *   ACK:   w += a(w) / w
 *   loss:  w -= b(w) w
 *   b(w) = (0.1 - 0.5) (ln w - ln 38) / (ln 83000 - ln 38) + 0.5,   a(w) = w^2 p(w) 2 b(w) / (2 - b(w)),   p(w) =
 *                                                                   0.078 / w^1.2
 *
 * The table has the windows at which a(w) passes 1, 2, 3 …, and the values of b there. A window between two rows uses
 * the upper row, as in the kernel's own module. Up to 38 segments it is standard TCP. The growth counts ACKs, as the
 * RFC says: with delayed ACKs w grows by a(w)/2 a round trip, and by less where the receiver's offload joins segments.
 * `per_segment` counts segments instead (RFC 3465), so that w grows by a(w) per round trip whatever the receiver does.
 *
 * b is taken from the row by which the window grew last. A loss in the first slow start may occur at twice the window
 * that the path can hold; it halves the window as in standard TCP, here and in the kernel's module.
 * Rejected: b of the current window, with which most of that overshoot would remain. */
#ifndef LFP_HSTCP_H
#define LFP_HSTCP_H

#include "lfp_cc.h"

#define LFP_HSTCP_PARAMS(P) P(per_segment, 0, 0, 1, "1: grow by acknowledged segments; 0: by ACKs")

struct lfp_hstcp_params {
    LFP_HSTCP_PARAMS(LFP_PARAM_FIELD)
};

struct lfp_hstcp {
    u32 fraction_q32;
    u32 row; /* row of lfp_hstcp_table at the last growth in congestion avoidance */
};

/* Row i: the largest window with a = i + 1, and b in percent. */
static const struct lfp_hstcp_row {
    u32 window, b_percent;
    /* clang-format off */
} lfp_hstcp_table[] = {
    {38, 50}, {118, 44}, {221, 41}, {347, 38}, {495, 37}, {663, 35}, {851, 34}, {1058, 33}, {1284, 32}, {1529, 31},
    {1793, 30}, {2076, 29}, {2378, 28}, {2699, 28}, {3039, 27}, {3399, 27}, {3778, 26}, {4177, 26}, {4596, 25},
    {5036, 25}, {5497, 24}, {5979, 24}, {6483, 23}, {7009, 23}, {7558, 22}, {8130, 22}, {8726, 22}, {9346, 21},
    {9991, 21}, {10661, 21}, {11358, 20}, {12082, 20}, {12834, 20}, {13614, 19}, {14424, 19}, {15265, 19},
    {16137, 19}, {17042, 18}, {17981, 18}, {18955, 18}, {19965, 17}, {21013, 17}, {22101, 17}, {23230, 17},
    {24402, 16}, {25618, 16}, {26881, 16}, {28193, 16}, {29557, 15}, {30975, 15}, {32450, 15}, {33986, 15},
    {35586, 14}, {37253, 14}, {38992, 14}, {40808, 14}, {42707, 13}, {44694, 13}, {46776, 13}, {48961, 13},
    {51258, 13}, {53677, 12}, {56230, 12}, {58932, 12}, {61799, 12}, {64851, 11}, {68113, 11}, {71617, 11},
    {75401, 10}, {79517, 10}, {84035, 10}, {89053, 10}, {94717, 9},
};
/* clang-format on */

#define LFP_HSTCP_ROWS (sizeof lfp_hstcp_table / sizeof lfp_hstcp_table[0])

LFP_INLINE void lfp_hstcp_start(struct lfp_hstcp *s)
{
    s->fraction_q32 = s->row = 0;
}

/* The row of a window: the first one whose window is not smaller, otherwise the last one. The bisection covers a power
 * of two of rows, so that BPF's verifier knows the number of steps. */
LFP_INLINE u32 lfp_hstcp_row(u32 window)
{
    u32 row = 0;
    for (u32 step = 64; step; step >>= 1)
        if (row + step < LFP_HSTCP_ROWS && lfp_hstcp_table[row + step - 1].window < window)
            row += step;
    return row;
}

LFP_INLINE u32 lfp_hstcp_lost(struct lfp_hstcp *s, const struct lfp_hstcp_params *p, const struct lfp_window *w)
{
    (void)p;
    u32 b_percent = s->row < LFP_HSTCP_ROWS ? lfp_hstcp_table[s->row].b_percent : 10;
    return lfp_max(w->cwnd - (u32)((u64)w->cwnd * b_percent / 100), 2);
}

LFP_INLINE void lfp_hstcp_acked(struct lfp_hstcp *s, const struct lfp_hstcp_params *p, struct lfp_window *w, u32 acked)
{
    acked = lfp_slow_start(w, acked);
    if (!acked)
        return;
    s->row = lfp_hstcp_row(w->cwnd);
    lfp_grow(w, &s->fraction_q32, p->per_segment ? acked : 1, (u64)(s->row + 1) << 16);
}

#endif
