/* The text form of queue management: ALGORITHM or ALGORITHM:KEY=VALUE,…, names in lower case. Every key is optional and
 * may be given once. aqm_text.c has the keys with their defaults; comet-delay(1) describes them. */
#ifndef COMET_AQM_TEXT_H
#define COMET_AQM_TEXT_H

#include <stddef.h>

#include "aqm_params.h"
#include "nc_error.h"

enum { AQM_TEXT_MAX = 256 };

/* Returns 0 with link_rate_bps 0, or -1 with an error that names key, value and what is allowed; *params is then
 * unchanged. The caller puts the option's name before the error. */
int aqm_parse(const char *text, struct aqm_params *params, struct nc_error *error);

/* Writes the algorithm with every key, in the order of the table. aqm_parse parses it back to the same parameters.
 * `size` is at least AQM_TEXT_MAX. Returns buf. */
const char *aqm_format(const struct aqm_params *params, char *buf, size_t size);

#endif
