/* The same state as JSON gives, as text for a terminal. */
#ifndef COMET_HUMAN_H
#define COMET_HUMAN_H

#include <jansson.h>
#include <stdio.h>

#include "params.h"

void human_ready(FILE *out, const struct params params[2]);
void human_state(FILE *out, const json_t *state);

#endif
