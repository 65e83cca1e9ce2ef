/* Implements departures.h. */
#include "departures.h"

#include <stdlib.h>
#include <string.h>

#include "nc_quantity.h"

enum { LINE_MAX_LEN = 64 };

/* Returns 0, or -1 without memory. */
static int add(struct pl_departures *departures, uint64_t at_ns)
{
    if (departures->n == departures->room) {
        size_t room = departures->room ? departures->room * 2 : 1024;
        uint64_t *grown = realloc(departures->at_ns, room * sizeof *grown);
        if (!grown)
            return -1;
        departures->at_ns = grown;
        departures->room = room;
    }
    departures->at_ns[departures->n++] = at_ns;
    return 0;
}

static int take_line(struct pl_departures *departures, const char *file, unsigned line, const uint8_t *at, size_t len,
                     struct nc_error *error)
{
    char text[LINE_MAX_LEN];
    struct nc_error why;
    uint64_t at_ns;
    if (len && at[len - 1] == '\r')
        len--;
    if (len == 0 || *at == '#')
        return 0;
    if (len >= sizeof text || memchr(at, 0, len))
        return nc_fail(error, NC_EXIT_USAGE, "'%.200s' line %u: not a time; want as in 12.5ms", file, line);
    memcpy(text, at, len);
    text[len] = '\0';
    if (nc_quantity_parse_bare(NC_UNIT_DURATION, text, &at_ns, &why) < 0)
        return nc_fail(error, NC_EXIT_USAGE, "'%.200s' line %u: '%s': %s", file, line, text, why.text);
    if (departures->n && at_ns < departures->at_ns[departures->n - 1])
        return nc_fail(error, NC_EXIT_USAGE, "'%.200s' line %u: '%s' is before the time of the packet before it", file,
                       line, text);
    if (add(departures, at_ns) < 0)
        return nc_fail(error, NC_EXIT_MISSING, "'%.200s': out of memory", file);
    return 0;
}

int pl_departures_read(struct pl_departures *departures, const char *file, const uint8_t *text, size_t len,
                       struct nc_error *error)
{
    *departures = (struct pl_departures){.n = 0};
    unsigned line = 1;
    for (const uint8_t *at = text, *end = text + len; at < end; line++) {
        const uint8_t *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        if (take_line(departures, file, line, at, (size_t)(stop - at), error) < 0)
            return -1;
        at = newline ? newline + 1 : end;
    }
    if (departures->n == 0)
        return nc_fail(error, NC_EXIT_USAGE, "'%.200s': has no time; want a line a packet, as in 12.5ms", file);
    return 0;
}

void pl_departures_free(struct pl_departures *departures)
{
    free(departures->at_ns);
    *departures = (struct pl_departures){.n = 0};
}
