#include "table.h"

#include <assert.h>
#include <stdlib.h>

enum { ROOM_FIRST = 16 };

bool table_add(struct table **table, uint64_t value)
{
    struct table *t = *table;
    if (!t || t->n == t->room) {
        size_t room = t ? t->room * 2 : ROOM_FIRST;
        if (room > TABLE_VALUES_MAX)
            return false;
        struct table *grown = realloc(t, sizeof *t + room * sizeof t->at[0]);
        if (!grown)
            return false;
        if (!t)
            *grown = (struct table){.refs = 1};
        grown->room = room;
        *table = t = grown;
    }
    t->at[t->n++] = value;
    return true;
}

struct table *table_share(struct table *table)
{
    if (table)
        table->refs++;
    return table;
}

void table_release(struct table *table)
{
    if (!table)
        return;
    assert(table->refs > 0);
    if (--table->refs)
        return;
    free(table->source);
    free(table);
}

static int by_first(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void table_sort_pairs(struct table *table)
{
    assert(table->n % 2 == 0);
    qsort(table->at, table->n / 2, 2 * sizeof table->at[0], by_first);
    size_t kept = 0;
    for (size_t i = 0; i < table->n; i += 2) {
        if (kept && table->at[i] <= table->at[kept - 1]) {
            if (table->at[i + 1] > table->at[kept - 1])
                table->at[kept - 1] = table->at[i + 1];
            continue;
        }
        table->at[kept++] = table->at[i];
        table->at[kept++] = table->at[i + 1];
    }
    table->n = kept;
}

bool table_pairs_overlap(const struct table *table, uint64_t from, uint64_t to)
{
    /* only the first pair that ends after `from` matters */
    size_t low = 0, high = table->n / 2;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (table->at[2 * middle + 1] <= from)
            low = middle + 1;
        else
            high = middle;
    }
    return low < table->n / 2 && table->at[2 * low] < to;
}
