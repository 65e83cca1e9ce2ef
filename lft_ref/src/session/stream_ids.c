#include "stream_ids.h"

#include "nc_pages.h"

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

static bool ahead(const struct lft_stream_ids *ids, uint32_t index)
{
    uint32_t distance = (index - ids->highest) % IDS;
    return distance && distance < IDS / 2;
}

bool lft_stream_ids_begin(struct lft_stream_ids *ids, uint32_t id)
{
    uint32_t index = (id >> 1) % IDS;
    while (ahead(ids, index)) { /* its bit is from the lap before */
        ids->highest = (ids->highest + 1) % IDS;
        ids->seen[ids->highest / 8] &= (uint8_t)~(1u << ids->highest % 8);
    }
    uint8_t bit = (uint8_t)(1u << index % 8), *at = &ids->seen[index / 8];
    bool first = !(*at & bit);
    *at |= bit;
    return first;
}
