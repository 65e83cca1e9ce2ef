/* Implements service.h. */
#include "service.h"

#include <math.h>

#include "thresholds.h"

/* Called with a constant `length`, so the compiler makes no division. */
static inline __attribute__((always_inline)) int look_back(struct pl_service *s, int i, unsigned length)
{
    if (s->n < length || s->n % (length / 4))
        return 0;
    const struct pl_service_mark *then = &s->marks[(s->n - length) % PL_SERVICE_RING];
    double took_ns = (double)(s->now.t_ns - then->t_ns);
    s->rows[i]++;
    if (pl_sample_add(&s->all[i], took_ns / (s->now.bytes - then->bytes)) < 0)
        return -1;
    if ((s->now.idle_ns - then->idle_ns) * PL_SERVICE_BUSY > took_ns)
        return 0;
    s->busy_ns[i] += took_ns - (s->now.surely_idle_ns - then->surely_idle_ns);
    s->busy_bytes[i] += s->now.queued_bytes - then->queued_bytes;
    if (took_ns <= 0)
        return 0;
    return pl_sample_add(&s->ns_a_byte[i], took_ns / (s->now.bytes - then->bytes));
}

int pl_service_add(struct pl_service *s, const struct pl_segment *segment, int64_t low_delay_ns, int64_t least_delay_ns)
{
    int64_t idle_ns = s->n ? segment->t_sent_ns - (s->now.t_ns - low_delay_ns) : 0;
    int64_t surely_ns = s->n ? segment->t_sent_ns - (s->now.t_ns - least_delay_ns) : 0;
    s->now.t_ns = segment->t_received_ns;
    s->now.bytes += segment->len + PL_HEADERS;
    s->now.idle_ns += idle_ns > 0 ? (double)idle_ns : 0;
    s->now.surely_idle_ns += surely_ns > 0 ? (double)surely_ns : 0;
    s->now.queued_bytes += surely_ns > 0 ? 0 : segment->len + PL_HEADERS;
    if (look_back(s, 0, 128) < 0 || look_back(s, 1, 32) < 0 || look_back(s, 2, 8) < 0)
        return -1;
    s->marks[s->n++ % PL_SERVICE_RING] = s->now;
    return 0;
}

double pl_service_quickest(struct pl_service *s)
{
    for (int i = 0; i < PL_SERVICE_LENGTHS; i++) {
        if (s->all[i].given < PL_SERVICE_ROWS)
            continue;
        pl_sample_sort(&s->all[i]);
        return fmax(pl_sample_quantile(&s->all[i], PL_SERVICE_QUICKEST), 0);
    }
    return 0;
}

double pl_service_end(struct pl_service *s)
{
    double found = 0;
    for (int i = 0; i < PL_SERVICE_LENGTHS; i++) {
        struct pl_sample *sample = &s->ns_a_byte[i];
        if (found <= 0 && sample->given >= PL_SERVICE_ROWS &&
            (double)sample->given >= PL_SERVICE_LEAST * (double)s->rows[i]) {
            pl_sample_sort(sample);
            found = pl_sample_quantile(sample, PL_SERVICE_QUICK);
            s->slow = pl_sample_quantile(sample, PL_SERVICE_SLOW);
            s->mean = s->busy_bytes[i] > 0 ? fmax(s->busy_ns[i] / s->busy_bytes[i], 0) : 0;
        }
        pl_sample_free(sample);
        pl_sample_free(&s->all[i]);
    }
    return found;
}
