/* One option: a row with name, default, range, unit and help, and the way in which its value gets into the caller's
 * settings. nc_options.h parses command lines by such rows; a control socket sets single ones. */
#ifndef NC_OPTION_H
#define NC_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"
#include "nc_quantity.h"

enum nc_option_kind {
    NC_OPT_FLAG,       /* bool: present or not */
    NC_OPT_STRING,     /* const char *, pointing into argv */
    NC_OPT_TEXT,       /* char[max]: a copy, so that the settings are plain data */
    NC_OPT_CHOICE,     /* int: index into .choices */
    NC_OPT_QUANTITY,   /* uint64_t in the base unit of .unit, within min … max */
    NC_OPT_QUANTITIES, /* struct nc_quantities: the same, may be given several times */
    NC_OPT_LIST,       /* struct nc_strings: may be given several times */
    NC_OPT_SECTION,    /* a heading in --help, without a value; the last kind */
};

#define NC_STRINGS_MAX 16
struct nc_strings {
    size_t n;
    const char *at[NC_STRINGS_MAX];
};

/* The values of an option that may be repeated; without a value from the user, the default. */
struct nc_quantities {
    size_t n;
    bool given;
    uint64_t at[NC_STRINGS_MAX];
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

/* Macros for the rows of a table. The including file defines OFFSET(field) for a member of its settings. Arguments
 * after `help` are further members of the row, such as .letter = 'p'. */
#define NC_SECTION(title) {.name = title, .kind = NC_OPT_SECTION}
#define NC_FLAG(name_, field, help_, ...)                                                                              \
    {.name = name_, .kind = NC_OPT_FLAG, .help = help_, .offset = OFFSET(field), __VA_ARGS__}
#define NC_STRING(name_, field, metavar_, help_, ...)                                                                  \
    {.name = name_, .kind = NC_OPT_STRING, .metavar = metavar_, .help = help_, .offset = OFFSET(field), __VA_ARGS__}
#define NC_LIST(name_, field, metavar_, help_, ...)                                                                    \
    {.name = name_, .kind = NC_OPT_LIST, .metavar = metavar_, .help = help_, .offset = OFFSET(field), __VA_ARGS__}
#define NC_CHOICE(name_, field, names, default_, help_, ...)                                                           \
    {.name = name_,                                                                                                    \
     .kind = NC_OPT_CHOICE,                                                                                            \
     .choices = names,                                                                                                 \
     .default_text = default_,                                                                                         \
     .help = help_,                                                                                                    \
     .offset = OFFSET(field),                                                                                          \
     __VA_ARGS__}
#define NC_QUANTITY(name_, field, unit_, default_, min_, max_, help_, ...)                                             \
    {.name = name_,                                                                                                    \
     .kind = NC_OPT_QUANTITY,                                                                                          \
     .unit = unit_,                                                                                                    \
     .default_text = default_,                                                                                         \
     .min = min_,                                                                                                      \
     .max = max_,                                                                                                      \
     .help = help_,                                                                                                    \
     .offset = OFFSET(field),                                                                                          \
     __VA_ARGS__}

/* "fast, slow": the names of a choice with `separator` between them. */
void nc_option_join_choices(const struct nc_option *row, const char *separator, char *out, size_t size);

/* True for an option whose values have a unit and a range. */
static inline bool nc_option_is_quantity(const struct nc_option *row)
{
    return row->kind == NC_OPT_QUANTITY || row->kind == NC_OPT_QUANTITIES;
}

/* Fills in the defaults only. */
void nc_options_defaults(const struct nc_option *table, size_t n, void *settings);

/* Parses one value for one row, for a control socket. Returns 0, or -1 with an error that names the option, the value
 * and what is allowed; then the setting is unchanged. */
int nc_option_set(const struct nc_option *row, const char *text, void *settings, struct nc_error *error);

#endif
