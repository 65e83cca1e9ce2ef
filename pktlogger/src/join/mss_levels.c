/* Implements mss_levels.h. */
#include "mss_levels.h"

#include "flows.h"

int pl_mss_levels_add(struct pl_mss_levels *levels, const struct pl_row *row)
{
    enum { SMALLER_MOST = 2 * PL_MSS_LEVEL_LEAST };
    uint32_t size = row->len + row->options, full = row->part_len + row->options;
    if (row->part_len == 0 || row->len > row->part_len || levels->list.n == PL_MSS_LEVELS_MOST)
        return 0;
    if (size == (levels->list.n ? levels->list.at[levels->list.n - 1].mss_option : full)) {
        levels->shown = 0;
        return 0;
    }
    if (row->flags & (NC_TCP_PSH | NC_TCP_FIN | NC_TCP_SYN | NC_TCP_RST))
        return 0;
    if (levels->shown && size < levels->next.mss_option && ++levels->smaller < SMALLER_MOST)
        return 0;
    if (levels->shown == 0 || size != levels->next.mss_option) {
        levels->next = (struct pl_mss_level){.seq = row->seq, .frame = row->frame, .mss_option = size};
        levels->shown = 0;
    }
    levels->smaller = 0;
    if (++levels->shown < PL_MSS_LEVEL_LEAST)
        return 0;
    levels->shown = 0;
    return PL_APPEND(&levels->list, levels->next);
}

/* The payload of a wire packet at a level; `mss_option` 0: the SYNs'. */
static uint32_t step_at(uint32_t mss_option, const struct pl_row *row)
{
    uint32_t step = mss_option ? pl_part_len(mss_option, row->options) : row->part_len;
    return step < row->part_len ? step : row->part_len;
}

static void pass(struct pl_mss_place *place, const struct pl_mss_levels *levels)
{
    place->mss_option = levels->list.at[place->passed++].mss_option;
}

uint32_t pl_mss_place_arrived(struct pl_mss_place *place, const struct pl_mss_levels *levels, const struct pl_row *row)
{
    while (place->passed < levels->list.n && levels->list.at[place->passed].frame <= row->frame)
        pass(place, levels);
    return step_at(place->mss_option, row);
}

uint32_t pl_mss_place_sent(struct pl_mss_place *place, const struct pl_mss_levels *levels, int64_t delta,
                           const struct pl_row *row)
{
    uint64_t end = row->seq + row->len;
    uint32_t step = step_at(place->mss_option, row);
    while (step && place->passed < levels->list.n) {
        const struct pl_mss_level *next = &levels->list.at[place->passed];
        bool larger = step_at(next->mss_option, row) >= step, copy = row->seq < place->high;
        if (end <= next->seq + (uint64_t)delta || !(larger || copy || row->len % step))
            break;
        pass(place, levels);
        step = step_at(place->mss_option, row);
    }
    place->high = end > place->high ? end : place->high;
    return step;
}
