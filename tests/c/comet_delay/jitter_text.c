/* Jitter from files; and texts of jitter models: valid texts survive parsing and formatting, and each invalid one gives
 * a one-line error. */
#include "jitter_model.h"

#include <math.h>
#include <unistd.h>

#include "check.h"
#include "model_file.h"
#include "model_text.h"

#define MS INT64_C(1000000)
static const double z999 = 3.2905; /* two-sided 99.9 % */
static const uint64_t hour_ns = UINT64_C(3600000000000);

static struct jitter_model model_of(const char *text)
{
    struct jitter_model model;
    struct nc_error error;
    CHECK_DONE(jitter_model_parse(text, &model, &error), text, error);
    return model;
}

static void table_values_come_with_equal_shares(void)
{
    char path[40], spec[120];
    const int64_t wanted[4] = {-3000, 0, 1500 * MS, 2 * MS};
    uint64_t seen[4] = {0}, n = 400000;
    file_of("2ms\n  -3us 0\r\n# nothing\n1.5 # seconds", "table:", "", path, spec);
    struct jitter_model model = model_of(spec);
    struct jitter_state state = {0};
    for (uint64_t i = 0; i < n; i++) {
        int64_t value = jitter_ns(&state, &model, 11, i, hour_ns);
        int v = 0;
        while (v < 4 && wanted[v] != value)
            v++;
        CHECK(v < 4);
        seen[v]++;
    }
    double chi2 = 0, each = (double)n / 4;
    for (int v = 0; v < 4; v++)
        chi2 += ((double)seen[v] - each) * ((double)seen[v] - each) / each;
    CHECK(chi2 < 16.27); /* 99.9 %, three degrees of freedom */
    jitter_model_free(&model);
    unlink(path);
}

static void netem_table_has_the_deviation_asked_for(void)
{
    char path[40], spec[120];
    file_of("# as in tc\n -8192 0 0\n 24576\n", "dist:", ",2ms", path, spec); /* -1 0 0 3: mean 0.5, variance 2.25 */
    struct jitter_model model = model_of(spec);
    struct jitter_state state = {0};
    uint64_t n = 400000, low = 0;
    for (uint64_t i = 0; i < n; i++) {
        int64_t value = jitter_ns(&state, &model, 12, i, hour_ns);
        CHECK(value == -2 * MS || value == -666667 || value == 3333333);
        low += value == -2 * MS;
    }
    CHECK(fabs((double)low - (double)n / 4) < z999 * sqrt((double)n * 3 / 16));
    jitter_model_free(&model);
    unlink(path);
}

static void trace_repeats_in_order(void)
{
    char path[40], spec[120];
    file_of("3ms\n1ms\n2ms\n", "trace:", "", path, spec);
    struct jitter_model model = model_of(spec), second = jitter_model_share(&model);
    struct jitter_state state = {0};
    jitter_model_free(&model);
    for (uint64_t i = 0; i < 100; i += 1 + i % 2) /* with holes: by number */
        CHECK_EQ(jitter_ns(&state, &second, 1, i, 0), (i % 3 == 0 ? 3 : i % 3) * MS);
    jitter_model_free(&second);
    unlink(path);
}

static void texts_come_back(void)
{
    static const struct {
        const char *text, *formatted;
    } cases[] = {
        {"none", "none"},
        {"0ms", "none"},
        {"2ms", "uniform:2ms"},
        {"uniform:2ms,25%", "uniform:2ms,25%"},
        {"normal:1500us", "normal:1.5ms"},
        {"pareto:2ms,99.9%", "pareto:2ms,99.9%"},
        {"paretonormal:1ns", "paretonormal:1ns"},
        {"2ms,0.5", "uniform:2ms,50%"},
        {"2ms,0%", "uniform:2ms"},
    };
    char buf[MODEL_TEXT_MAX], path[40], spec[120];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct jitter_model model = model_of(cases[i].text), again;
        CHECK_STR(jitter_model_format(&model, buf, sizeof buf), cases[i].formatted);
        again = model_of(buf);
        CHECK(again.kind == model.kind && again.spread_ns == model.spread_ns &&
              again.correlation_ppb == model.correlation_ppb);
    }
    static const struct {
        const char *prefix, *suffix;
    } files[] = {{"table:", ""}, {"table:", ",25%"}, {"dist:", ",2ms"}, {"dist:", ",2ms,25%"}, {"trace:", ""}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        file_of("1 2 3\n", files[i].prefix, files[i].suffix, path, spec);
        struct jitter_model model = model_of(spec);
        CHECK_STR(jitter_model_format(&model, buf, sizeof buf), spec);
        jitter_model_free(&model);
        unlink(path);
    }
}

static void wrong_texts_are_refused_in_one_line(void)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "not a duration"},
        {"2 ms", "not a duration"},
        {"-2ms", "negative"},
        {"61s", "more than 60s"},
        {"2ms,100%", "0% to 99.9%"},
        {"2ms,-5%", "negative"},
        {"2ms,1%,2%", "want [DISTRIBUTION:]"},
        {"gauss:2ms", "no such jitter model"},
        {"normal:", "not a duration"},
        {"table:", "name of a file"},
        {"table:/no/such/file", "/no/such/file: No such file"},
        {"trace:/tmp", "not a regular file"},
        {"trace:/dev/zero", "not a regular file"},
        {"dist:/tmp/x", "want dist:FILE,DEVIATION"},
        {"table:x\ny", "x?y: No such"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nc_error error;
        struct jitter_model model;
        if (jitter_model_parse(cases[i].text, &model, &error) == 0 || !strstr(error.text, cases[i].reason) ||
            strchr(error.text, '\n')) {
            fprintf(stderr, "'%s': '%s'\n", cases[i].text, error.text);
            exit(1);
        }
    }
}

int main(void)
{
    RUN(table_values_come_with_equal_shares);
    RUN(netem_table_has_the_deviation_asked_for);
    RUN(trace_repeats_in_order);
    RUN(texts_come_back);
    RUN(wrong_texts_are_refused_in_one_line);
    return 0;
}
