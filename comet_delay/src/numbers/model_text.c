#include "model_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void model_append(char *buf, size_t size, const char *format, ...)
{
    size_t used = strlen(buf);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buf + used, size - used, format, arguments);
    va_end(arguments);
}

bool model_item(const char **text, char *item)
{
    size_t len = strcspn(*text, ",");
    if (len >= MODEL_ITEM_MAX)
        return false;
    memcpy(item, *text, len);
    item[len] = '\0';
    *text = (*text)[len] ? *text + len + 1 : NULL;
    return true;
}

bool model_integer(const char *text, uint64_t *value)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 18 || text[digits])
        return false;
    *value = 0;
    for (; *text; text++)
        *value = *value * 10 + (uint64_t)(*text - '0');
    return true;
}

int model_quantity(enum nc_unit unit, const char *text, uint64_t *value, struct nc_error *error)
{
    struct nc_error why;
    if (nc_quantity_parse(unit, text, value, &why) < 0)
        return nc_fail(error, why.status, "'%.40s': %s", text, why.text);
    return 0;
}

static int range(char *item, bool times, uint64_t *from, uint64_t *to, struct nc_error *error)
{
    const char *wanted = times ? "FROM-TO, such as 1s-1.2s" : "a whole number or FROM-TO, such as 5 or 10-12";
    char *dash = strchr(item, '-'), *second = dash ? dash + 1 : NULL;
    if (dash)
        *dash = '\0';
    if (times) {
        if (!dash)
            return nc_fail(error, NC_EXIT_USAGE, "'%.40s': want %s", item, wanted);
        if (model_quantity(NC_UNIT_DURATION, item, from, error) < 0 ||
            model_quantity(NC_UNIT_DURATION, second, to, error) < 0)
            return -1;
        if (*from >= UINT64_C(1000000000000000000) || *to >= UINT64_C(1000000000000000000))
            return nc_fail(error, NC_EXIT_USAGE, "'%s-%s': longer than 30 years", item, second);
    } else {
        if (!model_integer(item, from) || (dash && !model_integer(second, to)))
            return nc_fail(error, NC_EXIT_USAGE, "'%s%s%s': want %s", item, dash ? "-" : "", dash ? second : "",
                           wanted);
        *to = dash ? *to + 1 : *from + 1;
    }
    if (*from >= *to)
        return nc_fail(error, NC_EXIT_USAGE, "'%s-%s': ends before it begins", item, second);
    return 0;
}

struct table *model_ranges(const char *text, bool times, struct nc_error *error)
{
    struct table *ranges = NULL;
    while (text) {
        char item[MODEL_ITEM_MAX];
        uint64_t from, to;
        int status = 0;
        if (!model_item(&text, item))
            status = nc_fail(error, NC_EXIT_USAGE, "'%.20s…': not a range", text);
        else if (range(item, times, &from, &to, error) < 0)
            status = -1;
        else if (ranges && ranges->n == 2 * MODEL_ITEMS_MAX)
            status = nc_fail(error, NC_EXIT_USAGE, "more than %d ranges", MODEL_ITEMS_MAX);
        else if (!table_add(&ranges, from) || !table_add(&ranges, to))
            status = nc_fail(error, NC_EXIT_USAGE, "out of memory");
        if (status < 0) {
            table_release(ranges);
            return NULL;
        }
    }
    table_sort_pairs(ranges);
    return ranges;
}

void model_ranges_format(const struct table *ranges, bool times, char *buf, size_t size)
{
    for (size_t i = 0; i < ranges->n; i += 2) {
        uint64_t from = ranges->at[i], to = ranges->at[i + 1];
        char first[40], last[40];
        model_append(buf, size, "%s", i ? "," : "");
        if (times)
            model_append(buf, size, "%s-%s", nc_quantity_format(NC_UNIT_DURATION, from, first, sizeof first),
                         nc_quantity_format(NC_UNIT_DURATION, to, last, sizeof last));
        else if (to - from == 1)
            model_append(buf, size, "%" PRIu64, from);
        else
            model_append(buf, size, "%" PRIu64 "-%" PRIu64, from, to - 1);
    }
}
