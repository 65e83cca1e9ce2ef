#include "lateness.h"

#include <stdio.h>
#include <string.h>

#include "nc_quantity.h"

enum { TEXT = 40 };

uint64_t lateness_limit_ns(uint64_t allowed_ns, uint64_t granularity_ns, uint64_t poll_ns)
{
    uint64_t asked_ns = granularity_ns + poll_ns;
    return asked_ns > allowed_ns ? asked_ns : allowed_ns;
}

/* The unit of the last digit when `value` is written with `digits` digits. */
static uint64_t last_place(uint64_t value, int digits)
{
    uint64_t most = 1, place = 1;
    for (int i = 0; i < digits; i++)
        most *= 10;
    while (value / place >= most)
        place *= 10;
    return place;
}

/* "42 ms": as nc_quantity_format, with a space before the unit. */
static const char *spaced(uint64_t ns, char *buf)
{
    char text[TEXT];
    nc_quantity_format(NC_UNIT_DURATION, ns, text, sizeof text);
    int number = (int)strspn(text, "0123456789.");
    snprintf(buf, TEXT, "%.*s %s", number, text, text + number);
    return buf;
}

const char *lateness_reason(const char *direction, uint64_t p99_ns, uint64_t limit_ns, char *buf, size_t buf_size)
{
    char late[TEXT], limit[TEXT];
    uint64_t two = last_place(p99_ns, 2), three = last_place(limit_ns, 3);
    uint64_t up_ns = p99_ns > UINT64_MAX - two ? p99_ns : (p99_ns + two - 1) / two * two;
    snprintf(buf, buf_size, "%s: p99 lateness %s (limit %s)", direction, spaced(up_ns, late),
             spaced(limit_ns / three * three, limit));
    return buf;
}
