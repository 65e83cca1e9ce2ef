#include "stream_ids.h"

#include <string.h>

#include "nc_pages.h"
#include "nc_range.h"

#define IDS (UINT32_C(1) << 23)

bool lft_stream_ids_init(struct lft_stream_ids *ids)
{
    *ids = (struct lft_stream_ids){.seen = nc_pages_map(IDS / 8), .highest = IDS - 1};
    return ids->seen;
}

void lft_stream_ids_free(struct lft_stream_ids *ids)
{
    nc_pages_unmap(ids->seen, IDS / 8);
    ids->seen = NULL;
}

void lft_stream_ids_clear(struct lft_stream_ids *ids)
{
    nc_pages_clear(ids->seen, IDS / 8);
    ids->highest = IDS - 1;
}

/* Clears the bits from `from` up to and including `to`, which are from the previous lap. */
static void forget(struct lft_stream_ids *ids, uint32_t from, uint32_t to)
{
    for (; from != to && from % 8; from = (from + 1) % IDS)
        ids->seen[from / 8] &= (uint8_t)~(1u << from % 8);
    for (uint32_t whole; (whole = nc_min((to - from) % IDS, IDS - from) / 8); from = (from + 8 * whole) % IDS)
        memset(ids->seen + from / 8, 0, whole);
    for (;; from = (from + 1) % IDS) {
        ids->seen[from / 8] &= (uint8_t)~(1u << from % 8);
        if (from == to)
            return;
    }
}

enum lft_stream_id lft_stream_ids_begin(struct lft_stream_ids *ids, uint32_t id)
{
    uint32_t index = (id >> 1) % IDS, ahead = (index - ids->highest) % IDS;
    if (ahead > LFT_STREAM_IDS_AHEAD && ahead < IDS / 2)
        return LFT_STREAM_ID_WRONG;
    if (ahead && ahead < IDS / 2) {
        forget(ids, (ids->highest + 1) % IDS, index);
        ids->highest = index;
    }
    uint8_t bit = (uint8_t)(1u << index % 8), *at = &ids->seen[index / 8];
    bool first = !(*at & bit);
    *at |= bit;
    return first ? LFT_STREAM_ID_NEW : LFT_STREAM_ID_SEEN;
}
