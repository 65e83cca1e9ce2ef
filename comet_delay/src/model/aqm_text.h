/* The text form of queue management: ALGORITHM or ALGORITHM:KEY=VALUE,…, names in lower case. Every key is optional and
 * may be given once. aqm_text.c has the keys with their defaults, comet-delay(1) all of them in words. */
#ifndef COMET_AQM_TEXT_H
#define COMET_AQM_TEXT_H

#include <stddef.h>

#include "aqm_params.h"
#include "nc_error.h"

enum { AQM_TEXT_MAX = 256 };

/* Returns 0, or -1 with an error that names key, value and what is allowed; the caller puts the option's name in front
 * of it. *params is then as it was. link_rate_bps comes out 0. */
int aqm_parse(const char *text, struct aqm_params *params, struct nc_error *error);

/* Writes the algorithm with every key, in the order of the table, so that aqm_parse yields the same parameters. `size`
 * is at least AQM_TEXT_MAX. Returns buf. */
const char *aqm_format(const struct aqm_params *params, char *buf, size_t size);

#endif
