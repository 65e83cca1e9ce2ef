/* The common parts of the models' text forms: items separated by commas, whole numbers, quantities, ranges. */
#ifndef COMET_MODEL_TEXT_H
#define COMET_MODEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"
#include "nc_quantity.h"
#include "table.h"

/* The most ranges or steps that one text may have, and the size of such a text. */
enum { MODEL_ITEMS_MAX = 256, MODEL_TEXT_MAX = 12288, MODEL_ITEM_MAX = 64 };

/* Copies the text before the next comma to `item` (MODEL_ITEM_MAX bytes), and moves *text behind that comma, or to NULL
 * after the last item. False: the item is too long. */
bool model_item(const char **text, char *item);

/* A whole number of at most 18 digits. False: anything else. */
bool model_integer(const char *text, uint64_t *value);

/* Parses a quantity. 0, or -1 with an error that quotes the text. */
int model_quantity(enum nc_unit unit, const char *text, uint64_t *value, struct nc_error *error);

/* Parses `5,10-12`: whole numbers and inclusive ranges of them, in any order. With `times` it parses `1s-1.2s,5s-6s`:
 * half-open ranges of durations, never a single one. The table holds sorted half-open pairs. NULL with the error. */
struct table *model_ranges(const char *text, bool times, struct nc_error *error);

/* Appends the table as text to `buf`; model_ranges parses it back to the same table. */
void model_ranges_format(const struct table *ranges, bool times, char *buf, size_t size);

/* Appends to the text in `buf`, as printf does. */
void model_append(char *buf, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
