/* Delay that varies from packet to packet, in addition to the constant delay.
 *
 * The jitter has exactly mean 0 and the given standard deviation (uniform: half-width). A correlation does not change
 * the distribution. A standard normal score runs through an AR(1) process,
 *     z[n] = r z[n-1] + sqrt(1 - r²) e[n],
 * and then through the quantile function of the distribution. This is exact for normal, and a Gaussian copula for the
 * others (Cario & Nelson 1997, "NORTA"). r is computed once, when the model is set, so that neighbouring *delays* have
 * the given correlation (jitter_copula.c).
 * Rejected: netem's correlation, a weighted mean of the new and the last random number before the table look-up. It
 * narrows the distribution (at 50 % a uniform one becomes bell-shaped) and yields a correlation other than the given
 * one.
 *
 * Pareto has shape 3, as netem's table has. Paretonormal is netem's mix of quantiles, 1/4 normal + 3/4 (4/3) pareto.
 * Neither is cut off at four deviations, as netem's 16-bit tables are, and both are scaled to the given deviation
 * (netem's are not: its pareto.dist has 0.82, or 1.15 before the cut). So a delay of a hundred deviations occurs about
 * once in 700,000 packets.
 *
 * Random numbers depend on (key, number) only. The AR(1) process takes one step for every packet number, including
 * packets that never reach this stage. After a gap of more than JITTER_CATCH_UP it restarts JITTER_CATCH_UP steps
 * before the current packet, with the same result to within r^JITTER_CATCH_UP.
 *
 * Text forms:
 *   none, 0ms                        no jitter
 *   2ms, uniform:2ms                 uniform in ±2 ms
 *   normal:2ms, pareto:2ms, paretonormal:2ms      by standard deviation
 *   uniform:2ms,25%                  any of them with lag-1 correlation, up to 99.9 %
 *   table:FILE[,25%]                 delays drawn from those in FILE, as they are (12.5ms, -3us; a number alone is
 *                                    seconds)
 *   dist:FILE,2ms[,25%]              netem's .dist format, scaled to mean 0 and deviation 2 ms
 *   trace:FILE                       FILE's delays in order, by packet number; after the last they begin again */
#ifndef COMET_JITTER_MODEL_H
#define COMET_JITTER_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample_stats.h"
#include "table.h"

enum jitter_kind {
    JITTER_NONE,
    JITTER_UNIFORM,
    JITTER_NORMAL,
    JITTER_PARETO,
    JITTER_PARETONORMAL,
    JITTER_TABLE,
    JITTER_DIST,
    JITTER_TRACE,
    JITTER_KINDS
};

enum { JITTER_CATCH_UP = 16384 };
#define JITTER_SPREAD_MAX_NS UINT64_C(60000000000)
#define JITTER_CORRELATION_MAX_PPB UINT64_C(999000000)

struct jitter_model {
    enum jitter_kind kind;
    uint64_t spread_ns;          /* half-width or standard deviation */
    uint64_t correlation_ppb;    /* of neighbouring delays */
    double score_correlation;    /* of neighbouring scores: the r above */
    double table_mean, table_sd; /* dist: of the file's numbers */
    struct table *table;         /* int64, sorted unless a trace; owned */
};

struct jitter_state {
    bool begun;
    uint64_t number; /* of the last score */
    double score;
    uint64_t clamped;                 /* packets whose delay would have been negative */
    struct sample_stats drawn, added; /* jitter drawn by the model; actual jitter of packets, some of which wait to keep
                                       * the order */
};

/* The same four functions as in loss_model.h. The parser reads the file, if the text names one. */
int jitter_model_parse(const char *text, struct jitter_model *model, struct nc_error *error);
const char *jitter_model_format(const struct jitter_model *model, char *buf, size_t size);
struct jitter_model jitter_model_share(const struct jitter_model *model);
void jitter_model_free(struct jitter_model *model);

/* The jitter of packet `number`. A state starts as all zero, and is kept when the parameters change. `delay_ns`, at
 * most an hour, is the constant delay to which the caller adds the jitter. The sum is never negative; `clamped` counts
 * the packets whose jitter was reduced for this. */
int64_t jitter_ns(struct jitter_state *state, const struct jitter_model *model, uint64_t key, uint64_t number,
                  uint64_t delay_ns);

/* Counts a packet's actual delay minus the constant delay. Without a model it counts nothing. */
void jitter_added(struct jitter_state *state, const struct jitter_model *model, uint64_t number, int64_t added_ns);

/* Restarts the statistics; the scores continue. */
void jitter_count_anew(struct jitter_state *state);

/* The quantile function: the delay, in ns, of score z. `survival` is 1 - Φ(z), a separate argument because it is more
 * exact in the tail. */
double jitter_quantile(const struct jitter_model *model, double z, double survival);

/* The r for which neighbouring delays have the model's correlation. */
double jitter_solve_correlation(const struct jitter_model *model);

#endif
