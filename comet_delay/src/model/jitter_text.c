/* The text forms of jitter models. */
#include "jitter_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_text.h"

enum { PATH_BYTES_MAX = 4096 };

/* clang-format off */
static const char *const prefixes[] = {
    [JITTER_NONE] = "none",      [JITTER_UNIFORM] = "uniform:",           [JITTER_NORMAL] = "normal:",
    [JITTER_PARETO] = "pareto:", [JITTER_PARETONORMAL] = "paretonormal:", [JITTER_TABLE] = "table:",
    [JITTER_DIST] = "dist:",     [JITTER_TRACE] = "trace:",
};
/* clang-format on */
_Static_assert(sizeof prefixes / sizeof prefixes[0] == JITTER_KINDS, "a prefix for every kind");

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void mean_and_sd(const struct table *table, double *mean, double *sd)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < table->n; i++)
        sum += (double)(int64_t)table->at[i];
    *mean = sum / (double)table->n;
    for (size_t i = 0; i < table->n; i++) {
        double off = (double)(int64_t)table->at[i] - *mean;
        squares += off * off;
    }
    *sd = sqrt(squares / (double)table->n);
}

static int parse_spread(const char *text, struct jitter_model *model, struct nc_error *error)
{
    if (model_quantity(NC_UNIT_DURATION, text, &model->spread_ns, error) < 0)
        return -1;
    if (model->spread_ns > JITTER_SPREAD_MAX_NS)
        return nc_fail(error, NC_EXIT_USAGE, "'%.40s': more than 60s", text);
    return 0;
}

static int parse_correlation(const char *text, struct jitter_model *model, struct nc_error *error)
{
    if (model_quantity(NC_UNIT_RATIO, text, &model->correlation_ppb, error) < 0)
        return -1;
    if (model->correlation_ppb > JITTER_CORRELATION_MAX_PPB)
        return nc_fail(error, NC_EXIT_USAGE, "'%.40s': want a correlation of 0%% to 99.9%%", text);
    return 0;
}

/* Splits "…,LAST" at its last comma. NULL when there is no comma. */
static char *cut_last(char *text)
{
    char *comma = strrchr(text, ',');
    if (!comma)
        return NULL;
    *comma = '\0';
    return comma + 1;
}

/* A last item that ends in % is the correlation, so a file's name may have commas. */
static int parse_file(char *text, struct jitter_model *model, struct nc_error *error)
{
    size_t len = strlen(text);
    char *last;
    if (model->kind != JITTER_TRACE && len && text[len - 1] == '%' && (last = cut_last(text)) &&
        parse_correlation(last, model, error) < 0)
        return -1;
    if (model->kind == JITTER_DIST) {
        if (!(last = cut_last(text)))
            return nc_fail(error, NC_EXIT_USAGE, "want dist:FILE,DEVIATION, such as dist:/usr/lib/tc/pareto.dist,2ms");
        if (parse_spread(last, model, error) < 0)
            return -1;
    }
    if (!*text)
        return nc_fail(error, NC_EXIT_USAGE, "want the name of a file after %s", prefixes[model->kind]);
    model->table = table_read(text, model->kind == JITTER_DIST ? TABLE_NETEM : TABLE_DURATIONS, error);
    if (!model->table)
        return -1;
    if (model->kind != JITTER_TRACE)
        qsort(model->table->at, model->table->n, sizeof model->table->at[0], by_value);
    mean_and_sd(model->table, &model->table_mean, &model->table_sd);
    if (model->kind == JITTER_DIST && model->table_sd <= 0)
        return nc_fail(error, NC_EXIT_USAGE, "%s: all numbers are the same; nothing to scale", text);
    return 0;
}

static int parse_formula(const char *text, struct jitter_model *model, struct nc_error *error)
{
    char item[MODEL_ITEM_MAX] = "", second[MODEL_ITEM_MAX] = "";
    if (!model_item(&text, item) || (text && (!model_item(&text, second) || text)))
        return nc_fail(error, NC_EXIT_USAGE, "want [DISTRIBUTION:]DURATION[,CORRELATION], such as normal:2ms,25%%");
    if (parse_spread(item, model, error) < 0)
        return -1;
    return second[0] ? parse_correlation(second, model, error) : 0;
}

static int parse_kind(const char *text, struct jitter_model *model, struct nc_error *error)
{
    char copy[PATH_BYTES_MAX];
    if (strlen(text) >= sizeof copy)
        return nc_fail(error, NC_EXIT_USAGE, "longer than %d characters", PATH_BYTES_MAX - 1);
    if (!strchr(text, ':')) {
        model->kind = strcmp(text, "none") == 0 ? JITTER_NONE : JITTER_UNIFORM;
        return model->kind == JITTER_NONE ? 0 : parse_formula(text, model, error);
    }
    for (model->kind = JITTER_UNIFORM; model->kind < JITTER_KINDS; model->kind++) {
        size_t len = strlen(prefixes[model->kind]);
        if (strncmp(text, prefixes[model->kind], len) != 0)
            continue;
        strcpy(copy, text + len);
        return model->kind >= JITTER_TABLE ? parse_file(copy, model, error) : parse_formula(copy, model, error);
    }
    return nc_fail(error, NC_EXIT_USAGE,
                   "no such jitter model; want a duration such as 2ms, or uniform:, normal:, pareto:, "
                   "paretonormal:, table:, dist:, trace:, or none");
}

int jitter_model_parse(const char *text, struct jitter_model *model, struct nc_error *error)
{
    struct jitter_model parsed = {0};
    if (parse_kind(text, &parsed, error) < 0) {
        jitter_model_free(&parsed);
        return -1;
    }
    if (parsed.kind < JITTER_TABLE && !parsed.spread_ns)
        parsed = (struct jitter_model){0};
    if (parsed.correlation_ppb)
        parsed.score_correlation = jitter_solve_correlation(&parsed);
    *model = parsed;
    return 0;
}

const char *jitter_model_format(const struct jitter_model *model, char *buf, size_t size)
{
    char text[40];
    snprintf(buf, size, "%s%s", prefixes[model->kind], model->table ? model->table->source : "");
    if (model->kind != JITTER_NONE && (!model->table || model->kind == JITTER_DIST))
        model_append(buf, size, "%s%s", model->table ? "," : "",
                     nc_quantity_format(NC_UNIT_DURATION, model->spread_ns, text, sizeof text));
    if (model->correlation_ppb)
        model_append(buf, size, ",%s", nc_quantity_format(NC_UNIT_RATIO, model->correlation_ppb, text, sizeof text));
    return buf;
}
