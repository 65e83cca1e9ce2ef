#include "nc_option.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *field(const struct nc_option *row, void *settings)
{
    return (char *)settings + row->offset;
}

static int choice_index(const struct nc_option *row, const char *text)
{
    for (int i = 0; row->choices[i]; i++)
        if (strcmp(row->choices[i], text) == 0)
            return i;
    return -1;
}

void nc_option_join_choices(const struct nc_option *row, const char *separator, char *out, size_t size)
{
    out[0] = '\0';
    for (int i = 0; row->choices[i]; i++) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s", i ? separator : "", row->choices[i]);
    }
}

static int set_quantity(const struct nc_option *row, const char *text, uint64_t *value, struct nc_error *error)
{
    struct nc_error why;
    char low[40], high[40];
    if (nc_quantity_parse(row->unit, text, value, &why) < 0)
        return nc_fail(error, why.status, "--%s '%.80s': %s", row->name, text, why.text);
    if (*value >= row->min && (row->max == 0 || *value <= row->max))
        return 0;
    nc_quantity_format(row->unit, row->min, low, sizeof low);
    if (row->max)
        return nc_fail(error, NC_EXIT_USAGE, "--%s '%.80s': out of range; allowed is %s to %s", row->name, text, low,
                       nc_quantity_format(row->unit, row->max, high, sizeof high));
    return nc_fail(error, NC_EXIT_USAGE, "--%s '%.80s': out of range; allowed is %s or more", row->name, text, low);
}

static int copy_text(const struct nc_option *row, char *to, const char *text, struct nc_error *error)
{
    size_t len = strlen(text);
    if (len >= row->max)
        return nc_fail(error, NC_EXIT_USAGE, "--%s '%.40s…': longer than %" PRIu64 " characters", row->name, text,
                       row->max - 1);
    memcpy(to, text, len + 1);
    return 0;
}

static int too_many(const struct nc_option *row, const char *text, struct nc_error *error)
{
    return nc_fail(error, NC_EXIT_USAGE, "--%s '%.80s': given more than %d times", row->name, text, NC_STRINGS_MAX);
}

static int append_quantity(const struct nc_option *row, struct nc_quantities *list, const char *text,
                           struct nc_error *error)
{
    uint64_t value;
    if (set_quantity(row, text, &value, error) < 0)
        return -1;
    if (!list->given)
        list->n = 0;
    else if (list->n == NC_STRINGS_MAX)
        return too_many(row, text, error);
    list->given = true;
    list->at[list->n++] = value;
    return 0;
}

static int append(const struct nc_option *row, struct nc_strings *list, const char *text, struct nc_error *error)
{
    if (list->n == NC_STRINGS_MAX)
        return too_many(row, text, error);
    list->at[list->n++] = text;
    return 0;
}

int nc_option_set(const struct nc_option *row, const char *text, void *settings, struct nc_error *error)
{
    char allowed[256];
    uint64_t value;
    int index;
    switch (row->kind) {
    case NC_OPT_FLAG:
        *(bool *)field(row, settings) = true;
        return 0;
    case NC_OPT_STRING:
        *(const char **)field(row, settings) = text;
        return 0;
    case NC_OPT_TEXT:
        return copy_text(row, field(row, settings), text, error);
    case NC_OPT_LIST:
        return append(row, field(row, settings), text, error);
    case NC_OPT_CHOICE:
        index = choice_index(row, text);
        if (index < 0) {
            nc_option_join_choices(row, ", ", allowed, sizeof allowed);
            return nc_fail(error, NC_EXIT_USAGE, "--%s '%.80s': allowed is one of %s", row->name, text, allowed);
        }
        *(int *)field(row, settings) = index;
        return 0;
    case NC_OPT_QUANTITY:
        if (set_quantity(row, text, &value, error) < 0)
            return -1;
        *(uint64_t *)field(row, settings) = value;
        return 0;
    case NC_OPT_QUANTITIES:
        return append_quantity(row, field(row, settings), text, error);
    case NC_OPT_SECTION:
        break;
    }
    assert(!"a section is not an option");
    return -1;
}

static void set_default(const struct nc_option *row, void *settings)
{
    struct nc_error error;
    switch (row->kind) {
    case NC_OPT_FLAG:
        *(bool *)field(row, settings) = false;
        break;
    case NC_OPT_STRING:
        *(const char **)field(row, settings) = NULL;
        break;
    case NC_OPT_TEXT:
        *(char *)field(row, settings) = '\0';
        break;
    case NC_OPT_LIST:
        ((struct nc_strings *)field(row, settings))->n = 0;
        break;
    case NC_OPT_CHOICE:
        *(int *)field(row, settings) = 0;
        break;
    case NC_OPT_QUANTITY:
        *(uint64_t *)field(row, settings) = 0;
        break;
    case NC_OPT_QUANTITIES:
        *(struct nc_quantities *)field(row, settings) = (struct nc_quantities){0};
        break;
    case NC_OPT_SECTION:
        return;
    }
    if (row->default_text && nc_option_set(row, row->default_text, settings, &error) < 0) {
        fprintf(stderr, "bad default: %s\n", error.text);
        abort();
    }
    if (row->kind == NC_OPT_QUANTITIES)
        /* so that the user's first value replaces the default */
        ((struct nc_quantities *)field(row, settings))->given = false;
}

void nc_options_defaults(const struct nc_option *table, size_t n, void *settings)
{
    for (size_t i = 0; i < n; i++)
        set_default(&table[i], settings);
}
