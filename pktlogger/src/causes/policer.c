/* Implements policer.h. */
#include "policer.h"

#define LOW 0.1
#define HIGH 0.9
#define MORE 1.25 /* is sent than what passes */
#define SENT 0.05 /* by so much of the rate what is sent varies at least */
#define NEAR 0.85 /* of the quickest windows' rate: windows that tell the same */
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

/* Keeps the quickest windows, the quickest one first. */
static void keep(struct pl_policer *policer, struct pl_policed_window window)
{
    const unsigned most = sizeof policer->quick / sizeof *policer->quick;
    unsigned at = policer->quick_n;
    while (at > 0 && policer->quick[at - 1].rate < window.rate)
        at--;
    if (at == most)
        return;
    policer->quick_n += policer->quick_n < most;
    for (unsigned i = policer->quick_n - 1; i > at; i--)
        policer->quick[i] = policer->quick[i - 1];
    policer->quick[at] = window;
}

static void add_wide(struct pl_policer *policer, int64_t t_sent_ns, uint32_t bytes, bool lost)
{
    policer->wide_bytes += lost ? 0 : bytes;
    policer->wide_parts += !lost;
    policer->wide_lost += lost ? bytes : 0;
    if (!lost || (policer->wide && policer->wide_parts < PL_POLICED_PARTS))
        return;
    double seconds = (double)(t_sent_ns - policer->wide_ns) / 1e9;
    if (policer->wide && seconds > 0)
        keep(policer, (struct pl_policed_window){policer->wide_bytes / seconds,
                                                 (policer->wide_bytes + policer->wide_lost) / seconds});
    policer->wide = true;
    policer->wide_ns = t_sent_ns;
    policer->wide_bytes = policer->wide_lost = 0;
    policer->wide_parts = 0;
}

int pl_policer_add(struct pl_policer *policer, int64_t t_sent_ns, uint32_t bytes, bool lost)
{
    add_wide(policer, t_sent_ns, bytes, lost);
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

/* What these windows say, the quickest one first: the rate, or 0. */
static double rate_of(const struct pl_policed_window *quick, unsigned all)
{
    unsigned n = 0;
    if (all < PL_POLICED_QUICK)
        return 0;
    double rate = quick[PL_POLICED_QUICK - 1].rate, least = quick[0].sent, most = quick[0].sent;
    for (; n < all && quick[n].rate >= NEAR * rate; n++) {
        least = quick[n].sent < least ? quick[n].sent : least;
        most = quick[n].sent > most ? quick[n].sent : most;
    }
    double varies = (quick[0].rate - quick[n - 1].rate) / rate, sent_varies = (most - least) / rate;
    return quick[0].rate <= (1 + SAME) * rate && sent_varies >= SENT && sent_varies >= 2 * varies ? rate : 0;
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
    if (rate <= 0)
        rate = rate_of(policer->quick, policer->quick_n);
    if (rate <= 0 && policer->quick_n) /* the first one may have begun with a bucket that was not quite empty */
        rate = rate_of(policer->quick + 1, policer->quick_n - 1);
    pl_sample_free(&policer->rates);
    pl_sample_free(&policer->sent);
    return rate;
}
