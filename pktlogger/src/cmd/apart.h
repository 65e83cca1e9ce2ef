/* Explains why two captures have no connection in common: the first reason that the captures show. */
#ifndef PL_APART_H
#define PL_APART_H

#include <stddef.h>

#include "analyse.h"

/* Explains why a capture has no connection at all; false when it has one. */
bool pl_apart_say_empty(const struct pl_index *index, const char *name, char *text, size_t size);

/* Writes the reason into `text`. `names`: the captures' names, as the user gave them. */
void pl_apart_say(const struct pl_analysis *analysis, const char *const names[PL_END_N], char *text, size_t size);

#endif
