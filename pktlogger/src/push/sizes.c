/* Implements sizes.h by smooth weighted round robin. In each turn every size gains its weight as credit. The size with
 * the most credit is next, and loses the sum of all weights. */
#include "sizes.h"

#include <string.h>

#include "nc_quantity.h"
#include "nc_range.h"

static int refuse(const char *text, const char *why, struct nc_error *error)
{
    return nc_fail(error, NC_EXIT_USAGE, "--size '%.80s': %s; want as in 1500 or 64:7,576:4,1500:1", text, why);
}

/* Reads one "SIZE" or "SIZE:WEIGHT" of `text`. */
static int read_one(struct pl_sizes *sizes, const char *text, char *part, uint32_t min, uint32_t max,
                    struct nc_error *error)
{
    struct nc_error why;
    uint64_t size, weight = 1;
    char *colon = strchr(part, ':');
    if (colon)
        *colon = '\0';
    if (sizes->n == PL_SIZES_MAX)
        return refuse(text, "more than 16 sizes", error);
    if (nc_quantity_parse(NC_UNIT_BYTES, part, &size, &why) < 0)
        return refuse(text, why.text, error);
    if (size < min || size > max)
        return nc_fail(error, NC_EXIT_USAGE, "--size '%.80s': %llu is out of range; allowed is %u to %u", text,
                       (unsigned long long)size, min, max);
    if (colon &&
        (nc_quantity_parse(NC_UNIT_COUNT, colon + 1, &weight, &why) < 0 || weight == 0 || weight > PL_SIZE_WEIGHT_MAX))
        return refuse(text, "a weight is 1 to 1,000,000", error);
    sizes->at[sizes->n].size = (uint32_t)size;
    sizes->at[sizes->n].credit = 0;
    sizes->at[sizes->n++].weight = (uint32_t)weight;
    sizes->weights += (int64_t)weight;
    return 0;
}

int pl_sizes_read(struct pl_sizes *sizes, const char *text, uint32_t min, uint32_t max, struct nc_error *error)
{
    char copy[512], *rest = copy;
    *sizes = (struct pl_sizes){.n = 0};
    if (strlen(text) >= sizeof copy)
        return refuse(text, "too long", error);
    strcpy(copy, text);
    for (char *part; (part = strsep(&rest, ","));)
        if (read_one(sizes, text, part, min, max, error) < 0)
            return -1;
    return 0;
}

uint32_t pl_sizes_next(struct pl_sizes *sizes)
{
    size_t richest = 0;
    if (sizes->n == 1)
        return sizes->at[0].size;
    for (size_t i = 0; i < sizes->n; i++) {
        sizes->at[i].credit += sizes->at[i].weight;
        if (sizes->at[i].credit > sizes->at[richest].credit)
            richest = i;
    }
    sizes->at[richest].credit -= sizes->weights;
    return sizes->at[richest].size;
}

uint32_t pl_sizes_largest(const struct pl_sizes *sizes)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < sizes->n; i++)
        largest = nc_max(largest, sizes->at[i].size);
    return (uint32_t)largest;
}
