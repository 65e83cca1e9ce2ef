/* Implements shown.h: what a single acknowledgement shows. block_shown.c combines all of them. */
#include "shown.h"

static bool usable(const struct pl_row *row, unsigned i)
{
    return row->sack_left[i] < row->sack_right[i] && row->sack_right[i] < UINT64_MAX / 4;
}

bool pl_shown_duplicate(const struct pl_row *row)
{
    if (row->sack_n == 0 || !usable(row, 0))
        return false;
    return row->sack_right[0] <= row->ack ||
           (row->sack_n > 1 && usable(row, 1) && row->sack_left[1] <= row->sack_left[0] &&
            row->sack_right[0] <= row->sack_right[1]);
}

static bool repeated(const struct pl_shown_list *shown, uint64_t left, uint64_t right)
{
    for (unsigned i = 0; i < shown->n; i++)
        if (shown->left[i] == left && shown->right[i] == right)
            return true;
    return false;
}

int pl_shown_add(struct pl_shown_list *shown, const struct pl_row *row, uint64_t acked, uint64_t high, uint32_t mss)
{
    unsigned first = pl_shown_duplicate(row);
    struct pl_shown entry = {.t_ns = row->t_ns, .echo = row->tsecr};
    if (first) {
        entry.left = row->sack_left[0];
        entry.right = row->sack_right[0];
        entry.again = true;
        if (PL_APPEND(&shown->list, entry) < 0)
            return -1;
        entry.again = false;
    }
    if (row->ack > acked) {
        struct pl_shown reached = entry;
        reached.left = acked;
        reached.right = row->ack;
        reached.cumulative = true;
        reached.delayed = row->ack >= high && row->ack - acked < 2 * (uint64_t)mss;
        if (PL_APPEND(&shown->list, reached) < 0)
            return -1;
    }
    for (unsigned i = first; i < row->sack_n; i++) {
        entry.left = row->sack_left[i];
        entry.right = row->sack_right[i];
        if (usable(row, i) && !repeated(shown, entry.left, entry.right) && PL_APPEND(&shown->list, entry) < 0)
            return -1;
    }
    shown->n = row->sack_n;
    for (unsigned i = 0; i < row->sack_n; i++) {
        shown->left[i] = row->sack_left[i];
        shown->right[i] = row->sack_right[i];
    }
    return 0;
}
