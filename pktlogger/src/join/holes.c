/* Implements holes.h. */
#include "holes.h"

#include <string.h>

#define OVERTAKEN_NS (3 * INT64_C(1000000))

static void cut_out(struct pl_holes *holes, size_t first, size_t end)
{
    memmove(holes->list.at + first, holes->list.at + end, (holes->list.n - end) * sizeof *holes->list.at);
    holes->list.n -= end - first;
}

/* True when the piece is a retransmission, not a packet that later octets overtook. */
static bool sent_again(const struct pl_holes *holes, const struct pl_hole *hole, const struct pl_piece_seen *piece)
{
    int32_t younger = piece->stamp && hole->behind.stamp ? (int32_t)(piece->stamp - hole->behind.stamp) : 0;
    int16_t later = piece->id && hole->behind.id ? (int16_t)(piece->id - hole->behind.id) : 0;
    if (younger)
        return younger > 0;
    int64_t waited_ns = piece->t_ns - hole->behind.t_ns;
    int64_t least_ns = holes->rtt_ns > 0 ? holes->rtt_ns - holes->rtt_ns / 4 : OVERTAKEN_NS;
    return later < 0 ? false : waited_ns >= least_ns || (later > 0 && holes->rtt_ns <= 0);
}

/* Inserts a hole. When there are too many holes, it counts the first one as lost. */
static int insert(struct pl_holes *holes, size_t place, struct pl_hole hole)
{
    if (holes->list.n == PL_HOLES_MAX) {
        struct pl_hole oldest = holes->list.at[0];
        cut_out(holes, 0, 1);
        if (holes->lost(holes->context, oldest.left, oldest.right, &oldest) < 0)
            return -1;
        place -= place > 0;
    }
    if (PL_APPEND(&holes->list, hole) < 0)
        return -1;
    memmove(holes->list.at + place + 1, holes->list.at + place, (holes->list.n - 1 - place) * sizeof hole);
    holes->list.at[place] = hole;
    return 0;
}

static size_t first_above(const struct pl_holes *holes, uint64_t left)
{
    size_t low = 0, high = holes->list.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (holes->list.at[middle].right <= left)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Fills the hole with the piece. Returns 1 if the hole is now filled, 0 if a part of it is left, or -1. */
static int fill(struct pl_holes *holes, size_t place, const struct pl_piece_seen *piece, struct pl_filled *filled)
{
    struct pl_hole hole = holes->list.at[place];
    uint64_t left = hole.left > piece->left ? hole.left : piece->left;
    uint64_t right = hole.right < piece->right ? hole.right : piece->right;
    bool again = sent_again(holes, &hole, piece);
    *(again ? &filled->again : &filled->overtaken) += right - left;
    if (again && holes->lost(holes->context, left, right, &hole) < 0)
        return -1;
    if (left == hole.left && right == hole.right)
        return 1;
    if (left == hole.left)
        holes->list.at[place].left = right;
    else
        holes->list.at[place].right = left;
    if (left == hole.left || right == hole.right)
        return 0;
    hole.left = right;
    return insert(holes, place + 1, hole);
}

int pl_holes_take(struct pl_holes *holes, const struct pl_piece_seen *piece, struct pl_filled *filled)
{
    uint64_t end = piece->right < holes->high ? piece->right : holes->high;
    *filled = (struct pl_filled){.fresh = 0};
    if (!holes->begun) {
        holes->begun = true;
        holes->high = piece->left;
        end = piece->left;
    }
    size_t first = first_above(holes, piece->left), whole = first, place = first;
    for (int done = 0; place < holes->list.n && holes->list.at[place].left < end; place++) {
        if ((done = fill(holes, place, piece, filled)) < 0)
            return -1;
        if (done)
            whole = place + 1;
        else if (holes->list.at[place].left < piece->left)
            first = whole = place + 1; /* the hole keeps its beginning */
    }
    if (whole > first)
        cut_out(holes, first, whole);
    if (end > piece->left)
        filled->known = end - piece->left - filled->again - filled->overtaken;
    if (piece->left > holes->high &&
        insert(holes, holes->list.n, (struct pl_hole){holes->high, piece->left, *piece}) < 0)
        return -1;
    if (piece->right > holes->high) {
        filled->fresh = piece->right - (piece->left > holes->high ? piece->left : holes->high);
        holes->high = piece->right;
    }
    return 0;
}

uint64_t pl_holes_forget(struct pl_holes *holes, uint64_t acked)
{
    uint64_t octets = 0;
    size_t n = first_above(holes, acked);
    for (size_t i = 0; i < n; i++)
        octets += holes->list.at[i].right - holes->list.at[i].left;
    if (n)
        cut_out(holes, 0, n);
    if (holes->list.n && holes->list.at[0].left < acked) {
        octets += acked - holes->list.at[0].left;
        holes->list.at[0].left = acked;
    }
    return octets;
}

void pl_holes_free(struct pl_holes *holes)
{
    free(holes->list.at);
    holes->list.at = NULL;
    holes->list.n = holes->list.room = 0;
}
