#include "check.h"
#include "nc_quantity.h"
#include "seeded.h"

struct row {
    enum nc_unit unit;
    const char *text;
    uint64_t value;
};

#define G UINT64_C(1000000000)

static const struct row good[] = {
    {NC_UNIT_COUNT, "9000", 9000},
    {NC_UNIT_COUNT, "10K", 10000},
    {NC_UNIT_COUNT, "1.5M", 1500000},
    {NC_UNIT_COUNT, "0", 0},
    {NC_UNIT_COUNT, "18446744073709551615", UINT64_MAX},
    {NC_UNIT_DURATION, "100ms", 100000000},
    {NC_UNIT_DURATION, "4.2ms", 4200000},
    {NC_UNIT_DURATION, "50us", 50000},
    {NC_UNIT_DURATION, "1.5s", 3 * G / 2},
    {NC_UNIT_DURATION, "7ns", 7},
    {NC_UNIT_DURATION, "2min", 120 * G},
    {NC_UNIT_DURATION, "1h", 3600 * G},
    {NC_UNIT_DURATION, "0s", 0},
    {NC_UNIT_DURATION, "0", 0},
    {NC_UNIT_DURATION, "0.0", 0},
    {NC_UNIT_RATE, "45Mbit", 45000000},
    {NC_UNIT_RATE, "10Gbit", 10 * G},
    {NC_UNIT_RATE, "10gbps", 10 * G},
    {NC_UNIT_RATE, "10Mbps", 10000000},
    {NC_UNIT_RATE, "10MBps", 80000000},
    {NC_UNIT_RATE, "1.25mBps", 10000000},
    {NC_UNIT_RATE, "10MB/s", 80000000},
    {NC_UNIT_RATE, "100B/s", 800},
    {NC_UNIT_RATE, "2Bps", 16},
    {NC_UNIT_RATE, "2bps", 2},
    {NC_UNIT_RATE, "1Tbit", 1000 * G},
    {NC_UNIT_RATE, "64kbit", 64000},
    {NC_UNIT_RATE, "800Mbit/s", 800000000},
    {NC_UNIT_RATE, "9600bit", 9600},
    {NC_UNIT_RATE, "0", 0},
    {NC_UNIT_BYTES, "110KB", 112640},
    {NC_UNIT_BYTES, "110KiB", 112640},
    {NC_UNIT_BYTES, "2GB", 2147483648},
    {NC_UNIT_BYTES, "9000", 9000},
    {NC_UNIT_BYTES, "9000B", 9000},
    {NC_UNIT_BYTES, "0.5MB", 524288},
    {NC_UNIT_BYTES, "1TiB", UINT64_C(1) << 40},
    {NC_UNIT_RATIO, "0.01%", 100000},
    {NC_UNIT_RATIO, "100ppm", 100000},
    {NC_UNIT_RATIO, "0.0001", 100000},
    {NC_UNIT_RATIO, "0.0001%", 1000},
    {NC_UNIT_RATIO, "0.999999999", NC_RATIO_ONE - 1},
    {NC_UNIT_RATIO, "0", 0},
    {NC_UNIT_RATIO, "100%", NC_RATIO_ONE},
};

static void values_as_documented(void)
{
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct nc_error error;
        uint64_t value = ~good[i].value;
        if (nc_quantity_parse(good[i].unit, good[i].text, &value, &error) < 0)
            fprintf(stderr, "%s: %s\n", good[i].text, error.text);
        CHECK_EQ(value, good[i].value);
    }
}

static const struct row bad[] = {
    {NC_UNIT_DURATION, "", 0},
    {NC_UNIT_DURATION, "-1ms", 0},
    {NC_UNIT_DURATION, "ms", 0},
    {NC_UNIT_DURATION, ".", 0},
    {NC_UNIT_DURATION, "1.2.3s", 0},
    {NC_UNIT_DURATION, "5 ms", 0},
    {NC_UNIT_DURATION, " 5ms", 0},
    {NC_UNIT_DURATION, "5ms ", 0},
    {NC_UNIT_DURATION, "5Mbit", 0},
    {NC_UNIT_DURATION, "1e3", 0},
    {NC_UNIT_DURATION, "0x10", 0},
    {NC_UNIT_DURATION, "+1", 0},
    {NC_UNIT_DURATION, "nan", 0},
    {NC_UNIT_DURATION, "inf", 0},
    {NC_UNIT_DURATION, "1,5s", 0},
    {NC_UNIT_DURATION, "0.1ns", 0},
    {NC_UNIT_DURATION, "99999999999h", 0},
    {NC_UNIT_DURATION, "2", 0},
    {NC_UNIT_DURATION, "0.1", 0},
    {NC_UNIT_RATE, "10Gbyte", 0},
    {NC_UNIT_RATE, "-0", 0},
    {NC_UNIT_RATE, "45 Mbit", 0},
    {NC_UNIT_RATE, "20000000Tbit", 0},
    {NC_UNIT_RATE, "0.1bit", 0},
    {NC_UNIT_RATE, "9600", 0},
    {NC_UNIT_RATE, "10MBPS", 0},
    {NC_UNIT_RATE, "10MbPS", 0},
    {NC_UNIT_RATE, "10mb/s", 0},
    {NC_UNIT_RATE, "10MB", 0},
    {NC_UNIT_BYTES, "4kbit", 0},
    {NC_UNIT_BYTES, "17000000TB", 0},
    {NC_UNIT_BYTES, "0.0001", 0},
    {NC_UNIT_RATIO, "1 %", 0},
    {NC_UNIT_RATIO, "0.00000001%", 0},
    {NC_UNIT_RATIO, "%", 0},
    {NC_UNIT_RATIO, "1", 0},
    {NC_UNIT_RATIO, "1.0", 0},
    {NC_UNIT_RATIO, "20", 0},
    {NC_UNIT_COUNT, "10%", 0},
    {NC_UNIT_COUNT, "99999999999999999999", 0},  /* 20 digits, too large */
    {NC_UNIT_COUNT, "123456789012345678901", 0}, /* 21 digits */
    {NC_UNIT_COUNT, "1\n", 0},
    {NC_UNIT_COUNT, "\xff", 0},
};

static void bad_values_give_one_line(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct nc_error error = {0};
        uint64_t value = 4711;
        if (nc_quantity_parse(bad[i].unit, bad[i].text, &value, &error) == 0) {
            fprintf(stderr, "'%s' passes as %" PRIu64 "\n", bad[i].text, value);
            CHECK(!"a bad value passes");
        }
        CHECK_EQ(value, 4711);
        CHECK_EQ(error.status, NC_EXIT_USAGE);
        CHECK(strlen(error.text) >= 10 && !strchr(error.text, '\n'));
    }
}

static void reasons_say_what_is_wanted(void)
{
    struct nc_error error;
    uint64_t value;
    CHECK_EQ(nc_quantity_parse(NC_UNIT_DURATION, "soon", &value, &error), -1);
    CHECK_STR(error.text, "not a duration; want for example 100ms, 4.2ms, 50us or 1.5s");
    CHECK_EQ(nc_quantity_parse(NC_UNIT_RATE, "-5Mbit", &value, &error), -1);
    CHECK_STR(error.text, "negative; want a rate such as 45Mbit, 800Mbit or 10Gbit");
    CHECK_EQ(nc_quantity_parse(NC_UNIT_BYTES, "17000000TB", &value, &error), -1);
    CHECK_STR(error.text, "too large to represent");
}

static void a_missing_or_open_unit_is_answered_with_what_was_meant(void)
{
    static const struct {
        enum nc_unit unit;
        const char *text, *reason;
    } rows[] = {
        {NC_UNIT_DURATION, "4.2", "has no unit; write 4.2ms or 4.2s"},
        {NC_UNIT_RATE, "5", "has no unit; write 5Mbit or 5bit"},
        {NC_UNIT_RATIO, "1", "has no unit; write 1% or 100%"},
        {NC_UNIT_RATIO, "2.5", "has no unit; write 2.5%"},
        {NC_UNIT_RATE, "10MBPS", "bits or bytes? write 10Mbit or 10MB/s"},
        {NC_UNIT_RATE, "10mb/s", "bits or bytes? write 10mbit or 10mB/s"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nc_error error = {0};
        uint64_t value;
        CHECK_EQ(nc_quantity_parse(rows[i].unit, rows[i].text, &value, &error), -1);
        CHECK_STR(error.text, rows[i].reason);
    }
}

static void a_file_of_numbers_needs_no_unit(void)
{
    static const struct row rows[] = {
        {NC_UNIT_DURATION, "0.1", G / 10},
        {NC_UNIT_DURATION, "2ms", 2000000},
        {NC_UNIT_RATE, "9600", 9600},
        {NC_UNIT_RATIO, "1.25", 5 * NC_RATIO_ONE / 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nc_error error;
        uint64_t value = 0;
        CHECK_EQ(nc_quantity_parse_bare(rows[i].unit, rows[i].text, &value, &error), 0);
        CHECK_EQ(value, rows[i].value);
    }
}

static void texts_are_what_a_user_would_write(void)
{
    static const struct row rows[] = {
        {NC_UNIT_DURATION, "4.2ms", 4200000}, {NC_UNIT_DURATION, "1s", G},          {NC_UNIT_DURATION, "0ns", 0},
        {NC_UNIT_RATE, "45Mbit", 45000000},   {NC_UNIT_RATE, "1.5Gbit", 3 * G / 2}, {NC_UNIT_BYTES, "110KB", 112640},
        {NC_UNIT_BYTES, "9001", 9001},        {NC_UNIT_RATIO, "0.01%", 100000},     {NC_UNIT_COUNT, "10000", 10000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        CHECK_STR(nc_quantity_format(rows[i].unit, rows[i].value, text, sizeof text), rows[i].text);
    }
}

/* Any size, and numbers that people choose, which have few digits and many zeros. */
static uint64_t any_value(struct seeded *seeded)
{
    uint64_t value = seeded_next(seeded) >> seeded_below(seeded, 64);
    if (seeded_below(seeded, 2)) {
        value %= 1000;
        for (uint32_t zeros = seeded_below(seeded, 16); zeros; zeros--)
            value *= 10;
    }
    return value;
}

static void formatted_parses_back(void)
{
    struct seeded seeded = seeded_start();
    for (int i = 0; i < 300000; i++) {
        enum nc_unit unit = (enum nc_unit)seeded_below(&seeded, NC_UNIT_N);
        uint64_t value = any_value(&seeded), back = ~value;
        struct nc_error error = {0};
        char text[64];
        nc_quantity_format(unit, value, text, sizeof text);
        if (nc_quantity_parse(unit, text, &back, &error) < 0 || back != value) {
            fprintf(stderr, "%s %" PRIu64 " formats as '%s' and parses as %" PRIu64 " %s\n", nc_unit_name(unit), value,
                    text, back, error.text);
            CHECK(!"round trip");
        }
    }
}

/* Decimal fractions must be exact: digits and suffix are compared with integer arithmetic. */
static void decimals_are_exact(void)
{
    static const struct {
        enum nc_unit unit;
        const char *suffix;
        uint64_t factor;
    } suffixes[] = {
        {NC_UNIT_DURATION, "ms", 1000000}, {NC_UNIT_DURATION, "s", G},    {NC_UNIT_RATE, "Mbit", 1000000},
        {NC_UNIT_BYTES, "KB", 1024},       {NC_UNIT_RATIO, "%", G / 100},
    };
    struct seeded seeded = seeded_start();
    for (int i = 0; i < 100000; i++) {
        size_t which = seeded_below(&seeded, sizeof suffixes / sizeof suffixes[0]);
        uint32_t whole = seeded_below(&seeded, 100000), thousandths = seeded_below(&seeded, 1000);
        uint64_t value, exact = (uint64_t)(whole * UINT64_C(1000) + thousandths) * suffixes[which].factor;
        struct nc_error error;
        char text[64];
        snprintf(text, sizeof text, "%u.%03u%s", whole, thousandths, suffixes[which].suffix);
        if (exact != 0 && (exact + 500) / 1000 == 0)
            continue;
        CHECK_EQ(nc_quantity_parse(suffixes[which].unit, text, &value, &error), 0);
        CHECK_EQ(value, (exact + 500) / 1000);
    }
}

int main(void)
{
    RUN(values_as_documented);
    RUN(bad_values_give_one_line);
    RUN(reasons_say_what_is_wanted);
    RUN(a_missing_or_open_unit_is_answered_with_what_was_meant);
    RUN(a_file_of_numbers_needs_no_unit);
    RUN(texts_are_what_a_user_would_write);
    RUN(formatted_parses_back);
    RUN(decimals_are_exact);
    return 0;
}
