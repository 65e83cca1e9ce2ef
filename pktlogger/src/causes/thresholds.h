/* The thresholds of the rules that name causes by captures alone, each with its unit and its reason. This room and
 * analyse use them; FORMAT.md section 4 has the rules. A reason is one of three kinds:
 *
 *   a source     an RFC, a paper or the kernel gives the value;
 *   arithmetic   it follows from the behaviour of packets, queues or chance;
 *   "tuned"      trials of log.causes on seeds below 1000, or of log.operators below 3000, were judged best with it.
 *
 * A comment begins with the unit. Words that many of them use:
 *
 *   part       a wire packet with data; as a unit of time, the bottleneck's time for a full packet
 *   run        parts lost in a row; it is "full" when it met a full queue, and the "others" are all other runs
 *   place      a point among the arrivals without a loss nearby; its queue is the longest around it
 *   episode    losses within a round-trip time
 *   lateness   the error of time stamps (loss_facts.h); late time stamps blur queues
 *   alike      the difference up to which two queues count as equal
 *
 * A threshold whose name ends in LATE holds where time stamps are not exact, or its unit is the lateness. */
#ifndef PL_THRESHOLDS_H
#define PL_THRESHOLDS_H

#include <stdint.h>

#define PL_MS INT64_C(1000000)

/* What a queue is, and when time stamps are exact (loss_facts.h) */
#define PL_FULL_PACKET 1500.0  /* octets: the MTU of Ethernet; a part's time is the time of such a packet */
#define PL_QUEUE_NS 1e6        /* ns: if the longest queue is shorter, it may be the machine's own jitter */
#define PL_NO_QUEUE_PARTS 3    /* parts' time: delayed ACKs and pairs of packets make shorter queues */
#define PL_NO_QUEUE_LATE 2     /* lateness: late time stamps alone seldom make a longer queue; tuned */
#define PL_BASE_SHARE 0.01     /* quantile of the delays that counts as the base; single ones may be too short */
#define PL_OWN_BASE_SHARE 0.02 /* the same quantile of parts' own delays, of which a short flow has fewer */
#define PL_EXACT_PARTS 3       /* parts' time: time stamps are exact up to this lateness */
#define PL_EXACT_NS 0.7e6      /* ns: or up to this lateness; tuned */
#define PL_EXACT_MOST 0.9      /* share of the arrivals for which PL_EXACT_MOVED must hold then */
#define PL_EXACT_MOVED 0.25    /* of a part's time: a larger correction would change the order of parts at the queue */
#define PL_LONGEST_LATE 0.999  /* quantile of the queues that counts as the longest; late stamps make longer ones */
#define PL_ALIKE_PARTS 2       /* parts' time: queues that differ by less are alike, because parts come in pairs */
#define PL_ALIKE_NS 1e5        /* ns: so are queues that differ by less than this, a machine's jitter */
#define PL_LOW_NS 5e5          /* ns: a loss met no queue if the queue next to it is at most this */
#define PL_LOW 0.0625          /* of the longest queue: the same bound; tuned */
#define PL_LOW_LATE 1.5        /* lateness: the same bound */
#define PL_LOW_PARTS 3         /* parts' time: the same bound; the largest of the four counts */

/* A full queue (loss_facts.h, loss_judge.h) */
#define PL_FULL_PARTS 1.25    /* parts: a queue drops a part for which it has less room; a quarter is tuned */
#define PL_FULL_SUPER_PARTS 2 /* parts: the same for a super-packet, and for one of several transfers */
#define PL_FULL_NEAR 3     /* times alike: a queue that is shorter than the longest by up to this may have been full */
#define PL_FULL_LATE 0.25  /* of the longest queue: the same bound; the larger one counts; tuned */
#define PL_FULL_ABOVE 0.15 /* of the places with such a queue: few have a longer one if it was full; tuned */
#define PL_FULL_TIMES 3    /* times as many runs meet a full queue as chance explains */
#define PL_FULL_MOST 0.9   /* of the runs: from this share on, PL_FULL_OFF replaces PL_FULL_TIMES */
#define PL_FULL_OFF 4      /* deviations above the number that chance explains: probability 3 in 100,000 */
#define PL_FULL_DENSE 0.03 /* of the parts that met a full queue were lost; by chance, fewer are; tuned */
#define PL_FULL_AGAIN_DENSE 0.02 /* the same with several episodes, up to PL_FULL_AGAIN_NEAR */
#define PL_FULL_AGAIN_NEAR 8     /* times alike: the end of a longer queue is clear; tuned */
enum {
    PL_SUPER_PARTS = 4,     /* parts in a row: with fewer, no super-packet was lost */
    PL_FULL_RUNS = 5,       /* runs: fewer may agree by chance */
    PL_FULL_RUN_PARTS = 8,  /* parts in full runs: an overflowing burst loses this many */
    PL_FULL_AGAIN = 2,      /* episodes with a full queue that are needed */
    PL_FULL_AGAIN_RUNS = 4, /* full runs that are needed in these episodes */
    PL_FULL_LATE_OF = 3     /* at least one run in 3 is full; if fewer are, late time stamps made them look full */
};

/* Queue management (loss_judge.h) */
#define PL_MANAGED_LUCK 0.02       /* probability that chance loses the others at queues so long: it must be lower */
#define PL_MANAGED_LUCK_LATE 0.01  /* the same with late time stamps */
#define PL_MANAGED_LUCK_AGREE 0.05 /* the same where no queue was full and PL_MANAGED_LUCK_ALL holds */
#define PL_MANAGED_LUCK_ALL 0.005  /* probability that chance loses all runs at queues so long */
#define PL_NO_LUCK 1e-6 /* probability: below it, losses without a queue do not matter: RED's mean lags behind */
#define PL_MANAGED_LONGEST_LATE 6 /* lateness: a shorter queue cannot be recognised */
#define PL_MANAGED_DEPTH_LATE 3   /* lateness: the others' queues are shorter than the longest by at least this */
#define PL_MANAGED_LOW 0.25       /* of the others met no queue: if more did, they were lost by chance */
#define PL_MANAGED_LOW_LATE 0.5   /* the same with late time stamps and a probability below PL_NO_LUCK */
#define PL_DEPTH_OF_LONGEST 5     /* the others were lost a fifth below the longest queue, or it may be full */
enum { PL_MANAGED_RUNS = 2 };     /* others: a single one cannot be compared */

/* Chance (loss_judge.h) */
#define PL_CHANCE_LUCK 0.02       /* probability: if losses are less likely than this, chance is not their cause */
#define PL_CHANCE_LUCK_LATE 0.1   /* the same with late time stamps, which make a wrong name more likely */
#define PL_CHANCE_OFF 2           /* deviations: a surprise below ln 2 per run minus these is not chance */
#define PL_CHANCE_LOW_PLACES 0.02 /* of the places met no queue: with fewer, their losses show nothing */
#define PL_CHANCE_LOWEST 0.25     /* of the longest queue: if the bound of "no queue" is longer, all queues are alike */
#define PL_CHANCE_LOW 0.3         /* of the losses by chance that are expected there: a full queue drops none; tuned */

/* Whether runs met a full queue, queue management, or something else (loss_judge.h) */
#define PL_MIXED_OTHERS 0.25  /* of the runs: if neither full nor chance, full ones have no known cause */
#define PL_MIXED_DENSE 0.05   /* of the parts that met a full queue were lost: then it took at least some of them */
#define PL_MIXED_NEAR_PARTS 6 /* parts' time: nearer to the longest queue, both may have dropped it; tuned */
#define PL_MIXED_NEAR 0.25    /* of the longest queue: the same distance with late time stamps */
#define PL_MIXED_NEAR_LATE 6  /* lateness: the same distance; the larger one counts */
enum { PL_MIXED_RUNS = 8, PL_MIXED_RUNS_LATE = 32 }; /* others: fewer do not show that the queue is managed; tuned */

/* The side of the bottleneck (loss_judge.h) */
#define PL_SIDE_EXACT 0.2 /* of a part's time: 0 and 1 part are 5 deviations apart, so each run shows its side */
#define PL_SIDES_EXACT 2  /* parts' time: if gaps vary by more, even many of them show nothing */
#define PL_SIDES_OFF 3.5  /* deviations of the mean from the middle: 5 in 10,000 by chance */
#define PL_SIDE_OFF 0.5   /* parts' time: the middle between a part that used the bottleneck and one that did not */
#define PL_SIDE_CUT 2.0   /* parts' time: a gap further away comes from a late time stamp, and is cut to this */
enum { PL_SIDED = 3, PL_GAPS_LEAST = 20 }; /* runs that must all agree; gaps needed for a median and a deviation */

/* An outage (losses.h, path_down.h) */
#define PL_OUTAGE_NS (10 * PL_MS) /* ns: a queue that is being served admits a part within this time at 1.2 Mbit/s */
#define PL_OUTAGE_LATE 6          /* lateness: late time stamps lengthen a span by this at most */
#define PL_OUTAGE_SERVICES 4      /* parts' time at the bottleneck: the same as PL_OUTAGE_NS, for slower lines */
#define PL_OUTAGE_LEFT 0.5    /* of the longest queue: a served full queue admits parts before it has drained to this */
#define PL_OUTAGE_DRAINED 0.5 /* of the time without arrivals: a queue that drained by this much was served */
#define PL_OUTAGE_BURSTS 0.05 /* runs that bursts may cause; and the likelihood of a burst over that of an outage */
enum {
    PL_OUTAGE_PARTS = 3,     /* parts in a row: chance loses two */
    PL_OUTAGE_ACKS = 2,      /* acknowledgements in a row, next to lost data: chance loses one */
    PL_BOTH_WAYS_MOST = 500, /* runs in each direction: each is compared with each of the other direction, and a
                              * path with more runs is lossy in both directions */
    PL_SAME_OCTETS_RUNS = 8  /* runs before and after: if a packet is lost again, its copy is within a few runs */
};

/* A policer (policer.h) */
#define PL_POLICER_SLACK_PARTS 1.0 /* parts: nearly one part's octets may be left in the bucket when one is dropped */
#define PL_POLICER_NEARLY 0.03     /* of the best rate's worth: chance moves it by less, so such rates are equal */
#define PL_POLICER_EXPLAINED 0.75  /* of the runs; policers explained at least 94 %, other causes at most 25 % */
#define PL_POLICER_LUCK 1e-6       /* probability of chance; ninety rates are tried, twice */
#define PL_POLICER_OF_LINE 0.8     /* of a rate: a bottleneck's own queue explains losses by its whole rate */
#define PL_POLICER_SPREAD 0.05     /* quantile of the delays, at both ends: single late packets do not change it */
#define PL_POLICER_WAITS 0.25 /* of a queue's spread of delays: its fit is off by up to a third in rate and burst */
#define PL_POLICER_QUEUE 0.5  /* of the burst's time at the rate: a queue served at this rate holds the whole burst */
enum {
    PL_POLICER_PARTS = 5,   /* parts of a burst: its resolution is one part, and any short queue may explain a
                           * shorter burst */
    PL_POLICER_RUNS = 5,    /* runs of losses: a rate and a burst, two numbers, can fit fewer than this by themselves */
    PL_POLICER_BETWEEN = 10 /* parts between losses at least: one part more or less then changes their rate by a
                             * tenth */
};

/* A full queue in a row with another (in_a_row.h, analyse/explain.c) */
#define PL_IN_A_ROW_SOME 0.4  /* of the runs: if a full queue explains this share, management is not certain */
#define PL_IN_A_ROW_TIMES 6   /* times as many runs as parts passed as near: management with k = 5 would be needed */
#define PL_IN_A_ROW_MOST 0.75 /* of the runs: if it explains this share, the full queue took them */

/* The bottleneck's time for a byte, and corrected arrivals (service.h, queues.h, analyse/explain.h) */
#define PL_SERVICE_BUSY 8 /* a row kept the bottleneck busy if it was idle for an eighth of the row's time at most */
#define PL_SERVICE_LEAST 0.02      /* of the rows must have kept it busy */
#define PL_SERVICE_ROWS 5          /* rows: fewer have no quantile */
#define PL_SERVICE_QUICK 0.1       /* quantile of busy rows: jitter and bunches make some quicker than the line */
#define PL_SERVICE_SLOW 0.95       /* quantile that stands for the slowest rows */
#define PL_SERVICE_QUICKEST 0.02   /* quantile of all rows: arrivals come quicker while the path becomes shorter */
#define PL_SERVICE_SAME 0.99       /* of a time: an estimate that changes by less is good enough */
enum { PL_NEIGHBOURS_LEAST = 20 }; /* arrivals: fewer have no such quantile */
#define PL_NEIGHBOURS 0.02         /* share of the arrivals that must follow the previous one at once */
#define PL_QUEUE_SLACK 0.97        /* of the time per byte: with too long a time, correct arrivals would be changed */

/* The base delay (base_finder.h, analyse/path_base.h) */
#define PL_BASE_TOLERANCE_NS 5e4      /* ns: least tolerance, the jitter of an idle machine */
#define PL_BASE_MARGIN 3              /* times the largest error of the usual steps */
#define PL_BASE_USUAL 0.99            /* quantile of the steps that are usual */
#define PL_BASE_LASTS_NS (50 * PL_MS) /* ns: a level that lasts this long is the path's; queues of others seldom do */
#define PL_BASE_PACKETS 3             /* packets, sent at different times, that show a base */
#define PL_BASE_RISE_NS 1e5           /* ns: a rise by this much more than the flow sent is caused by other flows */
#define PL_BASE_FEW 3                 /* number of such steps that do not matter */
#define PL_BASE_RISES 0.02            /* share of all steps that may be such steps without changing the judgement */
#define PL_BASE_TIMES 4               /* the share may be higher by this many times that of the previous level; tuned */
#define PL_BASE_LEAK 0.03             /* of the time: the bottleneck is faster by at least this than it was measured */
#define PL_BASE_SHARED 0.01           /* of the transfer's bytes: other connections that carried more shared the line */
#define PL_LONG_QUEUES 0.95           /* quantile of the delays above which queues are long */

/* Transfers that share a queue (analyse/aggregate.h) */
#define PL_LOW_DELAY 0.05           /* quantile of the delays, as for a single transfer (join/tally.c) */
#define PL_CROSSINGS_OVERTAKEN 0.01 /* of the crossings: in a shared queue no part overtakes another */
enum { PL_CROSSINGS_LEAST = 20 };   /* crossings: with fewer, transfers hardly share a queue */

/* Rounds of a sender and its silences (round.h, limits.h) */
#define PL_ROUND_GROWTH 1.3 /* times the flight per round: slow start doubles it, or with delayed ACKs × 1.5 */
#define PL_ROUND_EVEN 1.5   /* sum of gap² / bytes, relative to even gaps; a pause of half a round makes 2 or more */
#define PL_ROUND_VERY_EVEN 1.15    /* the same for a constant flight */
#define PL_ROUND_CLOCKED 0.5       /* of a round's bytes: if they left at once after an ACK, the sender does not pace */
#define PL_ROUND_BUSY 0.98         /* of a round's time: the bottleneck worked without pause; also in causes_truth.py */
#define PL_ROUND_LIGHT 0.5         /* of a round's time: if the flow used less, other flows made a standing queue */
#define PL_ROUND_PACED 4           /* gaps: fewer may be even by chance */
#define PL_BUSY_LINE 0.95          /* of a time: a line with longer pauses is not the limit; each edge costs a packet */
#define PL_AT_PACE 0.97            /* of the rate that the program allows: the kernel sends slightly ahead or behind */
#define PL_PAST_PACE 1.1           /* times the kernel's rate: where more is sent, that rate is not in force */
#define PL_STANDING_OF_RTT 128     /* RTT / standing queue: samples vary by shorter ones */
#define PL_STANDING_NS (PL_MS / 2) /* ns: a shorter queue is a machine's jitter */
#define PL_SILENCE_OF_RTT 12       /* RTT / a program's silence that no ACK ended; tuned */
#define PL_SILENCE_WOKEN_OF_RTT 4  /* the same if an ACK ended it: a third of the buffer free wakes a writer */
#define PL_SILENCE_NS (4 * PL_MS)  /* ns: the machine causes shorter silences */
#define PL_NEAR_FULL 8      /* samples: most find a full buffer while a writer waits; 7 in a row seldom miss it */
#define PL_MEMORY_MORE 1.25 /* times: memory per octet, which is 1.1 to 2 octets, may differ by this for new data */
#define PL_STANDS_NS (5 * PL_MS)         /* ns: a slow program writes at least once in this time: 8 KB at 13 Mbit/s */
#define PL_IDLE_RESTART_NS (200 * PL_MS) /* ns: Linux' least time-out (TCP_RTO_MIN); then it starts slowly */
#define PL_DELAYED_ACK_NS (50 * PL_MS)   /* ns: Linux waits 40 ms for a second segment (TCP_DELACK_MIN), plus a tick */
#define PL_COUNTED_NEAR_NS (2 * PL_MS)   /* ns: the kernel counts a time-out and sends within this of each other */
#define PL_TIMEOUTS_APART_NS (200 * PL_MS) /* ns: Linux' least time-out: no two are closer */
enum {
    PL_DEFER_PART = 3,        /* a third of a window: a super-packet does not wait longer if the window has this room
                        * (Linux' default) */
    PL_SUPER_MOST = 65536,    /* octets: the longest super-packet */
    PL_OPENING_BYTES = 32768, /* octets: a tool's opening messages, and those on its control connection, have fewer */
    PL_BUFFER_ALIKE = 8,      /* an eighth: the flight that a full send buffer leaves varies by at most this share */
    PL_BUFFER_SEGMENTS = 2,   /* segments: with no more in flight, each acknowledgement wakes a writer */
    PL_STEADY_ROUNDS = 4,     /* rounds with a constant flight: a window that grows by a segment per round changes
                           * within them */
    PL_GROWN_SEGMENTS = 2,    /* segments: a delayed acknowledgement alone lets a window grow by less */
    PL_DATA_SEGMENTS = 2,     /* segments in flight: a program's opening messages have fewer */
    PL_STANDING_HALVES = 3,   /* halves of a full segment's time: a standing queue is longer than 1.5 of these times.
                             * The least delay may be that of an empty packet, which is shorter by one such time,
                             * and the line's rate may be wrong by half of one */
    PL_SOON_OF_GAP = 4, /* the gap between acknowledgements divided by the time in which one of them wakes a writer */
    PL_CLOCKED_OF_GAP = 8, /* the same gap divided by the time in which one of them releases a packet: by chance,
                            * an eighth of paced packets follow an acknowledgement as closely */
    PL_USUAL_MSS = 1460    /* octets, without a SYN that gives it: Ethernet's MTU minus the headers of IPv4 and TCP */
};
#define PL_SOON_NS INT64_C(20000) /* ns: the bound is never below this, because waking a program takes as long */

/* Bursts of losses, and waits for the window (analyse/bursts.c, analyse/window.c) */
#define PL_APART_NS (10 * PL_MS) /* ns: losses further apart than this and a round trip are different bursts */
enum {
    PL_BURST_BETWEEN = 8, /* parts that arrived between losses of one burst: a full queue that is being served
                           * takes every other part, and losses by chance at a few per cent are further apart */
    PL_BURST_FULL_OF = 2  /* half of a long queue on this path: where a part arrived with a shorter queue, the queue
                          * was not full */
};

/* Kinds of retransmissions (analyse/walk.c) */
#define PL_QUIET_NS (10 * PL_MS)         /* ns: a packet that an acknowledgement releases follows it sooner than this */
#define PL_QUIET_COUNTED_NS (PL_MS / 4)  /* ns: if the kernel counted a time-out: duplicate ACKs may be 1.44 ms apart */
#define PL_QUIET_HINTED_NS (200 * PL_MS) /* ns: RACK waits no longer for reordering (RFC 8985: a quarter of RTT) */
#define PL_PROBE_DELAYED_ACK_NS (200 * PL_MS) /* ns: TLP.max_ack_delay of Linux and of most systems */
#define PL_PROBE_TICKS_NS (20 * PL_MS)        /* ns: ticks of a kernel's clock */

/* Stops (analyse/walk.c) */
#define PL_STOP_NS (100 * PL_MS) /* ns: nobody notices shorter stops */
enum { PL_STOP_TRIPS = 4 };      /* round trips: a recovery, which needs one or two, causes shorter stops */

/* Verdicts (analyse/transfer_verdict.c, analyse/walk.c, analyse/others.c, analyse/passed_on.c) */
#define PL_WINDOW_FULL 0.8  /* of a window per round trip: delayed acknowledgements and gaps leave this much of it */
#define PL_CLEARLY 1.05     /* times a rate: chance makes less of one rate */
#define PL_VARIES 1.25      /* times: a bottleneck that varies by more has a variable rate, or other traffic */
#define PL_SHARED_USED 0.75 /* of the line's rate: with less traffic its queue is full only for moments */
#define PL_ACKS_WAIT_NS (10 * PL_MS)     /* ns: bunches of packets and late time stamps make shorter waits */
#define PL_NAGLE_DELAYED_NS (30 * PL_MS) /* ns: Linux delays an acknowledgement by 40 ms, other systems by 200 ms */
#define PL_NAGLE_PROMPT_NS PL_MS         /* ns: a packet that waited for an acknowledgement follows it within this */
#define PL_PASSED_OWN 0.5   /* of the octets: a gateway has passed on at least this share when the capture ends */
#define PL_PASSED_OTHER 0.9 /* the same where another of its addresses sends them, which chance might explain */
#define PL_PASSED_MOST 1.05 /* of the octets: at most this, because those sent again on the far side count */
enum {
    PL_LEAST_TIMES = 5,        /* times: fewer may be chance */
    PL_STUCK_TRIES = 3,        /* copies of a packet, all lost: at 10 % loss, chance loses three in one case of 1,000 */
    PL_EVERY_PATH = 1280 - 60, /* octets of payload: every path of IPv6 carries them (RFC 8200, 5) */
    PL_NAGLE_PERCENT = 40,     /* of the time: a smaller share explains too little of it */
    PL_SMALL_PERCENT = 75,     /* of the largest window: smaller windows hold data that wait for the program; tuned */
    PL_LARGEST_PERCENT = 95, /* of the largest window: a receiver that tunes its buffer enlarges it by more at a time */
    PL_FIXED_TRIPS = 4,      /* round trips with a full window: a receiver that tunes its buffer enlarges it within
                              * two */
    PL_SHARED_OTHERS = 3,    /* a third of the transfer's rate: others that carry less cost it less than a quarter of
                           * a line */
    PL_OTHERS_OF = 100       /* one per cent of the transfer's octets: a connection with fewer is a dialogue and not a
                        * transfer */
};

#endif
