/* Command-line options as a table: one row an option, with default, range, unit and help. getopt_long does the parsing;
 * `--help`, `--options-json` (from which man page and completion are checked) and every error message come from the row.
 * Values land in the caller's settings struct at the row's offset, so no option is named twice. */
#ifndef NC_OPTIONS_H
#define NC_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_quantity.h"

enum nc_option_kind {
    NC_OPT_FLAG,     /* bool: present or not */
    NC_OPT_STRING,   /* const char *, pointing into argv */
    NC_OPT_TEXT,     /* char[max]: a copy, so that the settings are plain data */
    NC_OPT_CHOICE,   /* int: index into .choices */
    NC_OPT_QUANTITY, /* uint64_t in the base unit of .unit, within min … max */
    NC_OPT_LIST,     /* struct nc_strings: may be given several times */
    NC_OPT_SECTION,  /* a heading in --help; no value */
};

#define NC_STRINGS_MAX 16
struct nc_strings {
    size_t n;
    const char *at[NC_STRINGS_MAX];
};

struct nc_option {
    const char *name; /* long name without dashes; heading text for a section */
    char letter;      /* short form, or 0 */
    enum nc_option_kind kind;
    enum nc_unit unit;          /* quantities */
    const char *default_text;   /* as a user would type it; NULL: none (zero, NULL, false) */
    uint64_t min, max;          /* quantities, base unit; max 0 means no upper bound; texts: max is the array's size */
    const char *const *choices; /* choices, NULL-terminated */
    const char *metavar;        /* "HOST"; NULL: derived from kind and unit */
    const char *help;           /* one sentence, no full stop */
    size_t offset;              /* offsetof(struct settings, field) */
};

struct nc_usage {
    const char *synopsis; /* "rttcp -t HOST [options]" lines, \n-separated */
    const char *purpose;  /* one sentence */
    const char *epilog;   /* examples; may be NULL */
};

/* Fills `settings` with defaults, then with argv[1…]. Prints help and exits 0 on --help / -h and --options-json; on a
 * bad value dies (nc_die) with one line that names option, value and what is allowed, status 2. Returns the index of the first
 * positional argument (GNU permutation applies). If `given` is not NULL it has one bool a row: set on the command line.
 * A table mistake (duplicate name, bad default) is our bug and asserts. */
int nc_options_parse(const struct nc_option *table, size_t n, const struct nc_usage *usage, void *settings, bool *given,
                     int argc, char **argv);

/* Fills in the defaults only. */
void nc_options_defaults(const struct nc_option *table, size_t n, void *settings);

/* Parses one value for one row, as from a control socket. 0, or -1 with a one-line reason that names the option, the
 * value and what is allowed. */
int nc_option_set(const struct nc_option *row, const char *text, void *settings, char *why, size_t why_size);

#endif
