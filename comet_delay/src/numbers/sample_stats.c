#include "sample_stats.h"

#include <math.h>

void sample_stats_add(struct sample_stats *m, uint64_t number, int64_t value_ns)
{
    double value = (double)value_ns;
    if (m->n && number == m->last_number + 1) {
        m->pairs++;
        m->products += value * (double)m->last;
    }
    m->min = m->n && m->min < value_ns ? m->min : value_ns;
    m->max = m->n && m->max > value_ns ? m->max : value_ns;
    m->n++;
    m->sum += value;
    m->squares += value * value;
    m->last = value_ns;
    m->last_number = number;
    if (value_ns < 0)
        histogram_add(&m->below, (uint64_t)-value_ns, 1);
    else
        histogram_add(&m->above, (uint64_t)value_ns, 1);
}

double sample_stats_mean(const struct sample_stats *m)
{
    return m->n ? m->sum / (double)m->n : 0;
}

static double variance(const struct sample_stats *m)
{
    double mean = sample_stats_mean(m), of = m->n ? m->squares / (double)m->n - mean * mean : 0;
    return of > 0 ? of : 0;
}

double sample_stats_sd(const struct sample_stats *m)
{
    return sqrt(variance(m));
}

double sample_stats_autocorrelation(const struct sample_stats *m)
{
    double of = variance(m), mean = sample_stats_mean(m);
    return m->pairs && of > 0 ? (m->products / (double)m->pairs - mean * mean) / of : 0;
}

int64_t sample_stats_quantile(const struct sample_stats *m, double share)
{
    double below = (double)m->below.count, rank = share * (double)m->n;
    if (rank < below) /* the most negative values come first; they are the largest of that histogram */
        return -(int64_t)histogram_percentile(&m->below, 1 - rank / below);
    return m->above.count ? (int64_t)histogram_percentile(&m->above, (rank - below) / (double)m->above.count) : m->max;
}
