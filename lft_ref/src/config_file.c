#include "config_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const char *path;
    const struct nc_option *rows;
    size_t n;
    struct config_arguments *out;
    char *why;
    size_t why_size;
};

static int add(struct config_arguments *out, char *argument)
{
    if (out->n == out->size) {
        size_t size = out->size ? 2 * out->size : 32;
        char **at = realloc(out->at, size * sizeof *at);
        if (!at)
            return -1;
        out->at = at;
        out->size = size;
    }
    out->at[out->n++] = argument;
    return argument ? 0 : -1;
}

/* The option of that table and key; sets *where to the table that a key of this name belongs to. */
static const struct nc_option *find(const struct reading *reading, const char *table, const char *key, const char **where)
{
    const char *section = "";
    *where = NULL;
    for (size_t i = 0; i < reading->n; i++) {
        const struct nc_option *row = &reading->rows[i];
        char name[64];
        if (row->kind == NC_OPT_SECTION) {
            section = row->name;
            continue;
        }
        snprintf(name, sizeof name, "%s", row->name);
        for (char *c = name; *c; c++)
            *c = *c == '-' ? '_' : *c;
        if (strcmp(name, key) != 0)
            continue;
        *where = section;
        if (strcmp(section, table) == 0 && section[0])
            return row;
    }
    return NULL;
}

static int take(void *user, const char *table, const char *key, const char *text, bool is_flag, unsigned line)
{
    struct reading *reading = user;
    const char *where;
    char reason[300];
    const struct nc_option *row = find(reading, table, key, &where);
    char scratch[4096];
    if (!row && where && where[0])
        snprintf(reason, sizeof reason, "'%s' belongs under [%s]", key, where);
    else if (!row)
        snprintf(reason, sizeof reason, "[%.40s] has no key '%.60s'; see lft-gateway(1)", table, key);
    else if (is_flag != (row->kind == NC_OPT_FLAG))
        snprintf(reason, sizeof reason, "'%s': want %s", key, row->kind == NC_OPT_FLAG ? "true or false" : "a text or a number");
    else if (is_flag && strcmp(text, "true") != 0)
        return 0;
    else {
        char *argument = NULL;
        struct nc_strings list = {0};
        void *trial = row->kind == NC_OPT_LIST ? (void *)&list : (void *)scratch;
        struct nc_option copy = *row;
        copy.offset = 0;
        if (nc_option_set(&copy, text, trial, reason, sizeof reason) == 0) {
            int failed = is_flag ? asprintf(&argument, "--%s", row->name) : asprintf(&argument, "--%s=%s", row->name, text);
            if (failed >= 0 && add(reading->out, argument) == 0)
                return 0;
            snprintf(reason, sizeof reason, "out of memory");
        }
    }
    snprintf(reading->why, reading->why_size, "%s:%u: %s", reading->path, line, reason);
    return -1;
}

int config_file_read(const char *path, const struct nc_option *rows, size_t n, struct config_arguments *out, char *why, size_t why_size)
{
    struct reading reading = {path, rows, n, out, why, why_size};
    int failed = config_toml_walk(path, take, &reading, why, why_size);
    for (char *c = why; failed && *c; c++)
        *c = (unsigned char)*c < ' ' ? ' ' : *c; /* what was quoted from the file stays in the line */
    return failed;
}
