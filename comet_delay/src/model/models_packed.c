#include "models_packed.h"

#include <stdlib.h>
#include <string.h>

enum { TABLES = 4 };

struct head {
    uint64_t params_bytes, models_bytes;
    uint64_t values[TABLES]; /* lengths of the tables; 0: there is no table */
};

/* The tables that the models own, in the order of the block. */
static void tables_of(struct models *models, struct table **places[TABLES])
{
    places[0] = &models->loss.ranges;
    places[1] = &models->loss_after.ranges;
    places[2] = &models->jitter.table;
    places[3] = &models->rate.table;
}

void *models_pack(const struct params *params, const struct models *models, size_t *len)
{
    struct models copy = *models;
    struct head head = {.params_bytes = sizeof *params, .models_bytes = sizeof *models};
    struct table **places[TABLES];
    tables_of(&copy, places);
    *len = sizeof head + sizeof *params + sizeof *models;
    for (int i = 0; i < TABLES; i++) {
        head.values[i] = *places[i] ? (*places[i])->n : 0;
        *len += head.values[i] * sizeof(uint64_t);
    }
    uint8_t *block = malloc(*len), *at = block;
    if (!block)
        return NULL;
    memcpy(at, &head, sizeof head);
    memcpy(at += sizeof head, params, sizeof *params);
    memcpy(at += sizeof *params, models, sizeof *models);
    at += sizeof *models;
    for (int i = 0; i < TABLES; i++) {
        if (head.values[i])
            memcpy(at, (*places[i])->at, head.values[i] * sizeof(uint64_t));
        at += head.values[i] * sizeof(uint64_t);
    }
    return block;
}

/* Checks that the lengths at the head of a block add up to its size. */
static bool fits(const struct head *head, size_t len)
{
    uint64_t left = len - sizeof *head;
    if (head->params_bytes != sizeof(struct params) || head->models_bytes != sizeof(struct models) ||
        left < sizeof(struct params) + sizeof(struct models))
        return false;
    left -= sizeof(struct params) + sizeof(struct models);
    for (int i = 0; i < TABLES; i++) {
        if (head->values[i] > TABLE_VALUES_MAX || head->values[i] * sizeof(uint64_t) > left)
            return false;
        left -= head->values[i] * sizeof(uint64_t);
    }
    return left == 0;
}

int models_unpack(const void *block, size_t len, struct params *params, struct models *models)
{
    struct head head;
    if (len < sizeof head)
        return -1;
    memcpy(&head, block, sizeof head);
    if (!fits(&head, len))
        return -1;
    const uint8_t *at = (const uint8_t *)block + sizeof head;
    memcpy(params, at, sizeof *params);
    memcpy(models, at += sizeof *params, sizeof *models);
    at += sizeof *models;
    struct table **places[TABLES];
    tables_of(models, places);
    for (int i = 0; i < TABLES; i++)
        *places[i] = NULL;
    for (int i = 0; i < TABLES; i++) {
        if (!head.values[i])
            continue;
        size_t bytes = head.values[i] * sizeof(uint64_t);
        struct table *table = malloc(sizeof *table + bytes);
        if (!table) {
            models_free(models);
            return -1;
        }
        *table = (struct table){.refs = 1, .n = head.values[i], .room = head.values[i]};
        memcpy(table->at, at, bytes);
        *places[i] = table;
        at += bytes;
    }
    return 0;
}
