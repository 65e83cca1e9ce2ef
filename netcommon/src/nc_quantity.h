/* Quantities with units: `100ms`, `0.01%`, `45Mbit`, `110KB`, `9000`. Each becomes an unsigned integer in a base unit,
 * so that no rounding depends on who parsed it. Suffixes are as in well-known tools: rates are decimal (1Mbit = 10^6
 * bit/s), sizes are binary (1KB = 1KiB = 1024 bytes, as in tc and iperf3). Case is ignored, since there are no
 * milli-bits, except in `bps`, `Bps` and `B/s`: a small b means bits, a capital one bytes (1MBps = 8Mbit), and an
 * ambiguous spelling (MBPS, mb/s) is refused. In tc `bps` means bytes, too.
 *
 * A duration and a rate need a unit, except 0, because "4.2" could mean milliseconds or seconds. A number without a
 * unit is a count, a size in bytes (as in tc, ttcp and iperf3) or a fraction below 1: "--loss 1" could be 1 % or 100 %.
 * Rejected: reading every bare number as seconds, bit/s or a fraction up to 1, as an earlier version did. Newcomers
 * lost every packet with "--loss 1", and no message said why. */
#ifndef NC_QUANTITY_H
#define NC_QUANTITY_H

#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

enum nc_unit {
    NC_UNIT_COUNT,    /* plain number; K, M, G decimal */
    NC_UNIT_DURATION, /* nanoseconds; ns us ms s min h; a bare number only if 0 */
    NC_UNIT_RATE, /* bit/s; bit Kbit Mbit Gbit Tbit, bps Mbps …, in bytes Bps MBps … and B/s MB/s …; a bare number
                       * only if 0 */
    NC_UNIT_BYTES, /* bytes; B KB MB GB (1024), KiB … the same; a bare number is bytes */
    NC_UNIT_RATIO, /* parts per billion; `%`, `ppm`, or a bare fraction below 1 */
    NC_UNIT_N
};

#define NC_RATIO_ONE UINT64_C(1000000000) /* 100 % in parts per billion */

/* Parses all of `text`. Returns 0, or -1 with the reason as the error (status 2): "not a duration; want for example
 * 100ms". The reason names neither option nor value, because only the caller knows where the text comes from; the
 * caller puts both in front. It refuses negative and empty values, values that overflow, values that would round to
 * zero, numbers whose unit is missing ("has no unit; write 4.2ms or 4.2s"), and more than 20 significant digits.
 * Decimal fractions are exact. */
int nc_quantity_parse(enum nc_unit unit, const char *text, uint64_t *value, struct nc_error *error);

/* The same for files that programs write, and for numbers whose unit the context defines: a number without a unit is in
 * seconds or bit/s, or is a ratio of any size. */
int nc_quantity_parse_bare(enum nc_unit unit, const char *text, uint64_t *value, struct nc_error *error);

/* Writes the shortest text that parses back to the same value, in the largest suitable unit: 4200000 ns → "4.2ms".
 * Returns buf. */
const char *nc_quantity_format(enum nc_unit unit, uint64_t value, char *buf, size_t buf_size);

/* The name of the unit for help texts: "duration", "rate", … */
const char *nc_unit_name(enum nc_unit unit);

#endif
