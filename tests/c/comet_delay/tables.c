/* Files of numbers: which ones are accepted, and errors that name file and line. */
#include "table.h"

#include "check.h"

static struct table *parse(const char *text, enum table_content content, struct nc_error *error)
{
    return table_parse("f", text, strlen(text), content, error);
}

static void numbers_are_read(void)
{
    struct nc_error error;
    struct table *t = parse("# head\n12.5ms -3us\r\n\n0.5#s\n\t7ns", TABLE_DURATIONS, &error);
    CHECK(t && t->n == 4);
    CHECK_EQ(t->at[0], 12500000);
    CHECK_EQ(t->at[1], -3000);
    CHECK_EQ(t->at[2], 500000000);
    CHECK_EQ(t->at[3], 7);
    table_release(t);
    t = parse("-32768 32767\n-0 5", TABLE_NETEM, &error);
    CHECK(t && t->n == 4 && (int64_t)t->at[0] == -32768);
    table_release(t);
    t = parse("0\n0\n17\n", TABLE_MILLISECONDS, &error);
    CHECK(t && t->n == 3);
    CHECK_EQ(t->at[2], 17000000);
    table_release(t);
}

static void wrong_files_are_refused_with_their_line(void)
{
    static const struct {
        enum table_content content;
        const char *text, *reason;
    } cases[] = {
        {TABLE_DURATIONS, "", "f:1: no numbers"},
        {TABLE_DURATIONS, "# only\n", "f:2: no numbers"},
        {TABLE_DURATIONS, "1ms\n2 apples", "f:2: 'apples'"},
        {TABLE_DURATIONS, "1ms\n\n61min", "f:3: '61min'"},
        {TABLE_DURATIONS, "--1ms", "f:1: '--1ms'"},
        {TABLE_NETEM, "1\n2\n32768", "f:3: '32768'"},
        {TABLE_NETEM, "1.5", "f:1: '1.5'"},
        {TABLE_MILLISECONDS, "5\n4\n", "f:2: '4': before"},
        {TABLE_MILLISECONDS, "0\n0", "f:2: lasts no time"},
        {TABLE_MILLISECONDS, "-1", "f:1: '-1'"},
        {TABLE_MILLISECONDS, "86400001", "f:1: '86400001'"},
        {TABLE_DURATIONS, "1\x01", "f:1: '1?'"},
        {TABLE_DURATIONS, "1111111111111111111111111111111111111111111111111111111111111111111111", "f:1: '1111"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nc_error error;
        if (parse(cases[i].text, cases[i].content, &error) ||
            strncmp(error.text, cases[i].reason, strlen(cases[i].reason))) {
            fprintf(stderr, "case %zu: '%s', want '%s'\n", i, error.text, cases[i].reason);
            exit(1);
        }
    }
    struct nc_error error;
    CHECK(!table_parse("f", "1\0002", 3, TABLE_NETEM, &error) && strncmp(error.text, "f:1: '1'", 8) == 0);
}

static void pairs_are_sorted_and_joined(void)
{
    static const uint64_t pairs[] = {50, 60, 10, 20, 20, 30, 55, 58, 5, 6}, joined[] = {5, 6, 10, 30, 50, 60};
    struct table *t = NULL;
    for (int i = 0; i < 10; i++)
        CHECK(table_add(&t, pairs[i]));
    table_sort_pairs(t);
    CHECK_EQ(t->n, 6);
    for (int i = 0; i < 6; i++)
        CHECK_EQ(t->at[i], joined[i]);
    for (uint64_t from = 0; from < 70; from++)
        for (uint64_t to = from + 1; to < 75; to++) {
            bool any = false;
            for (int i = 0; i < 6; i += 2)
                any = any || (from < joined[i + 1] && to > joined[i]);
            CHECK_EQ(table_pairs_overlap(t, from, to), any);
        }
    table_release(table_share(t));
    table_release(t);
}

int main(void)
{
    RUN(numbers_are_read);
    RUN(wrong_files_are_refused_with_their_line);
    RUN(pairs_are_sorted_and_joined);
    return 0;
}
