/* The thresholds of the rules that name causes by captures alone, each with its unit and why it is what it is. They are
 * used in this room and in analyse; FORMAT.md section 4 has the rules. Three kinds of reasons occur:
 *
 *   a source     an RFC, a paper or the kernel says it;
 *   arithmetic   it follows from what a packet, a queue or chance does;
 *   "tuned"      the trials of log.causes on seeds below 1000 were judged best so, or log.operators' below 3000.
 *
 * Late time stamps blur queues. A threshold whose name ends in LATE holds where they are not exact, or is in units of how
 * late they are. */
#ifndef PL_THRESHOLDS_H
#define PL_THRESHOLDS_H

#include <stdint.h>

#define PL_MS INT64_C(1000000)

/* What a queue is, and when time stamps are exact (loss_facts.h) */
#define PL_FULL_PACKET 1500.0  /* octets: the MTU of Ethernet; a part's time is that of such a packet */
#define PL_QUEUE_NS 1e6        /* ns: a longest queue below it may be the machine's own jitter */
#define PL_NO_QUEUE_PARTS 3    /* parts' time: what delayed acknowledgements and pairs of packets make */
#define PL_NO_QUEUE_LATE 2     /* lateness: late time stamps alone seldom make more; tuned */
#define PL_BASE_SHARE 0.01     /* quantile of the delays: the base; one in a hundred may be too early */
#define PL_OWN_BASE_SHARE 0.02 /* the same of parts' own delays, of which a short flow has fewer */
#define PL_EXACT_PARTS 3       /* parts' time: the lateness up to which time stamps are exact, */
#define PL_EXACT_NS 0.7e6      /* ns: or this; tuned */
#define PL_EXACT_MOST 0.9      /* share of the arrivals that are then corrected by no more than */
#define PL_EXACT_MOVED 0.25    /* of a part's time: more would change in which order parts met the queue */
#define PL_LONGEST_LATE 0.999  /* quantile of the queues: the longest; above it are late time stamps */
#define PL_ALIKE_PARTS 2       /* parts' time: queues that differ by less are alike, for parts come in pairs, */
#define PL_ALIKE_NS 1e5        /* ns: or by less than a machine's jitter */
#define PL_LOW_NS 5e5          /* ns: a loss beside a queue up to this, */
#define PL_LOW 0.0625          /* of the longest queue: or this; tuned, */
#define PL_LOW_LATE 1.5        /* lateness: or this, */
#define PL_LOW_PARTS 3         /* parts' time: or this, is beside no queue */

/* A full queue (loss_facts.h, loss_judge.h) */
#define PL_FULL_PARTS 1.25       /* parts: one is dropped that finds less room than it needs; a quarter is tuned */
#define PL_FULL_SUPER_PARTS 2    /* parts: the room that a super-packet still finds too small, */
#define PL_FULL_NEAR 3           /* times what is alike: below the longest queue by this, it may have been full, */
#define PL_FULL_LATE 0.25        /* of the longest queue: or by this; tuned */
#define PL_FULL_ABOVE 0.15       /* of the places with such a queue: hardly any are longer, if it was full; tuned */
#define PL_FULL_TIMES 3          /* times as many runs as chance lets meet a full queue */
#define PL_FULL_MOST 0.9         /* of the runs: where nearly all are full, three times is out of reach, and */
#define PL_FULL_OFF 4            /* deviations beyond what chance lets expect tell: 3 in 100,000 */
#define PL_FULL_DENSE 0.03       /* of the parts that met a full queue were lost: chance takes less; tuned */
#define PL_FULL_AGAIN_DENSE 0.02 /* the same where it happened in several episodes, */
#define PL_FULL_AGAIN_NEAR 8     /* times what is alike: or the queue is so long that its end is clear; tuned */
enum {
    PL_SUPER_PARTS = 4,     /* parts in a row: fewer need no super-packet */
    PL_FULL_RUNS = 5,       /* runs: fewer agree by chance */
    PL_FULL_RUN_PARTS = 8,  /* parts in full runs: a burst that overflows loses as many */
    PL_FULL_AGAIN = 2,      /* episodes */
    PL_FULL_AGAIN_RUNS = 4, /* runs in them */
    PL_FULL_LATE_OF = 3     /* one run of so many is full, or late time stamps made it seem so */
};

/* Queue management (loss_judge.h) */
#define PL_MANAGED_LUCK 0.02       /* probability: chance loses others at queues as long as theirs no more often */
#define PL_MANAGED_LUCK_LATE 0.01  /* the same */
#define PL_MANAGED_LUCK_AGREE 0.05 /* the same where no queue is full, and of all runs together it is */
#define PL_MANAGED_LUCK_ALL 0.005  /* this */
#define PL_NO_LUCK 1e-6            /* probability: below it, losses beside no queue do not matter: RED's mean lags */
#define PL_MANAGED_LONGEST_LATE 6  /* lateness: a longer queue shows, */
#define PL_MANAGED_DEPTH_LATE 3    /* lateness: as does what others were lost below it */
#define PL_MANAGED_LOW 0.25        /* of the others beside no queue: more are chance's */
#define PL_MANAGED_LOW_LATE 0.5    /* the same below PL_NO_LUCK */
#define PL_DEPTH_OF_LONGEST 5      /* the longest queue over how far below it others are lost: else it may be full */
enum { PL_MANAGED_RUNS = 2 };      /* others: of one, nothing can be compared */

/* Chance (loss_judge.h) */
#define PL_CHANCE_LUCK 0.02       /* probability: less likely losses are not called chance, */
#define PL_CHANCE_LUCK_LATE 0.1   /* and here a wrong name is nearer */
#define PL_CHANCE_OFF 2           /* deviations: less surprise than ln 2 a run and these is no even draw */
#define PL_CHANCE_LOW_PLACES 0.02 /* of the places are beside no queue: fewer show nothing */
#define PL_CHANCE_LOWEST 0.25     /* of the longest queue: a queue that is none is much shorter, or nothing differs */
#define PL_CHANCE_LOW 0.3         /* of the losses that they let expect there: chance takes some, a queue none; tuned */

/* Whether runs met a full queue, queue management, or something else (loss_judge.h) */
#define PL_MIXED_OTHERS 0.25  /* of the runs: so many neither full nor chance leave full ones open */
#define PL_MIXED_DENSE 0.05   /* of the parts that met a full queue were lost: some were, by it */
#define PL_MIXED_NEAR_PARTS 6 /* parts' time: nearer to the longest queue both may have dropped it; tuned */
#define PL_MIXED_NEAR 0.25    /* of the longest queue: the same where time stamps are late, */
#define PL_MIXED_NEAR_LATE 6  /* lateness: or this */
enum { PL_MIXED_RUNS = 8, PL_MIXED_RUNS_LATE = 32 }; /* others: fewer do not show that the queue is managed; tuned */

/* The side of the bottleneck (loss_judge.h) */
#define PL_SIDE_EXACT 0.2 /* of a part's time: 5 deviations between 0 and 1 part; each run tells by itself */
#define PL_SIDES_EXACT 2  /* parts' time: gaps that vary by more tell nothing, however many */
#define PL_SIDES_OFF 3.5  /* deviations of the mean from the middle: 5 in 10,000 by chance */
#define PL_SIDE_OFF 0.5   /* parts' time: the middle between having been worked on and not */
#define PL_SIDE_CUT 2.0   /* parts' time: a single gap further off is a late time stamp */
enum { PL_SIDED = 3, PL_GAPS_LEAST = 20 }; /* runs that all agree; gaps for a median and a deviation */

/* An outage (losses.h, path_down.h) */
#define PL_OUTAGE_NS (10 * PL_MS) /* ns: a queue that is served lets a part in within this time at 1.2 Mbit/s */
#define PL_OUTAGE_LATE 6          /* lateness: a span seems longer by no more */
#define PL_OUTAGE_SERVICES 4      /* parts' time at the bottleneck: the same of a slower line */
#define PL_OUTAGE_LEFT 0.5        /* of the longest queue: a full queue that is served lets parts in before */
#define PL_OUTAGE_DRAINED 0.5     /* of the time without arrivals: an unserved queue keeps its length, this drained */
#define PL_OUTAGE_BURSTS 0.05     /* runs that bursts may make, and how likely a burst is compared with an outage */
enum {
    PL_OUTAGE_PARTS = 3,     /* parts in a row: chance takes two */
    PL_OUTAGE_ACKS = 2,      /* acknowledgements in a row, next to lost data: chance takes one */
    PL_BOTH_WAYS_MOST = 500, /* runs of either way: pairs of them are compared with each other, and with so many a path
                                is lossy both ways */
    PL_SAME_OCTETS_RUNS = 8  /* runs before and behind: a packet that is lost again is sent again within a few */
};

/* A policer (policer.h) */
#define PL_POLICER_SLACK_PARTS 1.0 /* parts: one that is dropped may find the octets of nearly one in the bucket */
#define PL_POLICER_NEARLY 0.03     /* of what a rate is worth: parts near the burst by chance move it by less */
#define PL_POLICER_EXPLAINED 0.75 /* of the runs; policers explained 94 % and more of them, other causes 25 % at most */
#define PL_POLICER_LUCK 1e-6      /* probability of chance; ninety rates are tried, twice */
#define PL_POLICER_OF_LINE 0.8    /* of a rate: a bottleneck's own queue explains its losses by the whole of it */
#define PL_POLICER_SPREAD 0.05 /* quantile of the delays, and the same from above: what single late ones do not move */
#define PL_POLICER_WAITS 0.25  /* of what a queue would spread delays beyond a line: the fitted rate is below a */
                               /* bottleneck's, and its burst above the queue, by up to a third each */
#define PL_POLICER_QUEUE 0.5   /* of the burst's time at the rate: a queue served at this rate takes all of it */
enum {
    PL_POLICER_PARTS = 5,   /* parts of a burst: it is resolved to one, and a shorter one may be any short queue's */
    PL_POLICER_RUNS = 5,    /* runs of losses: a rate and a burst, two numbers, explain fewer by themselves */
    PL_POLICER_BETWEEN = 10 /* parts between losses at least: one more or less changes their rate by a tenth */
};

/* A full queue in a row with another (in_a_row.h, analyse/explain.c) */
#define PL_IN_A_ROW_SOME 0.4 /* of the runs: so many that no chance explains leave queue management open, */
#define PL_IN_A_ROW_TIMES                                                                                              \
    6 /* times as many runs as parts that passed so near: drops by the k-th power of a queue that is */
      /* even between 0 and its longest make k + 1 times as many, and no queue management has k = 5 */
#define PL_IN_A_ROW_MOST 0.75 /* and so many, as of a policer, are the full queue's */

/* The bottleneck's time for a byte, and corrected arrivals (service.h, queues.h, analyse/explain.h) */
#define PL_SERVICE_BUSY 8          /* a row in which the bottleneck was idle for an eighth at most kept it busy */
#define PL_SERVICE_LEAST 0.02      /* of the rows that must be busy */
#define PL_SERVICE_ROWS 5          /* rows: fewer have no quantile */
#define PL_SERVICE_QUICK 0.1       /* quantile of busy rows: jitter and bunches make some quicker than the bottleneck */
#define PL_SERVICE_SLOW 0.95       /* quantile of the slowest rows */
#define PL_SERVICE_QUICKEST 0.02   /* quantile of all rows: what arrives while the path becomes shorter is quicker */
#define PL_SERVICE_SAME 0.99       /* of a time: what differs by less is measured well enough */
enum { PL_NEIGHBOURS_LEAST = 20 }; /* arrivals: fewer have no such quantile */
#define PL_NEIGHBOURS 0.02         /* share of the arrivals that follow the one before at once, at least */
#define PL_QUEUE_SLACK 0.97        /* of the time for a byte: one that is too long corrects what needs no correction */

/* The base delay (base_finder.h, analyse/path_base.h) */
#define PL_BASE_TOLERANCE_NS 5e4 /* ns: least tolerance, the jitter of a machine that is idle */
#define PL_BASE_MARGIN 3         /* times what PL_BASE_USUAL of all steps are off by at most */
#define PL_BASE_USUAL 0.99       /* quantile of the steps */
#define PL_BASE_LASTS_NS                                                                                               \
    (50 * PL_MS)            /* ns: a level that lasts so long is a path's; queues of others seldom stand still */
#define PL_BASE_PACKETS 3   /* sent at different times that show a base */
#define PL_BASE_RISE_NS 1e5 /* ns: a step that rises by more than the flow sent, and by this, is others' */
#define PL_BASE_FEW 3       /* such steps may occur, */
#define PL_BASE_RISES 0.02  /* and so many of all, */
#define PL_BASE_TIMES 4     /* and so many times as many as at the level before; tuned */
#define PL_BASE_LEAK 0.03   /* of time: the bottleneck is at least so much faster than it was measured */
#define PL_BASE_SHARED 0.01 /* of the transfer's bytes: others that carried more had a part of the line */
#define PL_LONG_QUEUES 0.95 /* quantile of the delays: those of long queues are above */

/* Rounds of a sender and its silences (round.h, limits.h) */
#define PL_ROUND_GROWTH 1.3     /* times the flight: slow start doubles it, or with delayed acknowledgements × 1.5 */
#define PL_ROUND_EVEN 1.5       /* gap² / bytes over that of even gaps; a pause of half a round has 2 or more */
#define PL_ROUND_VERY_EVEN 1.15 /* the same of a flight that stands still */
#define PL_ROUND_CLOCKED 0.5    /* of a round's bytes, sent at once after an acknowledgement: that is no pacing */
#define PL_ROUND_BUSY 0.98      /* of a round's time, and the bottleneck worked all the time; causes_truth.py's */
#define PL_ROUND_LIGHT 0.5      /* of a round's time: others must have made any queue that stood */
#define PL_ROUND_PACED 4        /* gaps: fewer are even by chance */
#define PL_BUSY_LINE 0.95       /* of a time: a line that rests longer is not the limit; its edges have a packet each */
#define PL_AT_PACE 0.97         /* of the rate that the program allows: the kernel sends a little ahead, or behind */
#define PL_PAST_PACE 1.1        /* of the kernel's rate: it is not in force where more is sent */
#define PL_STANDING_OF_RTT 128  /* the round trip over a queue that stands: less is what its samples vary by, */
#define PL_STANDING_NS (PL_MS / 2) /* ns: or less than a machine's jitter */
#define PL_SILENCE_OF_RTT 12       /* the round trip over a silence of the program that nothing ended; tuned, */
#define PL_SILENCE_WOKEN_OF_RTT 4  /* and over one that an acknowledgement ended: a third of a buffer wakes a writer */
#define PL_SILENCE_NS (4 * PL_MS)  /* ns: a shorter one is the machine's */
#define PL_NEAR_FULL 8 /* samples: most find the buffer full while a writer waits, so that 7 in a row seldom miss it */
#define PL_MEMORY_MORE                                                                                                 \
    1.25 /* times: what is queued takes 1.1 to 2 times its octets, and the newest alike, give or take so much */
#define PL_STANDS_NS (5 * PL_MS) /* ns: a program that is slow gives something in this time: 8 KB at 13 Mbit/s */
#define PL_IDLE_RESTART_NS (200 * PL_MS)   /* ns: Linux' least time-out (TCP_RTO_MIN); then it starts slowly again */
#define PL_DELAYED_ACK_NS (50 * PL_MS)     /* ns: Linux waits 40 ms for a second segment (TCP_DELACK_MIN), and a tick */
#define PL_COUNTED_NEAR_NS (2 * PL_MS)     /* ns: the kernel counts a time-out, and sends, within this of each other */
#define PL_TIMEOUTS_APART_NS (200 * PL_MS) /* ns: Linux' least time-out: no two are closer */
enum {
    PL_DEFER_PART = 3,     /* a third of a window: with room for it a super-packet waits no longer (Linux' default) */
    PL_SUPER_MOST = 65536, /* octets: the longest super-packet */
    PL_OPENING_BYTES = 32768, /* octets: what a tool says at first, or on another connection, is less */
    PL_BUFFER_ALIKE = 8,    /* an eighth: what a full send buffer leaves in flight is as much each time, but for this */
    PL_BUFFER_SEGMENTS = 2, /* segments: with no more in flight each acknowledgement wakes a writer */
    PL_STEADY_ROUNDS = 4,   /* rounds with one flight: a window that grows by a segment a round changes within them */
    PL_GROWN_SEGMENTS = 2,  /* segments: less growth is what a delayed acknowledgement makes of a window */
    PL_DATA_SEGMENTS = 2,   /* segments in flight: less is what a program says before its data */
    PL_STANDING_HALVES = 3, /* halves of a full segment's time: the least delay may be that of an empty packet, which
                               is one time less, and the other half is what a line's rate may be off by */
    PL_SOON_OF_GAP = 4,     /* the gap between acknowledgements over the time within which one wakes a writer, */
    PL_CLOCKED_OF_GAP = 8,  /* or releases a packet: by chance an eighth of paced packets come as soon behind one */
    PL_USUAL_MSS = 1460     /* octets, where no SYN says it: Ethernet's MTU without the headers of IPv4 and TCP */
};
#define PL_SOON_NS INT64_C(20000) /* ns: and in any case so soon; waking up a program takes as long */

/* Bursts of losses, and waits for the window (analyse/bursts.c, analyse/window.c) */
#define PL_APART_NS (10 * PL_MS) /* ns: what is further apart, and by more than a round trip, is not one */
enum {
    PL_BURST_BETWEEN =
        8, /* parts that arrived between losses of one burst: a full queue that is served takes every other
                           * one, and losses by chance at a few per cent are further apart */
    PL_BURST_FULL_OF = 2 /* half of a long queue on this path: a part that arrived beside less met no full one */
};

/* Kinds of retransmissions (analyse/walk.c) */
#define PL_QUIET_NS (10 * PL_MS)        /* ns: what an acknowledgement sets off follows it sooner, */
#define PL_QUIET_COUNTED_NS (PL_MS / 4) /* ns: or so soon, where the kernel counted a time-out; duplicate ACKs of */
/* a line of 50 Mbit/s with jumbo frames are 1.44 ms apart, and a time-out comes between any two of them */
#define PL_QUIET_HINTED_NS (200 * PL_MS)      /* ns: RACK waits no longer for reordering (RFC 8985: a quarter of RTT) */
#define PL_PROBE_DELAYED_ACK_NS (200 * PL_MS) /* ns: TLP.max_ack_delay of Linux, and of most */
#define PL_PROBE_TICKS_NS (20 * PL_MS)        /* ns: ticks of a kernel's clock */

/* Stops (analyse/walk.c) */
#define PL_STOP_NS (100 * PL_MS) /* ns: what lasts less nobody notices, */
enum { PL_STOP_TRIPS = 4 };      /* round trips: nor what a recovery takes, which needs one or two */

/* Verdicts (analyse/transfer_verdict.c, analyse/walk.c, analyse/others.c, analyse/passed_on.c) */
#define PL_WINDOW_FULL 0.8           /* of a window a round trip: what delayed acknowledgements and gaps leave of it */
#define PL_CLEARLY 1.05              /* times a rate: more than chance makes of one rate */
#define PL_VARIES 1.25               /* times: a bottleneck that is slower by more has other rates, or others */
#define PL_SHARED_USED 0.75          /* of the line's rate: with less a line is idle, and its queue full for moments */
#define PL_ACKS_WAIT_NS (10 * PL_MS) /* ns: less is what bunches of packets and late time stamps make */
#define PL_NAGLE_DELAYED_NS (30 * PL_MS) /* ns: of the 40 that Linux delays an acknowledgement, and others 200 */
#define PL_NAGLE_PROMPT_NS PL_MS         /* ns: what waited for an acknowledgement leaves so soon behind it */
#define PL_PASSED_OWN 0.5                /* of the octets: a gateway has passed on so many when the capture ends, */
#define PL_PASSED_OTHER 0.9              /* or, to tell from chance, so many where its other address sends them, */
#define PL_PASSED_MOST 1.05              /* and no more: what is sent again on the far side counts there */
enum {
    PL_LEAST_TIMES = 5,        /* times: a habit, and not chance */
    PL_STUCK_TRIES = 3,        /* copies of a packet, all lost: at 10 % loss, chance loses three in one case of 1,000 */
    PL_EVERY_PATH = 1280 - 60, /* octets of payload: what every path carries in IPv6 (RFC 8200, 5) */
    PL_NAGLE_PERCENT = 40,     /* of the time: less explains too little of it */
    PL_SMALL_PERCENT = 75,     /* of the largest window: smaller ones hold data that wait for the program; tuned */
    PL_SHARED_OTHERS = 3, /* a third of the transfer's rate: others with less cost it less than a quarter of a line */
    PL_OTHERS_OF = 100    /* one per cent of its octets: less is what was said, and not a transfer */
};

#endif
