/* What the text forms of the models have in common: items between commas, whole numbers, ranges, one-line reasons. */
#ifndef COMET_MODEL_TEXT_H
#define COMET_MODEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_quantity.h"
#include "table.h"

/* Ranges or steps that one text may hold, and room for such a text formatted. */
enum { MODEL_ITEMS_MAX = 256, MODEL_TEXT_MAX = 12288, MODEL_ITEM_MAX = 64 };

/* Writes a reason of one line (control characters of quoted input become '?') and returns -1. */
int model_fail(char *why, size_t why_size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Copies what stands before the next comma to `item` (MODEL_ITEM_MAX) and moves *text behind that comma, or to NULL after
 * the last item. False: item too long. */
bool model_item(const char **text, char *item);

/* A whole number of at most 18 digits. False: anything else. */
bool model_integer(const char *text, uint64_t *value);

/* A quantity, with the reason naming the text. 0 or -1. */
int model_quantity(enum nc_unit unit, const char *text, uint64_t *value, char *why, size_t why_size);

/* `5,10-12`: whole numbers and inclusive ranges of them, any order; the table holds sorted half-open pairs. With `times`
 * `1s-1.2s,5s-6s`: half-open ranges of durations, never a single one. NULL with a reason. */
struct table *model_ranges(const char *text, bool times, char *why, size_t why_size);

/* The text that model_ranges would take for it, appended to what is in `buf` already. */
void model_ranges_format(const struct table *ranges, bool times, char *buf, size_t size);

/* printf to the end of the text in `buf`. */
void model_append(char *buf, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
