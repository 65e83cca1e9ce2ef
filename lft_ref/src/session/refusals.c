#include "refusals.h"

#include <assert.h>

#include "nc_pages.h"

#define BYTES (LFT_REFUSALS_MAX * sizeof(uint32_t))

bool lft_refusals_init(struct lft_refusals *refusals)
{
    *refusals = (struct lft_refusals){.ids = nc_pages_map(BYTES)};
    return refusals->ids;
}

void lft_refusals_free(struct lft_refusals *refusals)
{
    nc_pages_unmap(refusals->ids, BYTES);
    refusals->ids = NULL;
}

void lft_refusals_clear(struct lft_refusals *refusals)
{
    refusals->tail = refusals->head;
}

bool lft_refusals_add(struct lft_refusals *refusals, uint32_t id)
{
    if (refusals->head - refusals->tail == LFT_REFUSALS_MAX)
        return false;
    refusals->ids[refusals->head++ % LFT_REFUSALS_MAX] = id;
    return true;
}

uint32_t lft_refusals_first(const struct lft_refusals *refusals)
{
    assert(lft_refusals_waiting(refusals));
    return refusals->ids[refusals->tail % LFT_REFUSALS_MAX];
}

void lft_refusals_remove(struct lft_refusals *refusals)
{
    assert(lft_refusals_waiting(refusals));
    refusals->tail++;
}
