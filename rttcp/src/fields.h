/* Structs to JSON objects and back, by table: one row a member, so that no name is written twice and every number that
 * comes from a peer passes one bounds check. Unknown keys are ignored: a newer peer may say more. */
#ifndef RTTCP_FIELDS_H
#define RTTCP_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rttcp_field_kind { FIELD_U64, FIELD_BOOL, FIELD_TEXT };

struct rttcp_field {
    const char *name; /* the JSON key, unit in the name */
    enum rttcp_field_kind kind;
    size_t offset;
    size_t size;  /* of the char array, for texts */
    uint64_t max; /* for numbers; 0: INT64_MAX, what JSON integers carry here */
};

/* A new object with every row's member. */
json_t *rttcp_fields_encode(const struct rttcp_field *table, size_t n, const void *from);

/* Sets every row's member; all keys must be there, of the right type and in range. Control characters in texts become
 * '?', because texts end up on terminals. Returns 0, or -1 with a reason that names the key. */
int rttcp_fields_decode(const struct rttcp_field *table, size_t n, const json_t *object, void *to, char *why,
                        size_t why_size);

#endif
