/* Converts structs to JSON objects and back by tables with one row for each member. So no name is written twice, and
 * every number from a peer passes one bounds check. Unknown keys are ignored, because a newer peer may send more. */
#ifndef RTTCP_FIELDS_H
#define RTTCP_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

enum rttcp_field_kind { FIELD_U64, FIELD_BOOL, FIELD_TEXT };

struct rttcp_field {
    const char *name; /* the JSON key, unit in the name */
    enum rttcp_field_kind kind;
    size_t offset;
    size_t size;  /* texts: size of the char array */
    uint64_t max; /* numbers: largest value; 0: INT64_MAX, the largest integer in our JSON */
};

/* Rows of a table for `struct type`. A number may be at most `most`. */
#define NUMBER_FIELD(type, member, most) {#member, FIELD_U64, offsetof(struct type, member), 0, most}
#define BOOL_FIELD(type, member) {#member, FIELD_BOOL, offsetof(struct type, member), 0, 0}
#define TEXT_FIELD(type, member)                                                                                       \
    {#member, FIELD_TEXT, offsetof(struct type, member), sizeof((struct type *)0)->member, 0}
#define FIELD_COUNT(table) (sizeof(table) / sizeof(table)[0])

/* Returns a new object with the member of every row. */
json_t *rttcp_fields_encode(const struct rttcp_field *table, size_t n, const void *from);

/* Sets the member of every row. All keys must be present, of the right type and in range. Control characters in texts
 * become '?', because texts end up on terminals. Returns 0, or -1 with an error that names the key. */
int rttcp_fields_decode(const struct rttcp_field *table, size_t n, const json_t *object, void *to,
                        struct nc_error *error);

#endif
