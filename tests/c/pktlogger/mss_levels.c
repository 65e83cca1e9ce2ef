/* When the sizes of a flow's packets show another MSS than the SYNs. */
#include "check.h"
#include "mss_levels.h"

enum { SYN_MSS = 1460, OPTIONS = 12, FULL = SYN_MSS - OPTIONS, SMALL = 1248 };

static struct pl_row row_of(uint64_t frame, uint64_t seq, uint32_t len, uint16_t flags)
{
    return (struct pl_row){
        .frame = frame, .seq = seq, .len = len, .options = OPTIONS, .part_len = FULL, .flags = NC_TCP_ACK | flags};
}

/* Takes `n` packets in a row from `*seq` on. */
static void take(struct pl_mss_levels *levels, uint64_t *seq, unsigned n, uint32_t len, uint16_t flags)
{
    for (unsigned i = 0; i < n; i++, *seq += len) {
        struct pl_row row = row_of(*seq, *seq, len, flags);
        CHECK_EQ(pl_mss_levels_add(levels, &row), 0);
    }
}

static void a_level_begins_at_its_first_packet(void)
{
    struct pl_mss_levels levels = {.shown = 0};
    uint64_t seq = 1;
    take(&levels, &seq, 10, FULL, 0);
    uint64_t begins = seq;
    for (int i = 0; i < 10; i++) {
        take(&levels, &seq, 1, SMALL, 0);
        take(&levels, &seq, 1, FULL - SMALL, 0); /* the rest of a longer packet */
    }
    CHECK_EQ(levels.list.n, 1);
    CHECK_EQ(levels.list.at[0].seq, begins);
    CHECK_EQ(levels.list.at[0].mss_option, SMALL + OPTIONS);
    take(&levels, &seq, 3, FULL, 0); /* probes of a longer path */
    take(&levels, &seq, 1, SMALL, 0);
    CHECK_EQ(levels.list.n, 1);
    begins = seq;
    take(&levels, &seq, 10, FULL, 0);
    CHECK_EQ(levels.list.n, 2);
    CHECK_EQ(levels.list.at[1].seq, begins);
    CHECK_EQ(levels.list.at[1].mss_option, SYN_MSS);
    free(levels.list.at);
}

static void what_an_application_wrote_is_no_level(void)
{
    struct pl_mss_levels levels = {.shown = 0};
    uint64_t seq = 1;
    take(&levels, &seq, 100, 1000, NC_TCP_PSH);
    for (int i = 0; i < 20; i++) {
        take(&levels, &seq, 2, FULL, 0);
        take(&levels, &seq, 1, 104, 0); /* the rest of a window */
    }
    take(&levels, &seq, 20, 3 * SMALL, 0); /* merged */
    CHECK_EQ(levels.list.n, 0);
    free(levels.list.at);
}

static void a_sender_uses_it_from_its_first_copy_on(void)
{
    struct pl_mss_levels levels = {.shown = 0};
    struct pl_mss_place place = {.passed = 0};
    uint64_t seq = 1 + 6 * FULL;
    take(&levels, &seq, 20, SMALL, 0);
    struct pl_row before = row_of(1, 1, 6 * FULL, 0), refused = row_of(2, 1 + 6 * FULL, 3 * FULL, 0);
    struct pl_row copy = row_of(3, 1 + 6 * FULL, FULL, 0), later = row_of(4, 1 + 9 * FULL, 8 * SMALL, 0);
    CHECK_EQ(pl_mss_place_sent(&place, &levels, 0, &before), FULL);
    CHECK_EQ(pl_mss_place_sent(&place, &levels, 0, &refused), FULL);
    CHECK_EQ(pl_mss_place_sent(&place, &levels, 0, &copy), SMALL);
    CHECK_EQ(pl_mss_place_sent(&place, &levels, 0, &later), SMALL);
    free(levels.list.at);
}

int main(void)
{
    RUN(a_level_begins_at_its_first_packet);
    RUN(what_an_application_wrote_is_no_level);
    RUN(a_sender_uses_it_from_its_first_copy_on);
    return 0;
}
