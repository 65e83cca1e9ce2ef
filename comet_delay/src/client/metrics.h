/* `comet-delay metrics`: the state of a running box as Prometheus text (exposition format 0.0.4). */
#ifndef COMET_METRICS_H
#define COMET_METRICS_H

#include <jansson.h>
#include <stdio.h>

/* Writes the answer of `show` as Prometheus text. */
void metrics_print(FILE *out, const json_t *state);

int metrics_main(int argc, char **argv);

#endif
