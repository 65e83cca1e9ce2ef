#include "fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nc_printable.h"

json_t *rttcp_fields_encode(const struct rttcp_field *table, size_t n, const void *from)
{
    json_t *object = json_object();
    for (const struct rttcp_field *row = table; row < table + n; row++) {
        const char *member = (const char *)from + row->offset;
        json_t *value = NULL;
        switch (row->kind) {
        case FIELD_U64:
            value = json_integer((json_int_t) * (const uint64_t *)(const void *)member);
            break;
        case FIELD_BOOL:
            value = json_boolean(*(const bool *)(const void *)member);
            break;
        case FIELD_TEXT:
            value = json_string(member);
            break;
        }
        json_object_set_new(object, row->name, value);
    }
    return object;
}

static int decode_text(const struct rttcp_field *row, const json_t *value, char *member, struct nc_error *error)
{
    const char *text = json_string_value(value);
    if (!text || strlen(text) >= row->size)
        return nc_fail(error, NC_EXIT_FAILED, "%s: want a text of at most %zu bytes", row->name, row->size - 1);
    memcpy(member, text, strlen(text) + 1);
    nc_printable(member);
    return 0;
}

static int decode_one(const struct rttcp_field *row, const json_t *value, char *member, struct nc_error *error)
{
    json_int_t number;
    uint64_t max = row->max ? row->max : INT64_MAX;
    switch (row->kind) {
    case FIELD_U64:
        number = json_is_integer(value) ? json_integer_value(value) : -1;
        if (number < 0 || (uint64_t)number > max)
            return nc_fail(error, NC_EXIT_FAILED, "%s: want an integer from 0 to %" PRIu64, row->name, max);
        *(uint64_t *)(void *)member = (uint64_t)number;
        return 0;
    case FIELD_BOOL:
        if (!json_is_boolean(value))
            return nc_fail(error, NC_EXIT_FAILED, "%s: want true or false", row->name);
        *(bool *)(void *)member = json_is_true(value);
        return 0;
    case FIELD_TEXT:
        return decode_text(row, value, member, error);
    }
    return -1;
}

int rttcp_fields_decode(const struct rttcp_field *table, size_t n, const json_t *object, void *to,
                        struct nc_error *error)
{
    if (!json_is_object(object))
        return nc_fail(error, NC_EXIT_FAILED, "want an object");
    for (const struct rttcp_field *row = table; row < table + n; row++)
        if (decode_one(row, json_object_get(object, row->name), (char *)to + row->offset, error) < 0)
            return -1;
    return 0;
}
