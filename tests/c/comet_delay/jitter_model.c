/* Jitter models in virtual time: their distributions against the analytic ones (Kolmogorov–Smirnov), and their
 * correlation against the requested value. */
#include "jitter_model.h"

#include <math.h>
#include <unistd.h>

#include "check.h"
#include "model_file.h"
#include "model_text.h"
#include "random.h"

#define MS INT64_C(1000000)
static const double z999 = 3.2905, ks999 = 1.9495; /* two-sided 99.9 %; the latter for D √n */
static const uint64_t hour_ns = UINT64_C(3600000000000);

static struct jitter_model model_of(const char *text)
{
    struct jitter_model model;
    struct nc_error error;
    CHECK_DONE(jitter_model_parse(text, &model, &error), text, error);
    return model;
}

/* The analytic distribution functions; x is in units of the requested spread. */
static double cdf_uniform(double x)
{
    return x < -1 ? 0 : x > 1 ? 1 : (x + 1) / 2;
}

static double cdf_normal(double x)
{
    return erfc(-x / sqrt(2)) / 2;
}

static double cdf_pareto(double x) /* 1 - (1/y)^3 for y >= 1, mean 3/2, variance 3/4 */
{
    double y = 1.5 + x * sqrt(0.75);
    return y < 1 ? 0 : 1 - 1 / (y * y * y);
}

static double cdf_paretonormal(double x) /* only the inverse has a formula, from the normal score, so it is solved by
                                          * bisection */
{
    double low = -9, high = 9;
    for (int i = 0; i < 60; i++) {
        double z = (low + high) / 2, q = (0.25 * z + pow(erfc(z / sqrt(2)) / 2, -1.0 / 3) - 1.5) / 1.05177724554164;
        if (q < x)
            low = z;
        else
            high = z;
    }
    return cdf_normal(low);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double ks(double *values, size_t n, double (*cdf)(double))
{
    double distance = 0;
    qsort(values, n, sizeof *values, by_value);
    for (size_t i = 0; i < n; i++) {
        double f = cdf(values[i]);
        distance = fmax(distance, fmax(f - (double)i / (double)n, (double)(i + 1) / (double)n - f));
    }
    return distance;
}

static const struct distribution {
    const char *name;
    double (*cdf)(double);
    double sd, kurtosis; /* fourth moment, in units of the spread; 0: it is infinite */
} distributions[] = {
    {"uniform", cdf_uniform, 0.57735026918962576, 1.8},
    {"normal", cdf_normal, 1, 3},
    {"pareto", cdf_pareto, 1, 0},
    {"paretonormal", cdf_paretonormal, 1, 0},
};
enum { DISTRIBUTIONS = sizeof distributions / sizeof distributions[0] };

/* n delays, taking every `apart`-th one, in units of the spread of 2 ms. */
static void sample(const char *text, uint64_t seed, double *values, size_t n, unsigned apart)
{
    struct jitter_model model = model_of(text);
    struct jitter_state state = {0};
    uint64_t key = random_key(seed, 0, 3);
    for (size_t i = 0; i < n * apart; i++)
        values[i / apart] = (double)jitter_ns(&state, &model, key, i, hour_ns) / (2 * MS);
    CHECK_EQ(state.clamped, 0);
    CHECK_EQ(state.drawn.n, n * apart);
    jitter_model_free(&model);
}

static void expect(bool good, const char *what, const char *text, uint64_t seed, double got)
{
    if (good)
        return;
    fprintf(stderr, "%s of %s, seed %llu: %.9g\n", what, text, (unsigned long long)seed, got);
    exit(1);
}

static void distributions_are_the_analytic_ones(void)
{
    enum { N = 200000 };
    static double values[N];
    for (int d = 0; d < DISTRIBUTIONS; d++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            char text[60];
            double sum = 0, squares = 0, sd = distributions[d].sd, kurtosis = distributions[d].kurtosis;
            snprintf(text, sizeof text, "%s:2ms", distributions[d].name);
            sample(text, seed, values, N, 1);
            for (int i = 0; i < N; i++) {
                sum += values[i];
                squares += values[i] * values[i];
            }
            expect(fabs(sum / N) < z999 * sd / sqrt(N), "mean", text, seed, sum / N);
            if (kurtosis > 0)
                expect(fabs(squares / N - sd * sd) < z999 * sd * sd * sqrt((kurtosis - 1) / N), "variance", text, seed,
                       squares / N);
            double distance = ks(values, N, distributions[d].cdf);
            expect(distance * sqrt(N) < ks999, "KS", text, seed, distance * sqrt(N));
        }
}

/* Correlation must not change the distribution. Only every 24th value is used; these are independent to within 0.6^24 =
 * 5e-6. */
static void correlation_leaves_the_distribution(void)
{
    enum { N = 50000 };
    static double values[N];
    for (int d = 0; d < DISTRIBUTIONS; d++)
        for (uint64_t seed = 1; seed <= 2; seed++) {
            char text[60];
            snprintf(text, sizeof text, "%s:2ms,50%%", distributions[d].name);
            sample(text, seed, values, N, 24);
            double distance = ks(values, N, distributions[d].cdf);
            expect(distance * sqrt(N) < ks999, "KS", text, seed, distance * sqrt(N));
        }
}

/* Correlation of neighbouring values. Its standard error comes from the spread of the means of 200 blocks. */
static void lag_one(const double *values, size_t n, double mean, double variance, double *got, double *error)
{
    enum { BLOCKS = 200 };
    double sum = 0, squares = 0;
    size_t block = (n - 1) / BLOCKS;
    for (size_t b = 0; b < BLOCKS; b++) {
        double products = 0;
        for (size_t i = b * block; i < (b + 1) * block; i++)
            products += (values[i] - mean) * (values[i + 1] - mean);
        products /= (double)block * variance;
        sum += products;
        squares += products * products;
    }
    *got = sum / BLOCKS;
    *error = sqrt((squares / BLOCKS - *got * *got) / (BLOCKS - 1));
}

static void correlation_is_the_one_asked_for(void)
{
    enum { N = 1000000 };
    static double values[N];
    static const double asked[] = {0.1, 0.25, 0.5, 0.9};
    for (int d = 0; d < 2; d++) /* without the Pareto distributions, whose products vary too much (see below) */
        for (int a = 0; a < 4; a++)
            for (uint64_t seed = 1; seed <= 2; seed++) {
                char text[60];
                double got, error, sd = distributions[d].sd;
                snprintf(text, sizeof text, "%s:2ms,%g", distributions[d].name, asked[a]);
                sample(text, seed, values, N, 1);
                lag_one(values, N, 0, sd * sd, &got, &error);
                expect(fabs(got - asked[a]) < 3.34 * error, "correlation", text, seed, got); /* t of 199 */
            }
}

/* For heavy tails the scores behind the delays are checked instead. The analytic distribution gives the scores back,
 * and they must have the solved correlation. */
static void heavy_tails_have_scores_of_the_solved_correlation(void)
{
    enum { N = 200000 };
    static double values[N];
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct jitter_model model = model_of("pareto:2ms,50%");
        double got, error;
        sample("pareto:2ms,50%", seed, values, N, 1);
        for (int i = 0; i < N; i++) { /* score by bisection on the survival function */
            double survival = 1 - cdf_pareto(values[i]), low = -9, high = 9;
            for (int step = 0; step < 50; step++) {
                double z = (low + high) / 2;
                if (erfc(z / sqrt(2)) / 2 > survival)
                    low = z;
                else
                    high = z;
            }
            values[i] = low;
        }
        lag_one(values, N, 0, 1, &got, &error);
        expect(fabs(got - model.score_correlation) < 3.34 * error, "score correlation", "pareto", seed, got);
    }
}

/* E[g(z1) g(z2)] by summing over the plane: the slow method that jitter_copula.c avoids. */
static double delay_correlation(const struct jitter_model *model, double r)
{
    enum { SIDE = 600 };
    double sum = 0, mean = 0, power = 0, step = 24.0 / SIDE;
    for (int i = 0; i < SIDE; i++) {
        double x = (i + 0.5) * step - 12, gx = jitter_quantile(model, x, erfc(x / sqrt(2)) / 2);
        double wx = step * exp(-x * x / 2) / sqrt(2 * M_PI);
        mean += wx * gx;
        power += wx * gx * gx;
        for (int j = 0; j < SIDE; j++) {
            double e = (j + 0.5) * step - 12, y = r * x + sqrt(1 - r * r) * e;
            sum += wx * step * exp(-e * e / 2) / sqrt(2 * M_PI) * gx * jitter_quantile(model, y, erfc(y / sqrt(2)) / 2);
        }
    }
    return (sum - mean * mean) / (power - mean * mean);
}

static void solved_correlation_is_right(void)
{
    static const double asked[] = {0.001, 0.25, 0.5, 0.9, 0.999};
    for (int a = 0; a < 5; a++) {
        struct jitter_model model = {
            .kind = JITTER_UNIFORM, .spread_ns = 2 * MS, .correlation_ppb = (uint64_t)(asked[a] * 1e9)};
        double r = jitter_solve_correlation(&model);
        expect(fabs(r - 2 * sin(M_PI * asked[a] / 6)) < 1e-5, "solution", "uniform", 0, r); /* Pearson 1907 */
        model.kind = JITTER_NORMAL;
        CHECK(fabs(jitter_solve_correlation(&model) - asked[a]) < 1e-9);
        for (model.kind = JITTER_PARETO; model.kind <= JITTER_PARETONORMAL; model.kind++) {
            r = jitter_solve_correlation(&model);
            double got = delay_correlation(&model, r);
            expect(r >= asked[a] && r < 1 && fabs(got - asked[a]) < 2e-3, "correlation", "pareto…",
                   (uint64_t)model.kind, got);
        }
    }
}

/* Delays of 0 and 10 ms with equal probability: the correlation is (2/π) asin r (Sheppard 1899). */
static void table_correlation_is_right(void)
{
    enum { N = 400000 };
    static double values[N];
    char path[40], spec[120];
    double got, error;
    file_of("10ms # one\n0ms\n", "table:", ",50%", path, spec);
    struct jitter_model model = model_of(spec);
    CHECK(fabs(model.score_correlation - sin(M_PI / 4)) < 2e-3);
    sample(spec, 1, values, N, 1);
    lag_one(values, N, 2.5, 6.25, &got, &error); /* in units of 2 ms */
    expect(fabs(got - 0.5) < 3.34 * error + 2e-3, "correlation", spec, 1, got);
    jitter_model_free(&model);
    unlink(path);
}

static void no_packet_leaves_before_it_came(void)
{
    struct jitter_model model = model_of("normal:2ms");
    struct jitter_state state = {0};
    uint64_t n = 500000;
    double share = erfc(0.5 / sqrt(2)) / 2; /* below -1 ms, half a deviation */
    for (uint64_t i = 0; i < n; i++)
        CHECK(jitter_ns(&state, &model, 5, i, 1 * MS) >= -1 * MS);
    CHECK_EQ(state.drawn.n, n);
    CHECK(fabs((double)state.clamped - share * (double)n) < z999 * sqrt((double)n * share * (1 - share)));
}

static void jitter_depends_on_the_number_alone(void)
{
    enum { N = 100000 };
    static int64_t all[N];
    static const char *const texts[] = {"normal:2ms,90%", "pareto:2ms,50%", "uniform:2ms", "paretonormal:2ms"};
    for (size_t t = 0; t < 4; t++) {
        struct jitter_model model = model_of(texts[t]);
        struct jitter_state state = {0}, holes = {0};
        for (uint64_t i = 0; i < N; i++)
            all[i] = jitter_ns(&state, &model, 5, i, hour_ns);
        for (uint64_t i = 7; i < N; i++)
            if (!random_hit(6, i, 500000000) && !(i > 20000 && i < 20000 + 3 * JITTER_CATCH_UP))
                CHECK_EQ(jitter_ns(&holes, &model, 5, i, hour_ns), all[i]);
        CHECK_EQ(jitter_ns(&holes, &model, 5, 60000, hour_ns), all[60000]);
    }
}

static void none_is_none(void)
{
    struct jitter_model model = model_of("none"), zero = model_of("normal:0ms,25%");
    struct jitter_state state = {0};
    for (uint64_t i = 0; i < 100; i++)
        CHECK(jitter_ns(&state, &model, 1, i, 0) == 0 && jitter_ns(&state, &zero, 1, i, 0) == 0);
    CHECK_EQ(state.clamped, 0);
}

int main(void)
{
    RUN(distributions_are_the_analytic_ones);
    RUN(correlation_leaves_the_distribution);
    RUN(correlation_is_the_one_asked_for);
    RUN(heavy_tails_have_scores_of_the_solved_correlation);
    RUN(solved_correlation_is_right);
    RUN(table_correlation_is_right);
    RUN(no_packet_leaves_before_it_came);
    RUN(jitter_depends_on_the_number_alone);
    RUN(none_is_none);
    return 0;
}
