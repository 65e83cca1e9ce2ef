/* What the tool prints for people: the same state as the JSON objects hold, as text for a terminal. */
#ifndef COMET_HUMAN_H
#define COMET_HUMAN_H

#include <jansson.h>
#include <stdio.h>

#include "params.h"

/* `ready`: that the box runs, and with which parameters. */
void human_ready(FILE *out, const struct params params[2]);

/* `--check`: what the models of both directions mean (models_json). */
void human_models(FILE *out, const json_t *models);

/* The state object of `show`. */
void human_state(FILE *out, const json_t *state);

/* The `achieved` object of one direction: a line, without its end, of what the models did. `parameters` of the
 * direction add what was asked for; NULL leaves that out. */
void human_achieved(FILE *out, const json_t *achieved, const json_t *parameters);

#endif
