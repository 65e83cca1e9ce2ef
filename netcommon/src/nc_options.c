/* getopt_long does the parsing; this file turns rows into its tables and values into settings. */
#include "nc_options.h"

#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nc_log.h"

enum { LONG_BASE = 0x1000 }; /* getopt value of row i: LONG_BASE + i, above every letter */
enum { VALUE_HELP = LONG_BASE - 2, VALUE_JSON = LONG_BASE - 1 };

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

static void join_choices(const struct nc_option *row, const char *separator, char *out, size_t size)
{
    out[0] = '\0';
    for (int i = 0; row->choices[i]; i++) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s", i ? separator : "", row->choices[i]);
    }
}

static int set_quantity(const struct nc_option *row, const char *text, uint64_t *value, char *why, size_t why_size)
{
    char reason[160], low[40], high[40];
    if (nc_quantity_parse(row->unit, text, value, reason, sizeof reason) < 0) {
        snprintf(why, why_size, "--%s '%.80s': %s", row->name, text, reason);
        return -1;
    }
    if (*value >= row->min && (row->max == 0 || *value <= row->max))
        return 0;
    nc_quantity_format(row->unit, row->min, low, sizeof low);
    if (row->max)
        snprintf(why, why_size, "--%s '%.80s': out of range; allowed is %s to %s", row->name, text, low,
                 nc_quantity_format(row->unit, row->max, high, sizeof high));
    else
        snprintf(why, why_size, "--%s '%.80s': out of range; allowed is %s or more", row->name, text, low);
    return -1;
}

static int copy_text(const struct nc_option *row, char *to, const char *text, char *why, size_t why_size)
{
    size_t len = strlen(text);
    if (len >= row->max) {
        snprintf(why, why_size, "--%s '%.40s…': longer than %" PRIu64 " characters", row->name, text, row->max - 1);
        return -1;
    }
    memcpy(to, text, len + 1);
    return 0;
}

static int append(const struct nc_option *row, struct nc_strings *list, const char *text, char *why, size_t why_size)
{
    if (list->n == NC_STRINGS_MAX) {
        snprintf(why, why_size, "--%s '%.80s': given more than %d times", row->name, text, NC_STRINGS_MAX);
        return -1;
    }
    list->at[list->n++] = text;
    return 0;
}

int nc_option_set(const struct nc_option *row, const char *text, void *settings, char *why, size_t why_size)
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
        return copy_text(row, field(row, settings), text, why, why_size);
    case NC_OPT_LIST:
        return append(row, field(row, settings), text, why, why_size);
    case NC_OPT_CHOICE:
        index = choice_index(row, text);
        if (index < 0) {
            join_choices(row, ", ", allowed, sizeof allowed);
            snprintf(why, why_size, "--%s '%.80s': allowed is one of %s", row->name, text, allowed);
            return -1;
        }
        *(int *)field(row, settings) = index;
        return 0;
    case NC_OPT_QUANTITY:
        if (set_quantity(row, text, &value, why, why_size) < 0)
            return -1;
        *(uint64_t *)field(row, settings) = value;
        return 0;
    case NC_OPT_SECTION:
        break;
    }
    assert(!"a section is not an option");
    return -1;
}

static void set_default(const struct nc_option *row, void *settings)
{
    char why[256];
    switch (row->kind) {
    case NC_OPT_FLAG: *(bool *)field(row, settings) = false; break;
    case NC_OPT_STRING: *(const char **)field(row, settings) = NULL; break;
    case NC_OPT_TEXT: *(char *)field(row, settings) = '\0'; break;
    case NC_OPT_LIST: ((struct nc_strings *)field(row, settings))->n = 0; break;
    case NC_OPT_CHOICE: *(int *)field(row, settings) = 0; break;
    case NC_OPT_QUANTITY: *(uint64_t *)field(row, settings) = 0; break;
    case NC_OPT_SECTION: return;
    }
    if (row->default_text && nc_option_set(row, row->default_text, settings, why, sizeof why) < 0) {
        fprintf(stderr, "bad default: %s\n", why);
        abort();
    }
}

void nc_options_defaults(const struct nc_option *table, size_t n, void *settings)
{
    for (size_t i = 0; i < n; i++)
        set_default(&table[i], settings);
}

static void metavar(const struct nc_option *row, char *out, size_t size)
{
    out[0] = '\0';
    if (row->kind == NC_OPT_FLAG)
        return;
    if (row->metavar)
        snprintf(out, size, " %s", row->metavar);
    else if (row->kind == NC_OPT_CHOICE) {
        out[0] = ' ';
        join_choices(row, "|", out + 1, size - 1);
    } else if (row->kind == NC_OPT_QUANTITY) {
        snprintf(out, size, " %s", nc_unit_name(row->unit));
        for (char *c = out; *c; c++)
            if (*c >= 'a' && *c <= 'z')
                *c = (char)(*c - 'a' + 'A');
    } else
        snprintf(out, size, " TEXT");
}

static void print_row(const struct nc_option *row)
{
    char left[160], value[128], low[40], high[40];
    if (row->kind == NC_OPT_SECTION) {
        printf("\n%s:\n", row->name);
        return;
    }
    metavar(row, value, sizeof value);
    if (row->letter)
        snprintf(left, sizeof left, "-%c, --%s%s", row->letter, row->name, value);
    else
        snprintf(left, sizeof left, "    --%s%s", row->name, value);
    printf("  %-30s %s%s", left, strlen(left) > 30 ? "\n                                 " : "", row->help);
    if (row->default_text)
        printf(" [%s]", row->default_text);
    if (row->kind == NC_OPT_QUANTITY && row->max)
        printf(" (%s to %s)", nc_quantity_format(row->unit, row->min, low, sizeof low),
               nc_quantity_format(row->unit, row->max, high, sizeof high));
    printf("\n");
}

static void print_help(const struct nc_option *table, size_t n, const struct nc_usage *usage)
{
    printf("usage: %s\n\n%s\n", usage->synopsis, usage->purpose);
    if (n == 0 || table[0].kind != NC_OPT_SECTION)
        printf("\noptions:\n");
    for (size_t i = 0; i < n; i++)
        print_row(&table[i]);
    printf("  -h, --help                     this text\n");
    if (usage->epilog)
        printf("\n%s\n", usage->epilog);
}

/* The table for those who check documents against it: the man page test, completion. */
static void print_json(const struct nc_option *table, size_t n)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < n; i++) {
        if (table[i].kind == NC_OPT_SECTION)
            continue;
        char letter[2] = {table[i].letter, '\0'}, value[128];
        metavar(&table[i], value, sizeof value);
        json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s?, s:s}", "name", table[i].name, "letter", letter,
                                              "value", value[0] ? value + 1 : "", "default", table[i].default_text,
                                              "help", table[i].help));
    }
    json_dumpf(rows, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(rows);
}

/* Row of a short option letter. */
static const struct nc_option *by_letter(const struct nc_option *table, size_t n, int letter)
{
    for (size_t i = 0; i < n; i++)
        if (table[i].letter && table[i].letter == letter)
            return &table[i];
    return NULL;
}

struct getopt_tables {
    struct option *longs;
    char *letters;
};

static struct getopt_tables build_tables(const struct nc_option *table, size_t n)
{
    struct getopt_tables built = {calloc(n + 3, sizeof *built.longs), calloc(2 * n + 4, 1)};
    if (!built.longs || !built.letters)
        nc_die(NC_EXIT_MISSING, "out of memory");
    size_t longs = 0, letters = 0;
    built.letters[letters++] = ':'; /* tells a missing value from an unknown option */
    built.letters[letters++] = 'h';
    built.longs[longs++] = (struct option){"help", no_argument, NULL, VALUE_HELP};
    built.longs[longs++] = (struct option){"options-json", no_argument, NULL, VALUE_JSON};
    for (size_t i = 0; i < n; i++) {
        if (table[i].kind == NC_OPT_SECTION)
            continue;
        bool has_value = table[i].kind != NC_OPT_FLAG;
        for (size_t j = 0; j < longs; j++)
            assert(strcmp(built.longs[j].name, table[i].name) != 0);
        built.longs[longs++] =
            (struct option){table[i].name, has_value ? required_argument : no_argument, NULL, LONG_BASE + (int)i};
        if (table[i].letter) {
            built.letters[letters++] = table[i].letter;
            if (has_value)
                built.letters[letters++] = ':';
        }
    }
    return built;
}

static void free_tables(struct getopt_tables *tables)
{
    free(tables->longs);
    free(tables->letters);
}

static void die_unparsed(int value, char **argv)
{
    const char *word = argv[optind - 1];
    if (value == ':')
        nc_die(NC_EXIT_USAGE, "%s: wants a value; see --help", word);
    if (optopt && optopt < LONG_BASE)
        nc_die(NC_EXIT_USAGE, "-%c: no such option; see --help", optopt);
    if (optopt)
        nc_die(NC_EXIT_USAGE, "%s: takes no value; see --help", word);
    nc_die(NC_EXIT_USAGE, "%s: no such option, or short for several; see --help", word);
}

int nc_options_parse(const struct nc_option *table, size_t n, const struct nc_usage *usage, void *settings, bool *given,
                     int argc, char **argv)
{
    struct getopt_tables tables = build_tables(table, n);
    nc_options_defaults(table, n, settings);
    if (given)
        memset(given, 0, n * sizeof *given);
    optind = 0; /* a tool with subcommands parses more than once: glibc's full restart */
    opterr = 0;
    for (int value; (value = getopt_long(argc, argv, tables.letters, tables.longs, NULL)) != -1;) {
        char why[512];
        if (value == VALUE_HELP || value == 'h' || value == VALUE_JSON) {
            free_tables(&tables);
            if (value == VALUE_JSON)
                print_json(table, n);
            else
                print_help(table, n, usage);
            exit(NC_EXIT_OK);
        }
        const struct nc_option *row =
            value >= LONG_BASE ? &table[value - LONG_BASE] : value == '?' || value == ':' ? NULL : by_letter(table, n, value);
        if (!row)
            die_unparsed(value, argv);
        if (nc_option_set(row, optarg, settings, why, sizeof why) < 0)
            nc_die(NC_EXIT_USAGE, "%s", why);
        if (given)
            given[row - table] = true;
    }
    free_tables(&tables);
    return optind;
}
