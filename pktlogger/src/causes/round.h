/* A round of a sender: the data that it sends until the first byte of the round is acknowledged. Some gaps between
 * packets show their own cause; the round's cause is the limit of all its other gaps. */
#ifndef PL_ROUND_H
#define PL_ROUND_H

#include "evidence.h"
#include "transfer.h"

/* Sums over the gaps of a round that do not show their own cause. */
struct pl_round {
    uint32_t packets, gaps;            /* gaps that count, and packets that ended them */
    uint64_t end;                      /* the round is over when everything below is acknowledged */
    int64_t t0_ns, t1_ns;              /* from its first packet to the first of the next round */
    int64_t since_ns;                  /* samples count from then on: when a recovery ended in the round, otherwise
                                        * t0_ns */
    double work_ns;                    /* the bottleneck's time for all data sent; 0: not known */
    uint64_t flight;                   /* largest */
    int64_t queue_ns;                  /* smallest; -1: not known */
    double time_ns, bytes, unevenness; /* unevenness: sum of gap² / bytes */
    int64_t empty_ns;                  /* for how long nothing was outstanding */
    bool paused;                       /* the application had nothing to send */
    bool unheld;                       /* the send buffer held nothing up. By most samples data were unsent or the
                                        * buffer had room; or the program had given everything */
    bool shut;                         /* at least once the receiver's window left no room for the previous packet */
    bool blind;                        /* the receiver's window is not known */
    double clocked;                    /* bytes sent at once after an acknowledgement */
    bool idle;                         /* by most samples the program had written all its data; or nothing was
                                        * outstanding most of the time, and no sample shows unsent data */
    bool may_starve;                   /* the program may have had nothing to write, and no sample contradicts that */
    bool unsent;                       /* by most samples, data were unsent */
    bool filled;                       /* by most samples, the congestion window was full, too */
    bool rate_holds;                   /* by most samples, only the congestion control's rate held data back, */
    bool program_holds;                /* or only the program's own rate limit */
    bool spent;                        /* by most samples, all that the send buffer holds was sent, and it was full */
    uint64_t pace_bytes_per_s;         /* the program's own rate limit; 0: not known */
    uint64_t kernel_pace_bytes_per_s;  /* the rate of a congestion control that never reduced ssthresh; 0: not known */
    bool unpaced;                      /* neither congestion control nor an option nor the program paces */
    int64_t line_ns;                   /* the smallest queue in the box, by its record; -1: not known */
    bool line_idle;                    /* the line was idle for long, whatever queue there was */
    enum pl_answer slow;               /* the congestion window is that of slow start, by the kernel */
};

/* What earlier rounds tell. */
struct pl_rounds {
    uint32_t mss;
    int64_t standing_ns;    /* a queue is standing when no packet of a round meets a smaller one */
    uint64_t last_flight;   /* 0: none */
    bool passes_on, grew;   /* the sender is a gateway; the last round's flight was larger than the previous one's */
    bool middle;            /* nothing is known about the time before the first round: the capture began in
                               mid-connection */
    bool hidden;            /* a queue may have been standing since that time, which no delay shows */
    bool opening, reduced;  /* slow start may continue; the congestion window has been reduced, or may have been before
                             * the capture began */
    bool marked;            /* the last reduction was for marks, not for a loss */
    bool filled;            /* the line's rate is known: the caller gave it, or a queue has been standing */
    uint64_t steady_flight; /* the flight of the first of the consecutive steady rounds */
    unsigned steady_n;
    uint64_t cap; /* a flight size that was constant before any loss; 0: none */
};

/* Which congestion-window cause applies. Slow start is over unless the kernel says that it continues. Marks come from a
 * queue. If it may be standing, the limit may be the path's rate, so marks alone show nothing. */
static inline enum pl_limit_cause pl_round_window(const struct pl_rounds *rounds, enum pl_answer slow)
{
    if (slow == PL_YES)
        return PL_LIMIT_SLOW_START;
    return rounds->marked && !rounds->hidden ? PL_LIMIT_ECN : PL_LIMIT_CONGESTION_AVOIDANCE;
}

/* True when the program's own rate limit explains that this many octets were sent. */
bool pl_at_pace(double bytes, double time_ns, uint64_t pace_bytes_per_s);

/* False where the round's own evidence contradicts this cause. */
bool pl_round_may_be(const struct pl_round *round, enum pl_limit_cause cause);

/* `left`: the congestion window is the only remaining cause. `relabel`: earlier steady rounds that may have this cause
 * get it, too. */
struct pl_judged {
    enum pl_limit_cause cause;
    bool left, relabel;
};

/* The cause of a round that is over. */
struct pl_judged pl_round_judge(struct pl_rounds *rounds, const struct pl_round *round);

/* The cause of an incomplete round: the previous round's, unless something contradicts it. */
enum pl_limit_cause pl_round_carry(const struct pl_rounds *rounds, const struct pl_round *round,
                                   enum pl_limit_cause before);

#endif
