/* Reads the keys of the file. */
#include "config_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "toml_values.h"

struct reading {
    const char *path;
    const struct nc_option *rows;
    size_t n;
    struct config_arguments *out;
    struct nc_error *error;
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

/* Returns the option for a table and key, or NULL. *where becomes the table to which a key of this name belongs, for
 * the error message; NULL: no table has such a key. */
static const struct nc_option *find(const struct reading *reading, const char *table, const char *key,
                                    const char **where)
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

/* Adds the argument that sets `row` to `text`, if the value is valid. */
static int add_argument(struct config_arguments *out, const struct nc_option *row, const char *text,
                        struct nc_error *error)
{
    char *argument = NULL, scratch[4096];
    struct nc_strings list = {0};
    struct nc_option copy = *row;
    copy.offset = 0;
    if (nc_option_set(&copy, text, row->kind == NC_OPT_LIST ? (void *)&list : (void *)scratch, error) < 0)
        return -1;
    int bytes = row->kind == NC_OPT_FLAG ? asprintf(&argument, "--%s", row->name)
                                         : asprintf(&argument, "--%s=%s", row->name, text);
    if (bytes >= 0 && add(out, argument) == 0)
        return 0;
    return nc_fail(error, NC_EXIT_FAILED, "out of memory");
}

static int take(void *user, const char *table, const char *key, const char *text, bool is_flag, unsigned line)
{
    struct reading *reading = user;
    const char *where;
    struct nc_error reason;
    const struct nc_option *row = find(reading, table, key, &where);
    if (!row && where && where[0])
        nc_fail(&reason, NC_EXIT_USAGE, "'%s' belongs under [%s]", key, where);
    else if (!row)
        nc_fail(&reason, NC_EXIT_USAGE, "[%.40s] has no key '%.60s'; see lft-gateway(1)", table, key);
    else if (is_flag != (row->kind == NC_OPT_FLAG))
        nc_fail(&reason, NC_EXIT_USAGE, "'%s': want %s", key,
                row->kind == NC_OPT_FLAG ? "true or false" : "a text or a number");
    else if ((is_flag && strcmp(text, "true") != 0) || add_argument(reading->out, row, text, &reason) == 0)
        return 0;
    return nc_fail(reading->error, NC_EXIT_USAGE, "%s:%u: %s", reading->path, line, reason.text);
}

int config_file_read(const char *path, const struct nc_option *rows, size_t n, struct config_arguments *out,
                     struct nc_error *error)
{
    struct reading reading = {path, rows, n, out, error};
    int failed = toml_values(path, take, &reading, error);
    for (char *c = error->text; failed && *c; c++)
        /* the message must stay one line although it quotes the file, which may contain control characters */
        *c = (unsigned char)*c < ' ' ? ' ' : *c;
    return failed;
}
