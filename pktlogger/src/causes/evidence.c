/* Implements evidence.h. */
#include "evidence.h"

/* The kernel checks pacing and the congestion window before the receiver's window. So a counter of window-limited time
 * that stands still rules out the receiver's window only if nothing paces, no data were unsent, or the congestion
 * window was full. Where the counter does not decide, the receiver's window was no limit if no data were unsent. */
static enum pl_answer window_of(const struct pl_samples_of *samples, const struct pl_evidence *known, int64_t t0_ns,
                                int64_t t1_ns)
{
    enum pl_answer counted = pl_samples_counted(samples, PL_RWND_LIMITED, t0_ns, t1_ns);
    bool unsent = pl_unsent(known), decides = known->seen.unpaced || !unsent || pl_filled(known);
    if (counted == PL_YES || (counted == PL_NO && decides))
        return counted;
    return known->within && !unsent ? PL_NO : PL_UNKNOWN;
}

struct pl_evidence pl_evidence_over(struct pl_samples_of *samples, int64_t t0_ns, int64_t t1_ns, uint32_t mss)
{
    struct pl_evidence known = {.seen = pl_samples_near(samples, t0_ns, t1_ns, mss)};
    if (!known.seen.n)
        return known;
    known.within = samples->at < samples->n && samples->first[samples->at].t_ns < t1_ns;
    known.window = window_of(samples, &known, t0_ns, t1_ns);
    if (pl_given(&known))
        known.buffer = PL_NO;
    else if (pl_samples_counted(samples, PL_SNDBUF_LIMITED, t0_ns, t1_ns) == PL_YES)
        known.buffer = PL_YES;
    if (known.seen.slow != known.seen.past)
        known.slow = known.seen.slow > known.seen.past ? PL_YES : PL_NO;
    return known;
}
