/* Octets that are missing at the receiver's interface, and pieces that fill these holes (holes.h). */
#include "holes.h"

#include "check.h"

struct sum {
    uint64_t octets;
    unsigned pieces;
};

static int lost(void *context, uint64_t left, uint64_t right, const struct pl_hole *hole)
{
    struct sum *sum = context;
    (void)hole;
    sum->octets += right - left;
    sum->pieces++;
    return 0;
}

static struct pl_filled take(struct pl_holes *holes, int64_t ms, uint64_t left, uint64_t right, uint32_t stamp,
                             uint16_t id)
{
    struct pl_filled filled;
    struct pl_piece_seen piece = {left, right, ms * 1000000, stamp, id};
    CHECK_EQ(pl_holes_take(holes, &piece, &filled), 0);
    CHECK_EQ(filled.fresh + filled.again + filled.overtaken + filled.known, right - left);
    return filled;
}

/* Every way to fill a hole from 100 to 200: wholly, at either end, in its middle, and with more than the hole; and a
 * piece after it. */
static void test_pieces(void)
{
    static const struct {
        uint64_t left, right, again, known, holes;
    } cases[] = {
        {100, 200, 100, 0, 0}, {100, 150, 50, 0, 1},   {150, 200, 50, 0, 1},
        {120, 180, 60, 0, 2},  {50, 250, 100, 100, 0}, {210, 300, 0, 90, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sum sum = {0, 0};
        struct pl_holes holes = {.rtt_ns = 20000000, .lost = lost, .context = &sum};
        take(&holes, 0, 0, 100, 0, 0);
        CHECK_EQ(take(&holes, 1, 200, 300, 0, 0).fresh, 100);
        struct pl_filled filled = take(&holes, 30, cases[i].left, cases[i].right, 0, 0);
        CHECK_EQ(filled.again, cases[i].again);
        CHECK_EQ(filled.known, cases[i].known);
        CHECK_EQ(holes.list.n, cases[i].holes);
        CHECK_EQ(sum.octets, cases[i].again);
        pl_holes_free(&holes);
    }
}

/* The evidence that a piece was overtaken: an older time stamp, a smaller identification, less than a round trip. */
static void test_order(void)
{
    static const struct {
        uint32_t stamp;
        uint16_t id;
        int64_t ms, rtt_ms;
        bool again;
    } cases[] = {
        {9, 0, 90, 20, false}, {11, 0, 1, 20, true},      {10, 9, 90, 20, false}, {0, 0, 5, 20, false},
        {0, 0, 16, 20, true},  {0, 0, 2, -1, false},      {0, 0, 4, -1, true},    {0, 11, 1, -1, true},
        {0, 11, 1, 20, false}, {0, 65530, 90, 20, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sum sum = {0, 0};
        struct pl_holes holes = {.rtt_ns = cases[i].rtt_ms * 1000000, .lost = lost, .context = &sum};
        take(&holes, 0, 0, 100, 10, 8);
        take(&holes, 0, 200, 300, 10, 10);
        struct pl_filled filled = take(&holes, cases[i].ms, 100, 200, cases[i].stamp, cases[i].id);
        CHECK_EQ(filled.again > 0, cases[i].again);
        CHECK_EQ(filled.overtaken > 0, !cases[i].again);
        pl_holes_free(&holes);
    }
}

/* With more holes than can be kept, the oldest count as lost. If holes are acknowledged, only the capture missed their
 * octets. */
static void test_bounds(void)
{
    struct sum sum = {0, 0};
    struct pl_holes holes = {.rtt_ns = 20000000, .lost = lost, .context = &sum};
    for (uint64_t i = 0; i <= PL_HOLES_MAX + 10; i++)
        take(&holes, 0, 20 * i, 20 * i + 10, 0, 0);
    CHECK_EQ(holes.list.n, PL_HOLES_MAX);
    CHECK_EQ(sum.pieces, 10);
    uint64_t end = holes.high;
    CHECK_EQ(pl_holes_forget(&holes, end), 10 * PL_HOLES_MAX);
    CHECK_EQ(holes.list.n, 0);
    pl_holes_free(&holes);
}

int main(void)
{
    test_pieces();
    test_order();
    test_bounds();
    return 0;
}
