/* The text forms of rates. */
#include "rate_trace.h"

#include <stdio.h>
#include <string.h>

#include "model_text.h"

static const char *const prefixes[] = {
    [RATE_CONSTANT] = "", [RATE_STEPS] = "rate:", [RATE_MAHIMAHI] = "mahimahi:", [RATE_MM_LINK] = "mm-link:"};
_Static_assert(sizeof prefixes / sizeof prefixes[0] == RATE_KINDS, "a prefix for every kind");

static int parse_rate(const char *text, uint64_t *rate_bps, struct nc_error *error)
{
    if (model_quantity(NC_UNIT_RATE, text, rate_bps, error) < 0)
        return -1;
    if (*rate_bps > RATE_MAX_BPS)
        return nc_fail(error, NC_EXIT_USAGE, "'%.40s': more than 400Gbit", text);
    return 0;
}

static int parse_step(char *item, struct rate_trace *trace, struct nc_error *error)
{
    struct table *table = trace->table;
    uint64_t from_ns, rate_bps;
    char *equals = strchr(item, '=');
    if (!equals)
        return nc_fail(error, NC_EXIT_USAGE, "'%s': want TIME=RATE, such as 5s=1Mbit", item);
    *equals = '\0';
    if (model_quantity(NC_UNIT_DURATION, item, &from_ns, error) < 0 || parse_rate(equals + 1, &rate_bps, error) < 0)
        return -1;
    if (from_ns >= UINT64_C(1000000000000000000))
        return nc_fail(error, NC_EXIT_USAGE, "'%s': later than 30 years", item);
    if (!table && from_ns)
        return nc_fail(error, NC_EXIT_USAGE, "'%s': the first rate begins at 0s", item);
    if (table && from_ns <= table->at[table->n - 2])
        return nc_fail(error, NC_EXIT_USAGE, "'%s': not later than the one before", item);
    if (table && table->n == 2 * MODEL_ITEMS_MAX)
        return nc_fail(error, NC_EXIT_USAGE, "more than %d rates", MODEL_ITEMS_MAX);
    if (!table_add(&trace->table, from_ns) || !table_add(&trace->table, rate_bps))
        return nc_fail(error, NC_EXIT_USAGE, "out of memory");
    return 0;
}

static int parse_steps(const char *text, struct rate_trace *trace, struct nc_error *error)
{
    while (text) {
        char item[MODEL_ITEM_MAX];
        if (!model_item(&text, item))
            return nc_fail(error, NC_EXIT_USAGE, "'%.20s…': want TIME=RATE, such as 5s=1Mbit", text);
        if (parse_step(item, trace, error) < 0)
            return -1;
    }
    if (trace->table->at[trace->table->n - 1] == 0)
        return nc_fail(error, NC_EXIT_USAGE, "the last rate is 0: packets would wait for ever; want more than 0");
    return 0;
}

static int parse_kind(const char *text, struct rate_trace *trace, struct nc_error *error)
{
    if (!strchr(text, ':'))
        return parse_rate(text, &trace->rate_bps, error);
    for (trace->kind = RATE_STEPS; trace->kind < RATE_KINDS; trace->kind++)
        if (strncmp(text, prefixes[trace->kind], strlen(prefixes[trace->kind])) == 0)
            break;
    if (trace->kind == RATE_KINDS)
        return nc_fail(error, NC_EXIT_USAGE,
                       "no such rate; want a rate such as 45Mbit, or rate:0s=10Mbit,5s=1Mbit, or mahimahi:FILE, or "
                       "mm-link:FILE");
    text += strlen(prefixes[trace->kind]);
    if (trace->kind == RATE_STEPS)
        return parse_steps(text, trace, error);
    if (!*text || strlen(text) >= 4096)
        return nc_fail(error, NC_EXIT_USAGE, "want the name of a file after %s", prefixes[trace->kind]);
    trace->table = table_read(text, TABLE_MILLISECONDS, error);
    return trace->table ? 0 : -1;
}

int rate_trace_parse(const char *text, struct rate_trace *trace, struct nc_error *error)
{
    struct rate_trace parsed = {0};
    if (parse_kind(text, &parsed, error) < 0) {
        rate_trace_free(&parsed);
        return -1;
    }
    *trace = parsed;
    return 0;
}

const char *rate_trace_format(const struct rate_trace *trace, char *buf, size_t size)
{
    const struct table *table = trace->table;
    char from[40], rate[40];
    snprintf(buf, size, "%s%s", prefixes[trace->kind], trace->kind >= RATE_MAHIMAHI ? table->source : "");
    if (trace->kind == RATE_CONSTANT)
        model_append(buf, size, "%s", nc_quantity_format(NC_UNIT_RATE, trace->rate_bps, rate, sizeof rate));
    for (size_t i = 0; trace->kind == RATE_STEPS && i < table->n; i += 2)
        model_append(buf, size, "%s%s=%s", i ? "," : "",
                     nc_quantity_format(NC_UNIT_DURATION, table->at[i], from, sizeof from),
                     nc_quantity_format(NC_UNIT_RATE, table->at[i + 1], rate, sizeof rate));
    return buf;
}
