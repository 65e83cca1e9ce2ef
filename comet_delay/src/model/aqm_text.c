/* The text form of an algorithm and its parameters: one table row per key. */
#include "aqm_text.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "nc_clock.h"
#include "nc_quantity.h"

enum kind {
    KEY_QUANTITY, /* uint64_t in the base unit */
    KEY_GAIN,     /* uint64_t, 1e-9; a plain decimal */
    KEY_SWITCH,   /* bool; on or off */
};

struct key {
    const char *name;
    enum kind kind;
    enum nc_unit unit;
    uint64_t preset, min, max;
    size_t offset;
};

#define AT(field) offsetof(struct aqm_params, field)
#define QUANTITY(name, unit, preset, min, max, field) {name, KEY_QUANTITY, NC_UNIT_##unit, preset, min, max, AT(field)}
#define GAIN(name, preset, field) {name, KEY_GAIN, NC_UNIT_RATIO, preset, 0, 1000 * NC_RATIO_ONE, AT(field)}
#define SWITCH(name, preset, field) {name, KEY_SWITCH, NC_UNIT_COUNT, preset, 0, 1, AT(field)}
#define HOUR (3600 * NC_NS_PER_S)
#define TIB (UINT64_C(1) << 40)

static const struct key red_keys[] = {
    QUANTITY("min", BYTES, 30 << 10, 1, TIB, red.min_bytes),
    QUANTITY("max", BYTES, 90 << 10, 1, TIB, red.max_bytes),
    QUANTITY("p", RATIO, NC_RATIO_ONE / 10, 1, NC_RATIO_ONE, red.p_ppb),
    QUANTITY("weight", RATIO, NC_RATIO_ONE / 500, 1, NC_RATIO_ONE, red.weight_ppb),
    QUANTITY("packet", BYTES, 1500, 1, 64 << 10, red.packet_bytes),
    SWITCH("gentle", true, red.gentle),
    SWITCH("ecn", false, ecn),
    {0},
};
static const struct key codel_keys[] = {
    QUANTITY("target", DURATION, 5 * NC_NS_PER_MS, 1, HOUR, codel.target_ns),
    QUANTITY("interval", DURATION, 100 * NC_NS_PER_MS, 1, HOUR, codel.interval_ns),
    SWITCH("ecn", false, ecn),
    {0},
};
static const struct key pie_keys[] = {
    QUANTITY("target", DURATION, 15 * NC_NS_PER_MS, 1, HOUR, pie.target_ns),
    QUANTITY("update", DURATION, 15 * NC_NS_PER_MS, 10 * NC_NS_PER_US, 10 * NC_NS_PER_S, pie.update_ns),
    GAIN("alpha", NC_RATIO_ONE / 8, pie.alpha_per_1e9_s),
    GAIN("beta", NC_RATIO_ONE + NC_RATIO_ONE / 4, pie.beta_per_1e9_s),
    QUANTITY("burst", DURATION, 150 * NC_NS_PER_MS, 0, HOUR, pie.burst_ns),
    QUANTITY("ecn_threshold", RATIO, NC_RATIO_ONE / 10, 0, NC_RATIO_ONE, pie.ecn_threshold_ppb),
    SWITCH("derandomize", false, pie.derandomize),
    SWITCH("ecn", false, ecn),
    {0},
};
static const struct key fq_codel_keys[] = {
    QUANTITY("limit", COUNT, 10240, 1, UINT64_C(1) << 32, fq_codel.limit_packets),
    QUANTITY("memory", BYTES, 32 << 20, 1, TIB, fq_codel.memory_bytes),
    QUANTITY("quantum", BYTES, 1514, 256, 1 << 20, fq_codel.quantum_bytes),
    QUANTITY("ways", COUNT, 1, 1, 8, fq_codel.ways),
    SWITCH("ack_filter", false, fq_codel.ack_filter),
    QUANTITY("target", DURATION, 5 * NC_NS_PER_MS, 1, HOUR, codel.target_ns),
    QUANTITY("interval", DURATION, 100 * NC_NS_PER_MS, 1, HOUR, codel.interval_ns),
    SWITCH("ecn", true, ecn), /* as RFC 8290, 5.2.6 has it */
    {0},
};
static const struct key policer_keys[] = {
    QUANTITY("rate", RATE, 0, 1, 400 * NC_NS_PER_S, policer.rate_bps), /* no default */
    QUANTITY("burst", BYTES, 100 << 10, 1, TIB, policer.burst_bytes),
    SWITCH("ecn", false, ecn),
    {0},
};
static const struct key dualpi2_keys[] = {
    QUANTITY("target", DURATION, 15 * NC_NS_PER_MS, 1, HOUR, dualpi2.target_ns),
    QUANTITY("update", DURATION, 16 * NC_NS_PER_MS, 10 * NC_NS_PER_US, 10 * NC_NS_PER_S, dualpi2.update_ns),
    GAIN("alpha", NC_RATIO_ONE / 25 * 4, dualpi2.alpha_per_1e9_s),
    GAIN("beta", NC_RATIO_ONE / 5 * 16, dualpi2.beta_per_1e9_s),
    GAIN("k", 2 * NC_RATIO_ONE, dualpi2.coupling_ppb),
    QUANTITY("step", DURATION, NC_NS_PER_MS, 0, HOUR, dualpi2.step_ns),
    QUANTITY("classic", RATIO, NC_RATIO_ONE / 10, 0, NC_RATIO_ONE, dualpi2.classic_ppb),
    QUANTITY("limit", COUNT, 10000, 1, UINT64_C(1) << 32, dualpi2.limit_packets),
    SWITCH("ect0", false, dualpi2.ect0),
    {0},
};
static const struct key step_keys[] = {
    QUANTITY("packets", COUNT, 20, 0, UINT64_C(1) << 32, step.packets),
    QUANTITY("bytes", BYTES, 0, 0, TIB, step.bytes),
    SWITCH("drop", true, step.drop),
    {0},
};
static const struct key none_keys[] = {{0}};

#define NAMED(number, name, file) [AQM_##number] = {#name, name##_keys},
static const struct {
    const char *name;
    const struct key *keys;
} algorithms[] = {AQM_DISCIPLINES(NAMED)};

static void store(const struct key *key, uint64_t value, struct aqm_params *params)
{
    char *at = (char *)params + key->offset;
    if (key->kind == KEY_SWITCH)
        *(bool *)at = value != 0;
    else
        *(uint64_t *)at = value;
}

static uint64_t load(const struct key *key, const struct aqm_params *params)
{
    const char *at = (const char *)params + key->offset;
    return key->kind == KEY_SWITCH ? *(const bool *)at : *(const uint64_t *)at;
}

/* 125000000 → "0.125": exact, and what nc_quantity_parse_bare reads. */
static void format_gain(uint64_t value, char *buf, size_t size)
{
    int used = snprintf(buf, size, "%llu.%09llu", (unsigned long long)(value / NC_RATIO_ONE),
                        (unsigned long long)(value % NC_RATIO_ONE));
    while (buf[used - 1] == '0')
        buf[--used] = '\0';
    if (buf[used - 1] == '.')
        buf[used - 1] = '\0';
}

static const char *format_value(const struct key *key, uint64_t value, char *buf, size_t size)
{
    if (key->kind == KEY_SWITCH)
        snprintf(buf, size, "%s", value ? "on" : "off");
    else if (key->kind == KEY_GAIN)
        format_gain(value, buf, size);
    else
        nc_quantity_format(key->unit, value, buf, size);
    return buf;
}

/* The user's text, shortened and in one line. */
struct quoted {
    char text[48];
};
static struct quoted quote(const char *text)
{
    struct quoted quoted;
    snprintf(quoted.text, sizeof quoted.text, "'%.40s'", text);
    for (char *c = quoted.text; *c; c++)
        if (!isprint((unsigned char)*c))
            *c = '?';
    return quoted;
}

static int parse_value(const struct key *key, const char *text, uint64_t *value, struct nc_error *error)
{
    struct nc_error why;
    char low[40], high[40];
    if (key->kind == KEY_SWITCH) {
        *value = strcmp(text, "on") == 0;
        if (*value || strcmp(text, "off") == 0)
            return 0;
        return nc_fail(error, NC_EXIT_USAGE, "%s=%s: allowed is on or off", key->name, quote(text).text);
    }
    int (*parse)(enum nc_unit, const char *, uint64_t *, struct nc_error *) =
        key->kind == KEY_GAIN ? nc_quantity_parse_bare : nc_quantity_parse;
    if (parse(key->unit, text, value, &why) < 0)
        return nc_fail(error, NC_EXIT_USAGE, "%s=%s: %s", key->name, quote(text).text,
                       key->kind == KEY_GAIN ? "not a gain; want a decimal per second, for example 0.125" : why.text);
    if (*value >= key->min && *value <= key->max)
        return 0;
    return nc_fail(error, NC_EXIT_USAGE, "%s=%s: out of range; allowed is %s to %s", key->name, quote(text).text,
                   format_value(key, key->min, low, sizeof low), format_value(key, key->max, high, sizeof high));
}

static void list_keys(const struct key *keys, char *out, size_t size)
{
    size_t used = 0;
    for (const struct key *key = keys; key->name && used < size; key++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", key == keys ? "" : ", ", key->name);
}

/* Parses one KEY=VALUE. `seen` has a bit for each key given before. */
static int parse_pair(int algorithm, char *pair, struct aqm_params *params, unsigned *seen, struct nc_error *error)
{
    const struct key *keys = algorithms[algorithm].keys;
    char *equals = strchr(pair, '=');
    if (!equals)
        return nc_fail(error, NC_EXIT_USAGE, "%s: want KEY=VALUE, for example ecn=on", quote(pair).text);
    *equals = '\0';
    for (const struct key *key = keys; key->name; key++) {
        uint64_t value;
        if (strcmp(key->name, pair) != 0)
            continue;
        if (*seen & 1u << (key - keys))
            return nc_fail(error, NC_EXIT_USAGE, "%s: given twice; give it once", key->name);
        *seen |= 1u << (key - keys);
        if (parse_value(key, equals + 1, &value, error) < 0)
            return -1;
        store(key, value, params);
        return 0;
    }
    char allowed[128];
    list_keys(keys, allowed, sizeof allowed);
    return nc_fail(error, NC_EXIT_USAGE, "%s: no such key of %s; allowed is one of %s", quote(pair).text,
                   algorithms[algorithm].name, allowed);
}

/* Checks what depends on more than one key. */
static int check_together(const struct aqm_params *params, struct nc_error *error)
{
    char a[40], b[40];
    if (params->algorithm == AQM_RED && params->red.min_bytes >= params->red.max_bytes)
        return nc_fail(error, NC_EXIT_USAGE, "min=%s, max=%s: min must be below max; 3 times min is a usual max",
                       nc_quantity_format(NC_UNIT_BYTES, params->red.min_bytes, a, sizeof a),
                       nc_quantity_format(NC_UNIT_BYTES, params->red.max_bytes, b, sizeof b));
    if (params->algorithm == AQM_POLICER && params->policer.rate_bps == 0)
        return nc_fail(error, NC_EXIT_USAGE, "policer: want its rate, for example policer:rate=10Mbit,burst=100KB");
    if (params->algorithm == AQM_STEP && !params->step.packets && !params->step.bytes)
        return nc_fail(error, NC_EXIT_USAGE, "packets=0, bytes=0: want one of them, for example step:packets=20");
    if (params->codel.target_ns > params->codel.interval_ns)
        return nc_fail(error, NC_EXIT_USAGE,
                       "target=%s, interval=%s: target may not exceed interval; 5 %% of it is usual",
                       nc_quantity_format(NC_UNIT_DURATION, params->codel.target_ns, a, sizeof a),
                       nc_quantity_format(NC_UNIT_DURATION, params->codel.interval_ns, b, sizeof b));
    return 0;
}

static int find_algorithm(const char *name)
{
    for (int i = 0; i < AQM_N; i++)
        if (strcmp(algorithms[i].name, name) == 0)
            return i;
    return -1;
}

static void list_algorithms(char *out, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < AQM_N && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", algorithms[i].name);
}

int aqm_parse(const char *text, struct aqm_params *params, struct nc_error *error)
{
    char copy[AQM_TEXT_MAX];
    size_t len = strlen(text);
    if (len >= sizeof copy)
        return nc_fail(error, NC_EXIT_USAGE, "%zu characters; allowed are up to %zu", len, sizeof copy - 1);
    memcpy(copy, text, len + 1);
    char *rest = strchr(copy, ':');
    if (rest)
        *rest++ = '\0';
    struct aqm_params parsed = {.algorithm = find_algorithm(copy)};
    if (parsed.algorithm < 0) {
        char allowed[128];
        list_algorithms(allowed, sizeof allowed);
        return nc_fail(error, NC_EXIT_USAGE, "%s: no such queue management; allowed is one of %s", quote(copy).text,
                       allowed);
    }
    if (rest && parsed.algorithm == AQM_NONE)
        return nc_fail(error, NC_EXIT_USAGE, "none takes no keys; leave out %s", *rest ? quote(rest).text : "':'");
    for (const struct key *key = algorithms[parsed.algorithm].keys; key->name; key++)
        store(key, key->preset, &parsed);
    parsed.ecn = parsed.ecn || parsed.algorithm == AQM_DUALPI2 || parsed.algorithm == AQM_STEP; /* without a key */
    for (unsigned seen = 0; rest;) {
        char *pair = rest, *comma = strchr(rest, ',');
        if (comma)
            *comma = '\0';
        rest = comma ? comma + 1 : NULL;
        if (parse_pair(parsed.algorithm, pair, &parsed, &seen, error) < 0)
            return -1;
    }
    if (check_together(&parsed, error) < 0)
        return -1;
    *params = parsed;
    return 0;
}

const char *aqm_format(const struct aqm_params *params, char *buf, size_t size)
{
    assert(size >= AQM_TEXT_MAX && params->algorithm >= 0 && params->algorithm < AQM_N);
    size_t used = (size_t)snprintf(buf, size, "%s", algorithms[params->algorithm].name);
    char separator = ':';
    for (const struct key *key = algorithms[params->algorithm].keys; key->name; key++, separator = ',') {
        char value[40];
        used += (size_t)snprintf(buf + used, size - used, "%c%s=%s", separator, key->name,
                                 format_value(key, load(key, params), value, sizeof value));
        assert(used < size);
    }
    return buf;
}
