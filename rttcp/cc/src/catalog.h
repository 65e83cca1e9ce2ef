/* The congestion controls there are, with their sources and parameters, as the algorithms' headers declare them. */
#ifndef CC_CATALOG_H
#define CC_CATALOG_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define CC_PARAMS_MAX 16
#define CC_NAMES_TEXT 120

struct cc_param {
    const char *name, *help;
    double value, least, most; /* the default, and what is allowed */
};

struct cc_entry {
    const char *name;    /* "lfp_xys" */
    const char *section; /* of its object, with its parameters: ".rodata.xys" */
    const char *source;
    const struct cc_param *params; /* in the order of the program's struct, each a u32 in Q16 */
    size_t n_params;
};

/* What a user asks for: an entry and a value for each of its parameters. */
struct cc_choice {
    const struct cc_entry *entry;
    uint32_t values_q16[CC_PARAMS_MAX];
    int given; /* some parameter was named, so another setting that is loaded already will not do */
};

size_t cc_catalog(const struct cc_entry **entries);

/* NULL when there is none of that name. */
const struct cc_entry *cc_find(const char *name);

/* "lfp_cpeak, lfp_fast, …", for messages. */
const char *cc_names(char out[CC_NAMES_TEXT]);

/* All defaults. */
struct cc_choice cc_choice_of(const struct cc_entry *entry);

/* Takes KEY=VALUE. 0, or -1 with the parameters there are or the range. */
int cc_choice_set(struct cc_choice *choice, const char *assignment, struct rttcp_error *error);

/* Takes "NAME" or "NAME:KEY=VALUE,KEY=VALUE…". 1: one of ours, 0: another name, -1: an error, which
 * the name's "lfp_" or the parameters show to be ours. */
int cc_choice_parse(struct cc_choice *choice, const char *text, struct rttcp_error *error);

#endif
