/* The tool's output for people: the state of the JSON objects as text for a terminal. */
#ifndef COMET_HUMAN_H
#define COMET_HUMAN_H

#include <jansson.h>
#include <stdio.h>

#include "params.h"

/* `ready`: the box runs, with these parameters. */
void human_ready(FILE *out, const struct params params[2]);

/* `--check`: the models of both directions in full (models_json). */
void human_models(FILE *out, const json_t *models);

/* The state object of `show`. */
void human_state(FILE *out, const json_t *state);

/* The `achieved` object of one direction as a line, without its end. `parameters`: those of the direction, whose values
 * are printed for comparison; NULL: without them. */
void human_achieved(FILE *out, const json_t *achieved, const json_t *parameters);

#endif
