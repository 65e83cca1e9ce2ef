/* The catalog of congestion controls, with their sources and parameters as the algorithms' headers declare them. */
#ifndef CC_CATALOG_H
#define CC_CATALOG_H

#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

#define CC_PARAMS_MAX 16
#define CC_NAMES_TEXT 120

struct cc_param {
    const char *name, *help;
    double value, least, most; /* the default and the allowed range */
};

struct cc_entry {
    const char *name;    /* "lfp_xys" */
    const char *section; /* section of its object that holds the parameters: ".rodata.xys"; NULL: no BPF program */
    const char *source;
    /* the parameters, in the order of the program's struct, where each is a u32 in Q16 */
    const struct cc_param *params;
    size_t n_params;
};

/* A user's choice: an entry and a value for each of its parameters. */
struct cc_choice {
    const struct cc_entry *entry;
    uint32_t values_q16[CC_PARAMS_MAX];
    /* The user set a parameter. It is then an error if the algorithm is already loaded with other values. */
    int given;
};

size_t cc_catalog(const struct cc_entry **entries);

/* Returns NULL when the catalog has no entry of that name. */
const struct cc_entry *cc_find(const char *name);

/* Returns the names of all entries for messages: "lfp_cpeak, lfp_fast, …". */
const char *cc_names(char out[CC_NAMES_TEXT]);

/* Returns the choice of this entry with the default of every parameter. */
struct cc_choice cc_choice_of(const struct cc_entry *entry);

/* Sets one parameter by KEY=VALUE. Returns 0, or -1 with an error that names the parameters or the range. */
int cc_choice_set(struct cc_choice *choice, const char *assignment, struct nc_error *error);

/* Parses "NAME" or "NAME:KEY=VALUE,KEY=VALUE…". Returns 1 for a name of the catalog, 0 for another name. Returns -1 for
 * a bad parameter, for parameters of another name, and for a name that begins with "lfp_" and is not in the catalog. */
int cc_choice_parse(struct cc_choice *choice, const char *text, struct nc_error *error);

#endif
