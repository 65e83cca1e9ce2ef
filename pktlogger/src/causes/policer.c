/* Implements policer.h. */
#include "policer.h"

#define LOW 0.1
#define HIGH 0.9
#define MORE 1.25 /* is sent than what passes */
#define SAME 0.1  /* how far apart these quantiles of the rates are at most, as a share of the median */

static void begin_window(struct pl_policer *policer, int64_t t_sent_ns)
{
    policer->first_ns = t_sent_ns;
    policer->bytes = policer->lost_bytes = 0;
    policer->parts = 0;
    policer->losses = 1;
}

static int end_window(struct pl_policer *policer, int64_t t_sent_ns)
{
    double seconds = (double)(t_sent_ns - policer->first_ns) / 1e9;
    int result = seconds <= 0 ? 0
                 : pl_sample_add(&policer->rates, policer->bytes / seconds) < 0
                     ? -1
                     : pl_sample_add(&policer->sent, (policer->bytes + policer->lost_bytes) / seconds);
    begin_window(policer, t_sent_ns);
    return result;
}

int pl_policer_add(struct pl_policer *policer, int64_t t_sent_ns, uint32_t bytes, bool lost)
{
    if (!lost) {
        policer->bytes += bytes;
        policer->parts++;
        policer->losses = ++policer->passed > PL_POLICED_BETWEEN ? 0 : policer->losses;
        return 0;
    }
    policer->passed = 0;
    policer->lost_bytes += bytes;
    if (!policer->losses) {
        begin_window(policer, t_sent_ns);
        return 0;
    }
    bool long_enough = ++policer->losses > PL_POLICED_LOSSES && policer->parts >= PL_POLICED_PARTS;
    return long_enough ? end_window(policer, t_sent_ns) : 0;
}

/* The distance of the outer quantiles of a sorted sample, as a share of its median. */
static double spread(const struct pl_sample *sample, double median)
{
    return (pl_sample_quantile(sample, HIGH) - pl_sample_quantile(sample, LOW)) / median;
}

double pl_policer_end(struct pl_policer *policer)
{
    double rate = 0;
    pl_sample_sort(&policer->rates);
    pl_sample_sort(&policer->sent);
    if (policer->rates.given >= PL_POLICED_WINDOWS) {
        double passed = pl_sample_quantile(&policer->rates, 0.5), sent = pl_sample_quantile(&policer->sent, 0.5);
        double varies = spread(&policer->rates, passed), sent_varies = spread(&policer->sent, sent);
        if (varies <= SAME && (sent >= MORE * passed || (sent_varies >= SAME && sent_varies >= 2 * varies)))
            rate = passed;
    }
    pl_sample_free(&policer->rates);
    pl_sample_free(&policer->sent);
    return rate;
}
