/* What the model achieved (achieved.h), for people: one line without its end, of what there was to achieve. */
#ifndef COMET_ACHIEVED_TEXT_H
#define COMET_ACHIEVED_TEXT_H

#include <jansson.h>
#include <stdio.h>

/* `parameters` are those of the direction, to name what was asked for; NULL leaves that out. */
void achieved_print(FILE *out, const json_t *achieved, const json_t *parameters);

#endif
