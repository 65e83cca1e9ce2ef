/* `lft-gateway metrics`: the state as Prometheus text. */
#ifndef LFT_METRICS_H
#define LFT_METRICS_H

#include <jansson.h>
#include <stdio.h>

/* Every number of a gateway's state as lft_SECTION_NAME; names that end in _ns become _seconds. Sections: CONTROL.md. */
void metrics_print(FILE *out, const json_t *state);

#endif
