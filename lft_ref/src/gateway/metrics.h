/* `lft-gateway metrics`: the state as Prometheus text. */
#ifndef LFT_METRICS_H
#define LFT_METRICS_H

#include <jansson.h>
#include <stdio.h>

/* Prints every number of a gateway's state as lft_SECTION_NAME, in base units: _ns becomes _seconds. CONTROL.md has the
 * sections. */
void metrics_print(FILE *out, const json_t *state);

#endif
