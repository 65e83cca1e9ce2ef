/* Parameters and models as a block for the kernel: the lengths of the tables, then the tables. Parameters and models
 * are the box's own, so they are zeros here. Input: 4 lengths (4 octets each) and the octets of the tables. An accepted
 * block must contain the tables unchanged, and a refused one must leave nothing behind. */
#include "models_packed.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TABLES = 4 };

static const struct table *table_of(const struct models *models, int i)
{
    const struct table *tables[TABLES] = {models->loss.ranges, models->loss_after.ranges, models->jitter.table,
                                          models->rate.table};
    return tables[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct params params;
    struct models models;
    uint32_t lengths[TABLES] = {0};
    uint64_t head[2 + TABLES] = {sizeof params, sizeof models};
    size_t used = size < sizeof lengths ? size : sizeof lengths, own = sizeof head + sizeof params + sizeof models;
    memcpy(lengths, data, used);
    for (int i = 0; i < TABLES; i++)
        head[2 + i] = lengths[i] >= UINT32_MAX - 255 ? UINT64_MAX - i : lengths[i];
    uint8_t *block = calloc(1, own + size - used); /* allocated exactly */
    if (!block)
        return 0;
    memcpy(block, head, sizeof head);
    memcpy(block + own, data + used, size - used);
    if (models_unpack(block, own + size - used, &params, &models) == 0) {
        const uint8_t *at = data + used;
        for (int i = 0; i < TABLES; i++) {
            const struct table *table = table_of(&models, i);
            size_t bytes = lengths[i] * sizeof(uint64_t);
            assert((table ? table->n : 0) == lengths[i]);
            assert(!table || memcmp(table->at, at, bytes) == 0);
            at += bytes;
        }
        assert(at == data + size);
        models_free(&models);
    }
    free(block);
    return 0;
}
