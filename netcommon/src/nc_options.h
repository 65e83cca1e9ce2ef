/* Command-line options as a table: a row for each option, with default, range, unit and help. getopt_long does the
 * parsing. `--help`, `--options-json` and every error message are made from the row, and a value lands in the caller's
 * settings struct at the row's offset, so no option is named twice.
 *
 * `--options-json` is a hidden option of every verb of every tool. It prints the table as one JSON object:
 *
 *     {"tool": "comet-delay", "verb": "run", "options": [
 *       {"name": "poll", "letter": null, "kind": "quantity", "unit": "duration", "default": 50000,
 *        "default_text": "50us", "minimum": 0, "minimum_text": "0ns", "maximum": 10000000, "maximum_text": "10ms",
 *        "choices": null, "metavar": "DURATION", "help": "…"}, …]}
 *
 * A quantity's default and bounds are integers in its base unit, and text as a user would type it. These are null:
 * `verb` for a tool without verbs; `letter`, `unit`, `choices` and `metavar` if the option has none; `default` if there
 * is none; `maximum` if there is no upper bound. Scenario validation, manual pages and shell completion are derived
 * from this output or tested against it (netcommon/options.py). */
#ifndef NC_OPTIONS_H
#define NC_OPTIONS_H

#include "nc_option.h"

struct nc_usage {
    const char *synopsis; /* "rttcp -t HOST [options]" lines, \n-separated */
    const char *purpose;  /* one sentence */
    const char *epilog;   /* examples; may be NULL */
};

/* Fills `settings` with the defaults, then with argv[1…]. argv[0] is the program's name or, for a verb, the verb's.
 * Prints and exits with status 0 on --help, -h and --options-json. On a bad value it ends the program (nc_die, status
 * 2) with one line that names the option, the value and what is allowed. Returns the index of the first positional
 * argument (GNU permutation applies). `given`, when not NULL, has a bool for each row: whether the user set it. A
 * mistake in the table (a duplicate name, a bad default) is our bug and asserts. */
int nc_options_parse(const struct nc_option *table, size_t n, const struct nc_usage *usage, void *settings, bool *given,
                     int argc, char **argv);

#endif
