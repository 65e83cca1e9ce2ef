#include "nc_quantity.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A suffix multiplies the number by num/den; the empty suffix applies to a number without a unit. Formatting tries the
 * rows in order, largest first; `alias` rows are only parsed. */
struct suffix {
    const char *text;
    uint64_t num, den;
    bool alias;
};

#define K10 UINT64_C(1000)
#define M10 UINT64_C(1000000)
#define G10 UINT64_C(1000000000)
#define T10 UINT64_C(1000000000000)
#define KIB UINT64_C(1024)

/* clang-format off */
static const struct suffix count_suffixes[] = {
    {"", 1, 1, false}, {"T", T10, 1, true}, {"G", G10, 1, true}, {"M", M10, 1, true}, {"K", K10, 1, true},
    {NULL, 0, 0, true},
};
/* clang-format on */
/* clang-format off */
static const struct suffix duration_suffixes[] = {
    {"s", G10, 1, false},     {"ms", M10, 1, false},      {"us", K10, 1, false},       {"ns", 1, 1, false},
    {"min", 60 * G10, 1, true}, {"m", 60 * G10, 1, true}, {"h", 3600 * G10, 1, true}, {"", G10, 1, true},
    {NULL, 0, 0, true},
};
/* clang-format on */
/* clang-format off */
static const struct suffix rate_suffixes[] = {
    {"Tbit", T10, 1, false}, {"Gbit", G10, 1, false}, {"Mbit", M10, 1, false}, {"Kbit", K10, 1, false},
    {"bit", 1, 1, false},
    {"Tbps", T10, 1, true},  {"Gbps", G10, 1, true},  {"Mbps", M10, 1, true},  {"Kbps", K10, 1, true},  {"bps", 1, 1,
     true},
    {"Tbit/s", T10, 1, true}, {"Gbit/s", G10, 1, true}, {"Mbit/s", M10, 1, true}, {"Kbit/s", K10, 1, true},
    {"bit/s", 1, 1, true},
    {"TBps", 8 * T10, 1, true}, {"GBps", 8 * G10, 1, true}, {"MBps", 8 * M10, 1, true}, {"KBps", 8 * K10, 1, true},
    {"Bps", 8, 1, true},
    {"TB/s", 8 * T10, 1, true}, {"GB/s", 8 * G10, 1, true}, {"MB/s", 8 * M10, 1, true}, {"KB/s", 8 * K10, 1, true},
    {"B/s", 8, 1, true},
    {"T", T10, 1, true}, {"G", G10, 1, true}, {"M", M10, 1, true}, {"K", K10, 1, true}, {"", 1, 1, true},
    {NULL, 0, 0, true},
};
/* clang-format on */
/* clang-format off */
static const struct suffix bytes_suffixes[] = {
    {"TB", KIB *KIB *KIB *KIB, 1, false}, {"GB", KIB *KIB *KIB, 1, false}, {"MB", KIB *KIB, 1, false},
    {"KB", KIB, 1, false},
    {"", 1, 1, false}, {"B", 1, 1, true},
    {"TiB", KIB *KIB *KIB *KIB, 1, true}, {"GiB", KIB *KIB *KIB, 1, true}, {"MiB", KIB *KIB, 1, true},
    {"KiB", KIB, 1, true},
    {"T", KIB *KIB *KIB *KIB, 1, true}, {"G", KIB *KIB *KIB, 1, true}, {"M", KIB *KIB, 1, true}, {"K", KIB, 1, true},
    {NULL, 0, 0, true},
};
/* clang-format on */
/* clang-format off */
static const struct suffix ratio_suffixes[] = {
    {"%", NC_RATIO_ONE / 100, 1, false}, {"ppm", NC_RATIO_ONE / M10, 1, true}, {"ppb", 1, 1, true},
    {"", NC_RATIO_ONE, 1, true},
    {NULL, 0, 0, true},
};
/* clang-format on */

static const struct unit {
    const char *name, *examples;
    const struct suffix *suffixes;
} units[] = {
    [NC_UNIT_COUNT] = {"number", "9000 or 10K", count_suffixes},
    [NC_UNIT_DURATION] = {"duration", "100ms, 4.2ms, 50us or 1.5s", duration_suffixes},
    [NC_UNIT_RATE] = {"rate", "45Mbit, 800Mbit or 10Gbit", rate_suffixes},
    [NC_UNIT_BYTES] = {"size", "9000, 110KB or 2GB (1KB = 1024 bytes)", bytes_suffixes},
    [NC_UNIT_RATIO] = {"ratio", "0.01%, 100ppm or 0.0001", ratio_suffixes},
};
_Static_assert(sizeof units / sizeof units[0] == NC_UNIT_N, "a row for every unit");

const char *nc_unit_name(enum nc_unit unit)
{
    return units[unit].name;
}

/* Parses the decimal number at `*text` as mantissa / 10^decimals, and moves *text behind it. False when there is none
 * or when it has more than 20 significant digits. */
static bool read_decimal(const char **text, unsigned __int128 *mantissa, unsigned *decimals)
{
    const char *at = *text;
    unsigned digits = 0, significant = 0;
    bool point = false;
    *mantissa = 0;
    *decimals = 0;
    for (;; at++) {
        if (*at == '.' && !point) {
            point = true;
            continue;
        }
        if (!isdigit((unsigned char)*at))
            break;
        digits++;
        if (*mantissa || *at != '0')
            significant++;
        if (significant > 20 || *decimals >= 18)
            return false;
        *mantissa = *mantissa * 10 + (unsigned)(*at - '0');
        *decimals += point;
    }
    *text = at;
    return digits > 0;
}

/* Returns the last three characters of "bps", "MBps", "KB/s", … in upper or lower case; NULL for any other suffix. */
static const char *per_second(const char *suffix)
{
    size_t length = strlen(suffix);
    const char *tail = suffix + length - 3;
    if (length < 3 || length > 4 || (length == 4 && !strchr("KMGTkmgt", suffix[0])))
        return NULL;
    return strcasecmp(tail, "bps") == 0 || strcasecmp(tail, "b/s") == 0 ? tail : NULL;
}

/* Case matters only where it alone distinguishes bits from bytes. */
static const struct suffix *find_suffix(const struct suffix *suffix, const char *text)
{
    const char *tail = per_second(text);
    for (; suffix->text; suffix++)
        if (strcasecmp(suffix->text, text) == 0 && (!tail || strcmp(per_second(suffix->text), tail) == 0))
            return suffix;
    return NULL;
}

static int refuse_suffix(enum nc_unit unit, const char *text, const char *suffix, struct nc_error *error)
{
    const char *tail = unit == NC_UNIT_RATE ? per_second(suffix) : NULL;
    int number = tail ? (int)(tail - text) : 0; /* with its prefix */
    if (tail && number <= 40)
        return nc_fail(error, NC_EXIT_USAGE, "bits or bytes? write %.*sbit or %.*sB/s", number, text, number, text);
    return nc_fail(error, NC_EXIT_USAGE, "not a %s; want for example %s", units[unit].name, units[unit].examples);
}

/* Reports a number without a unit if two units are likely. The error shows both. */
static int refuse_bare(enum nc_unit unit, const char *text, uint64_t value, struct nc_error *error)
{
    if (unit == NC_UNIT_DURATION && value)
        return nc_fail(error, NC_EXIT_USAGE, "has no unit; write %.40sms or %.40ss", text, text);
    if (unit == NC_UNIT_RATE && value)
        return nc_fail(error, NC_EXIT_USAGE, "has no unit; write %.40sMbit or %.40sbit", text, text);
    if (unit == NC_UNIT_RATIO && value == NC_RATIO_ONE)
        return nc_fail(error, NC_EXIT_USAGE, "has no unit; write 1%% or 100%%");
    if (unit == NC_UNIT_RATIO && value > NC_RATIO_ONE)
        return nc_fail(error, NC_EXIT_USAGE, "has no unit; write %.40s%%", text);
    return 0;
}

int nc_quantity_parse(enum nc_unit unit, const char *text, uint64_t *value, struct nc_error *error)
{
    uint64_t parsed;
    bool bare = text[strspn(text, "0123456789.")] == '\0';
    if (nc_quantity_parse_bare(unit, text, &parsed, error) < 0 || (bare && refuse_bare(unit, text, parsed, error) < 0))
        return -1;
    *value = parsed;
    return 0;
}

int nc_quantity_parse_bare(enum nc_unit unit, const char *text, uint64_t *value, struct nc_error *error)
{
    const char *at = text;
    unsigned __int128 mantissa;
    unsigned decimals;
    if (*at == '-')
        return nc_fail(error, NC_EXIT_USAGE, "negative; want a %s such as %s", units[unit].name, units[unit].examples);
    if (!read_decimal(&at, &mantissa, &decimals))
        return refuse_suffix(unit, text, "", error);
    const struct suffix *suffix = find_suffix(units[unit].suffixes, at);
    if (!suffix)
        return refuse_suffix(unit, text, at, error);
    unsigned __int128 scaled = mantissa * suffix->num; /* below 10^20 × 8e12: no overflow */
    uint64_t divisor = suffix->den;
    for (unsigned i = 0; i < decimals; i++)
        divisor *= 10;
    scaled = (scaled + divisor / 2) / divisor;
    if (scaled > UINT64_MAX || (scaled == 0 && mantissa != 0))
        return nc_fail(error, NC_EXIT_USAGE, "too %s to represent", scaled ? "large" : "small");
    *value = (uint64_t)scaled;
    return 0;
}

/* Writes value / num as a decimal of at most `places` digits. False: it needs more digits. */
static bool print_decimal(uint64_t value, uint64_t num, unsigned places, const char *suffix, char *buf, size_t size)
{
    uint64_t whole = value / num, rest = value % num;
    char fraction[24] = "";
    size_t n = 0;
    while (rest && n < places) {
        unsigned __int128 next = (unsigned __int128)rest * 10;
        fraction[n++] = (char)('0' + (unsigned)(next / num));
        rest = (uint64_t)(next % num);
    }
    fraction[n] = '\0';
    if (rest)
        return false;
    snprintf(buf, size, "%" PRIu64 "%s%s%s", whole, n ? "." : "", fraction, suffix);
    return true;
}

const char *nc_quantity_format(enum nc_unit unit, uint64_t value, char *buf, size_t buf_size)
{
    const struct suffix *smallest = NULL;
    for (const struct suffix *s = units[unit].suffixes; s->text; s++) {
        if (s->alias || s->den != 1)
            continue;
        smallest = s;
        unsigned places = unit == NC_UNIT_RATIO ? 9 : 3; /* a ratio has no smaller unit to fall back to */
        if ((value >= s->num || unit == NC_UNIT_RATIO) && print_decimal(value, s->num, places, s->text, buf, buf_size))
            return buf;
    }
    snprintf(buf, buf_size, "%" PRIu64 "%s", value, smallest ? smallest->text : "");
    return buf;
}
