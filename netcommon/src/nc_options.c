/* getopt_long does the parsing. This file turns the rows into its tables, and prints them for people (--help) and for
 * programs (--options-json). */
#include "nc_options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nc_log.h"
#include "nc_near.h"

enum { LONG_BASE = 0x1000 }; /* getopt returns LONG_BASE + i for row i, which is above every letter */
enum { VALUE_HELP = LONG_BASE - 2, VALUE_JSON = LONG_BASE - 1 };

static const char *const kind_names[] = {
    [NC_OPT_FLAG] = "flag",     [NC_OPT_STRING] = "string",     [NC_OPT_TEXT] = "text",
    [NC_OPT_CHOICE] = "choice", [NC_OPT_QUANTITY] = "quantity", [NC_OPT_QUANTITIES] = "quantities",
    [NC_OPT_LIST] = "list",
};
_Static_assert(sizeof kind_names / sizeof kind_names[0] == NC_OPT_SECTION, "a name for every kind with a value");

/* Writes the placeholder for an option's value in --help: "HOST", "fast|slow", "DURATION"; empty for a flag. */
static void metavar(const struct nc_option *row, char *out, size_t size)
{
    out[0] = '\0';
    if (row->kind == NC_OPT_FLAG)
        return;
    if (row->metavar)
        snprintf(out, size, "%s", row->metavar);
    else if (row->kind == NC_OPT_CHOICE)
        nc_option_join_choices(row, "|", out, size);
    else if (nc_option_is_quantity(row)) {
        snprintf(out, size, "%s", nc_unit_name(row->unit));
        for (char *c = out; *c; c++)
            if (*c >= 'a' && *c <= 'z')
                *c = (char)(*c - 'a' + 'A');
    } else
        snprintf(out, size, "TEXT");
}

/* Writes the range of a quantity as error messages print it; empty where every value is allowed. */
static void print_range(const struct nc_option *row)
{
    char low[40], high[40];
    if (!nc_option_is_quantity(row) || (row->min == 0 && row->max == 0))
        return;
    nc_quantity_format(row->unit, row->min, low, sizeof low);
    if (row->max)
        printf(" (%s to %s)", low, nc_quantity_format(row->unit, row->max, high, sizeof high));
    else
        printf(" (%s or more)", low);
}

static void print_row(const struct nc_option *row)
{
    char left[160], value[128];
    if (row->kind == NC_OPT_SECTION) {
        printf("\n%s:\n", row->name);
        return;
    }
    metavar(row, value, sizeof value);
    const char *space = value[0] ? " " : "";
    if (row->letter)
        snprintf(left, sizeof left, "-%c, --%s%s%s", row->letter, row->name, space, value);
    else
        snprintf(left, sizeof left, "    --%s%s%s", row->name, space, value);
    printf("  %-30s %s%s", left, strlen(left) > 30 ? "\n                                 " : "", row->help);
    if (row->default_text)
        printf(" [%s]", row->default_text);
    print_range(row);
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

/* Adds a bound as an integer under `name` and as text under `name`_text; both are null when there is no bound. */
static void add_bound(json_t *object, const char *name, const struct nc_option *row, bool present, uint64_t value)
{
    char text[40], text_name[24];
    snprintf(text_name, sizeof text_name, "%s_text", name);
    nc_quantity_format(row->unit, value, text, sizeof text);
    json_object_set_new(object, name, present ? json_integer((json_int_t)value) : json_null());
    json_object_set_new(object, text_name, present ? json_string(text) : json_null());
}

/* Returns a row's default for --options-json: a quantity in its base unit, a flag as false, others as text. */
static json_t *default_value(const struct nc_option *row)
{
    uint64_t value;
    struct nc_error why;
    if (row->kind == NC_OPT_FLAG)
        return json_false();
    if (!row->default_text)
        return json_null();
    if (nc_option_is_quantity(row) && nc_quantity_parse(row->unit, row->default_text, &value, &why) == 0)
        return json_integer((json_int_t)value);
    return json_string(row->default_text);
}

static json_t *choices_json(const struct nc_option *row)
{
    if (row->kind != NC_OPT_CHOICE)
        return json_null();
    json_t *choices = json_array();
    for (int i = 0; row->choices[i]; i++)
        json_array_append_new(choices, json_string(row->choices[i]));
    return choices;
}

static json_t *row_json(const struct nc_option *row)
{
    char letter[2] = {row->letter, '\0'}, value[128];
    bool quantity = nc_option_is_quantity(row);
    metavar(row, value, sizeof value);
    json_t *object =
        json_pack("{s:s, s:s?, s:s, s:s?, s:o, s:s?}", "name", row->name, "letter", letter[0] ? letter : NULL, "kind",
                  kind_names[row->kind], "unit", quantity ? nc_unit_name(row->unit) : NULL, "default",
                  default_value(row), "default_text", row->default_text);
    add_bound(object, "minimum", row, quantity, row->min);
    add_bound(object, "maximum", row, quantity && row->max, row->max);
    json_object_set_new(object, "choices", choices_json(row));
    json_object_set_new(object, "metavar", value[0] ? json_string(value) : json_null());
    json_object_set_new(object, "help", json_string(row->help));
    return object;
}

static void print_json(const struct nc_option *table, size_t n, const char *tool, const char *verb)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < n; i++)
        if (table[i].kind != NC_OPT_SECTION)
            json_array_append_new(rows, row_json(&table[i]));
    json_t *object = json_pack("{s:s, s:s?, s:o}", "tool", tool, "verb", verb, "options", rows);
    json_dumpf(object, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(object);
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
    built.letters[letters++] = ':'; /* the colon makes getopt distinguish a missing value from an unknown option */
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

/* Ends the program because of an unknown option. `word` is the option as typed: --delya=5ms. */
static void die_unknown(const char *word, const struct option *longs)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    struct nc_near near = {.word = name};
    for (size_t i = 0; longs[i].name; i++)
        nc_near_show(&near, longs[i].name);
    if (near.name)
        nc_die(NC_EXIT_USAGE, "%s: no such option; did you mean --%s? see --help", word, near.name);
    nc_die(NC_EXIT_USAGE, "%s: no such option, or short for several; see --help", word);
}

static void die_unparsed(int value, char **argv, const struct option *longs)
{
    const char *word = argv[optind - 1];
    if (value == ':')
        nc_die(NC_EXIT_USAGE, "%s: wants a value; see --help", word);
    if (optopt && optopt < LONG_BASE)
        nc_die(NC_EXIT_USAGE, "-%c: no such option; see --help", optopt);
    if (optopt)
        nc_die(NC_EXIT_USAGE, "%s: takes no value; see --help", word);
    die_unknown(word, longs);
}

/* Returns the verb, or NULL when `word` is the program's name. The argv of a verb begins with the verb's name, the argv
 * of a tool with the program's name. */
static const char *verb_of(const char *word)
{
    return strcmp(word, program_invocation_name) == 0 ? NULL : word;
}

int nc_options_parse(const struct nc_option *table, size_t n, const struct nc_usage *usage, void *settings, bool *given,
                     int argc, char **argv)
{
    struct getopt_tables tables = build_tables(table, n);
    nc_options_defaults(table, n, settings);
    if (given)
        memset(given, 0, n * sizeof *given);
    optind = 0; /* 0 makes glibc start again, because a tool with subcommands parses more than once */
    opterr = 0;
    for (int value; (value = getopt_long(argc, argv, tables.letters, tables.longs, NULL)) != -1;) {
        struct nc_error error;
        if (value == VALUE_HELP || value == 'h' || value == VALUE_JSON) {
            free_tables(&tables);
            if (value == VALUE_JSON)
                print_json(table, n, program_invocation_short_name, verb_of(argv[0]));
            else
                print_help(table, n, usage);
            exit(NC_EXIT_OK);
        }
        const struct nc_option *row = value >= LONG_BASE             ? &table[value - LONG_BASE]
                                      : value == '?' || value == ':' ? NULL
                                                                     : by_letter(table, n, value);
        if (!row)
            die_unparsed(value, argv, tables.longs);
        if (nc_option_set(row, optarg, settings, &error) < 0)
            nc_die(error.status, "%s", error.text);
        if (given)
            given[row - table] = true;
    }
    free_tables(&tables);
    return optind;
}
