/* A round of a sender: what it sends until the first byte of the round is acknowledged. Its cause is what limited the
 * sender where no single gap shows it. */
#ifndef PL_ROUND_H
#define PL_ROUND_H

#include "evidence.h"
#include "transfer.h"

/* Sums over the gaps of a round that do not show their cause. */
struct pl_round {
    uint32_t packets, gaps;            /* that count, and how many packets these ended */
    uint64_t end;                      /* it is over when all below is acknowledged */
    int64_t t0_ns, t1_ns;              /* from its first packet to the first of the next round */
    int64_t since_ns;                  /* when a recovery ended in it, else t0_ns: its samples count from then on */
    double work_ns;                    /* the bottleneck's time for all that was sent; 0: not known */
    uint64_t flight;                   /* largest */
    int64_t queue_ns;                  /* smallest; -1: not known */
    double time_ns, bytes, unevenness; /* unevenness: sum of gap² / bytes */
    int64_t empty_ns;                  /* for how long nothing was outstanding */
    bool paused;                       /* the application had nothing to send */
    bool unheld;                       /* by most samples, data were unsent or the send buffer had room; or the
                                          program had given all */
    bool shut;                         /* the receiver's window left no room for the packet before, once at least */
    bool blind;                        /* the receiver's window is not known */
    double clocked;                    /* bytes sent at once after an acknowledgement */
    bool idle;                         /* by most samples, the program had given no more; or nothing was outstanding
                                          for most of the time, and no sample says that data were unsent */
    bool may_starve;                   /* the program may have had nothing to give, and no sample says otherwise */
    bool unsent;                       /* by most samples, data were unsent */
    bool filled;                       /* by most samples, the congestion window was full, too */
    bool rate_holds;                   /* by most samples, only the rate that congestion control sets held data back, */
    bool program_holds;                /* or only the one that the program allows */
    bool spent;                        /* by most samples, all that the send buffer holds was sent, and it was full */
    uint64_t pace_bytes_per_s;         /* the most that the program allows; 0: not known */
    uint64_t kernel_pace_bytes_per_s;  /* what congestion control allows that never reduced ssthresh; 0: not known */
    bool unpaced;                      /* neither congestion control nor an option nor the program paces */
    int64_t line_ns;                   /* the smallest queue in the box, by its record; -1: not known */
    bool line_idle;                    /* the line was idle for long, whatever queue stood */
    enum pl_answer slow;               /* the congestion window is that of slow start, by the kernel */
};

/* What earlier rounds tell. */
struct pl_rounds {
    uint32_t mss;
    int64_t standing_ns;    /* a queue is standing when no packet of a round meets a smaller one */
    uint64_t last_flight;   /* 0: none */
    bool passes_on, grew;   /* the sender is a gateway; the last round's flight was larger than the one before */
    bool middle;            /* what was before the first round is not known */
    bool opening, reduced;  /* slow start may go on; the congestion window has been reduced */
    bool marked;            /* last because of marks and not of a loss */
    bool filled;            /* the line's rate is known: by who built it, or because a queue has been standing */
    uint64_t steady_flight; /* of the first of the last steady rounds */
    unsigned steady_n;
    uint64_t cap; /* a flight that stood still before any loss; 0: none */
};

/* What the congestion window is when it limits. Where the kernel does not say that slow start goes on, it is over. */
static inline enum pl_limit_cause pl_round_window(const struct pl_rounds *rounds, enum pl_answer slow)
{
    if (slow == PL_YES)
        return PL_LIMIT_SLOW_START;
    return rounds->marked ? PL_LIMIT_ECN : PL_LIMIT_CONGESTION_AVOIDANCE;
}

/* True when so much was sent at the rate that the program allows. */
bool pl_at_pace(double bytes, double time_ns, uint64_t pace_bytes_per_s);

/* False where the round's own evidence contradicts this cause. */
bool pl_round_may_be(const struct pl_round *round, enum pl_limit_cause cause);

/* `left`: nothing but the congestion window is left. `relabel`: the steady rounds before that may have this cause have
 * it, too. */
struct pl_judged {
    enum pl_limit_cause cause;
    bool left, relabel;
};

/* The cause of a round that is over. */
struct pl_judged pl_round_judge(struct pl_rounds *rounds, const struct pl_round *round);

/* The cause of a round that does not come to its end: that of the round before, as far as nothing contradicts it. */
enum pl_limit_cause pl_round_carry(const struct pl_rounds *rounds, const struct pl_round *round,
                                   enum pl_limit_cause before);

#endif
