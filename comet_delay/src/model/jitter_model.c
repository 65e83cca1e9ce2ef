#include "jitter_model.h"

#include <assert.h>
#include <math.h>

#include "random.h"

/* Mean and standard deviation of s^(-1/3), and the standard deviation of 1/4 z + s^(-1/3), for uniform s and its normal
 * score z. The first one is the square root of 3/4; the second comes from numerical integration. */
static const double pareto_mean = 1.5, pareto_sd = 0.86602540378443865, paretonormal_sd = 1.05177724554164;

static const double two_pi = 6.283185307179586;

struct jitter_model jitter_model_share(const struct jitter_model *model)
{
    struct jitter_model copy = *model;
    copy.table = table_share(model->table);
    return copy;
}

void jitter_model_free(struct jitter_model *model)
{
    table_release(model->table);
    *model = (struct jitter_model){0};
}

/* Uniform in (0, 1], and at least 2^-65, so that its logarithm is finite. */
static double uniform(uint64_t draw)
{
    return ldexp((double)draw + 0.5, -64);
}

/* A standard normal number from two draws for the packet (Box & Muller 1958). */
static double normal_draw(uint64_t key, uint64_t number)
{
    double radius = sqrt(-2 * log(uniform(random_u64(key, number))));
    return radius * cos(two_pi * uniform(random_u64(random_mix(~key), number)));
}

static double correlated_score(struct jitter_state *state, double r, uint64_t key, uint64_t number)
{
    if (!state->begun || number < state->number || number - state->number > JITTER_CATCH_UP) {
        state->begun = true;
        state->number = number > JITTER_CATCH_UP ? number - JITTER_CATCH_UP : 0;
        state->score = normal_draw(key, state->number);
    }
    while (state->number < number)
        state->score = r * state->score + sqrt(1 - r * r) * normal_draw(key, ++state->number);
    return state->score;
}

static double table_value(const struct table *table, double survival)
{
    double at = (1 - survival) * (double)table->n;
    size_t i = at > 0 ? (size_t)at : 0;
    return (double)(int64_t)table->at[i < table->n ? i : table->n - 1];
}

double jitter_quantile(const struct jitter_model *model, double z, double survival)
{
    double spread = (double)model->spread_ns;
    switch (model->kind) {
    case JITTER_UNIFORM:
        return spread * (1 - 2 * survival);
    case JITTER_NORMAL:
        return spread * z;
    case JITTER_PARETO:
        return spread * (cbrt(1 / survival) - pareto_mean) / pareto_sd;
    case JITTER_PARETONORMAL:
        return spread * (z / 4 + cbrt(1 / survival) - pareto_mean) / paretonormal_sd;
    case JITTER_TABLE:
        return table_value(model->table, survival);
    case JITTER_DIST:
        return spread * (table_value(model->table, survival) - model->table_mean) / model->table_sd;
    case JITTER_NONE:
    case JITTER_TRACE:
    case JITTER_KINDS:
        break;
    }
    assert(!"has no quantile function");
    return 0;
}

static double random_delay(struct jitter_state *state, const struct jitter_model *model, uint64_t key, uint64_t number)
{
    bool needs_score = model->kind == JITTER_NORMAL || model->kind == JITTER_PARETONORMAL;
    if (!model->correlation_ppb && !needs_score)
        return jitter_quantile(model, 0, uniform(random_u64(key, number)));
    double z = model->correlation_ppb ? correlated_score(state, model->score_correlation, key, number)
                                      : normal_draw(key, number);
    return jitter_quantile(model, z, erfc(z * M_SQRT1_2) / 2);
}

int64_t jitter_ns(struct jitter_state *state, const struct jitter_model *model, uint64_t key, uint64_t number,
                  uint64_t delay_ns)
{
    int64_t jitter, earliest = -(int64_t)delay_ns;
    if (model->kind == JITTER_NONE)
        return 0;
    if (model->kind == JITTER_TRACE)
        jitter = (int64_t)model->table->at[number % model->table->n];
    else
        jitter = llrint(random_delay(state, model, key, number));
    if (jitter < earliest) {
        state->clamped++;
        jitter = earliest;
    }
    sample_stats_add(&state->drawn, number, jitter);
    return jitter;
}

void jitter_added(struct jitter_state *state, const struct jitter_model *model, uint64_t number, int64_t added_ns)
{
    if (model->kind != JITTER_NONE)
        sample_stats_add(&state->added, number, added_ns);
}

void jitter_count_anew(struct jitter_state *state)
{
    state->drawn = state->added = (struct sample_stats){0};
}
