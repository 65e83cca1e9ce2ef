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
#define PL_FULL_PACKET 1500.0 /* octets: the MTU of Ethernet; a part's time is the time of such a packet */
#define PL_QUEUE_NS 1e6       /* ns: if the longest queue is shorter, it may be the machine's own jitter */
#define PL_NO_QUEUE_PARTS 3   /* parts' time: a shorter longest queue shows nothing; ACKs and pairs make such */
#define PL_NO_QUEUE_LATE 2    /* lateness: the same bound, because late time stamps seldom make a longer queue; tuned */
#define PL_BASE_SHARE 0.01    /* quantile of the delays that is the base: a single delay may be too short */
#define PL_OWN_BASE_SHARE 0.02 /* the same for parts' own delays, of which a short flow has fewer */
#define PL_EXACT_PARTS 3       /* parts' time: time stamps are exact up to this lateness */
#define PL_EXACT_NS 0.7e6      /* ns: or up to this lateness; tuned */
#define PL_EXACT_MOST 0.9      /* share of the arrivals that need at most a correction of PL_EXACT_MOVED */
#define PL_EXACT_MOVED 0.25    /* of a part's time: a larger correction would change the order of parts */
#define PL_LONGEST_LATE 0.999  /* quantile of the queues that is the longest: late time stamps make longer ones */
#define PL_ALIKE_PARTS 2       /* parts' time: queues that differ by less are alike, because parts come in pairs */
#define PL_ALIKE_NS 1e5        /* ns: the same for jitter of a machine */
#define PL_LOW_NS 5e5          /* ns: a loss met no queue if the queue next to it is at most this */
#define PL_LOW 0.0625          /* of the longest queue: the same bound; tuned */
#define PL_LOW_LATE 1.5        /* lateness: the same bound */
#define PL_LOW_PARTS 3         /* parts' time: the same bound; the largest of the four counts */

/* A full queue (loss_facts.h, loss_judge.h) */
#define PL_FULL_PARTS 1.25    /* parts: a queue with less room than this drops a part; the quarter is tuned */
#define PL_FULL_SUPER_PARTS 2 /* parts: the same for a super-packet, and for one of several transfers */
#define PL_FULL_NEAR 3        /* times alike: a queue that is at most this much shorter than the longest may be full */
#define PL_FULL_LATE 0.25     /* of the longest queue: the same bound; the larger one counts; tuned */
#define PL_FULL_ABOVE 0.15    /* of the places with such a queue: at most so many have a longer one; tuned */
#define PL_FULL_TIMES 3       /* so many times as many runs meet a full queue as by chance */
#define PL_FULL_MOST 0.9      /* of the runs: if so many are full, PL_FULL_OFF replaces PL_FULL_TIMES */
#define PL_FULL_OFF 4         /* deviations above the number by chance: probability 3 in 100,000 */
#define PL_FULL_DENSE 0.03    /* of the parts that met a full queue: a full queue loses at least so many; tuned */
#define PL_FULL_AGAIN_DENSE 0.02 /* the same if several episodes had a full queue, up to PL_FULL_AGAIN_NEAR */
#define PL_FULL_AGAIN_NEAR 8     /* times alike: a queue this much longer has a clear end; tuned */
enum {
    PL_SUPER_PARTS = 4,     /* parts in a row: if fewer are lost, they are not a super-packet */
    PL_FULL_RUNS = 5,       /* runs: fewer may agree by chance */
    PL_FULL_RUN_PARTS = 8,  /* parts in full runs: an overflowing burst loses this many */
    PL_FULL_AGAIN = 2,      /* episodes: so many must have a full queue */
    PL_FULL_AGAIN_RUNS = 4, /* runs: so many must be full in these episodes */
    PL_FULL_LATE_OF = 3     /* one in 3 runs must be full; otherwise late time stamps made them look full */
};

/* Queue management (loss_judge.h) */
#define PL_MANAGED_LUCK 0.02       /* probability that chance loses the others at such long queues: must be lower */
#define PL_MANAGED_LUCK_LATE 0.01  /* the same with late time stamps */
#define PL_MANAGED_LUCK_AGREE 0.05 /* the same if no queue was full and PL_MANAGED_LUCK_ALL holds */
#define PL_MANAGED_LUCK_ALL 0.005  /* probability that chance loses all runs at such long queues: must be lower */
#define PL_NO_LUCK 1e-6 /* probability: below this, losses without a queue do not matter, because RED's mean lags */
#define PL_MANAGED_LONGEST_LATE 6 /* lateness: if the longest queue is shorter, management does not show */
#define PL_MANAGED_DEPTH_LATE 3   /* lateness: the others' queues must be shorter than the longest by this */
#define PL_MANAGED_LOW 0.25       /* of the others: if more of them met no queue, chance lost them */
#define PL_MANAGED_LOW_LATE 0.5   /* the same with late time stamps and a probability below PL_NO_LUCK */
#define PL_DEPTH_OF_LONGEST 5     /* the others' queues must be a fifth shorter than the longest, which may be full */
enum { PL_MANAGED_RUNS = 2 };     /* others: a single one shows nothing */

/* Chance (loss_judge.h) */
#define PL_CHANCE_LUCK 0.02       /* probability: chance is not the cause of losses that are less likely than this */
#define PL_CHANCE_LUCK_LATE 0.1   /* the same with late time stamps, which make a wrong name more likely */
#define PL_CHANCE_OFF 2           /* deviations: chance's surprise is at least ln 2 per run minus these */
#define PL_CHANCE_LOW_PLACES 0.02 /* of the places: if fewer have no queue, their losses show nothing */
#define PL_CHANCE_LOWEST 0.25     /* of the longest queue: the bound for "no queue" must be lower, or all are alike */
#define PL_CHANCE_LOW 0.3 /* of the losses expected without a queue: chance makes so many, a full queue none; tuned */
#define PL_CHANCE_SEVERAL 0.03 /* of the parts of several transfers: where more are lost, a policer may be why; tuned */

/* Whether runs met a full queue, queue management, or something else (loss_judge.h) */
#define PL_MIXED_OTHERS 0.25  /* of the runs: if so many are neither full nor chance, full ones are unknown */
#define PL_MIXED_DENSE 0.05   /* of the parts that met a full queue: if so many were lost, it took some of them */
#define PL_MIXED_NEAR_PARTS 6 /* parts' time: this near to the longest queue, either may have dropped a run; tuned */
#define PL_MIXED_NEAR 0.25    /* of the longest queue: the same distance with late time stamps */
#define PL_MIXED_NEAR_LATE 6  /* lateness: the same distance; the larger one counts */
enum { PL_MIXED_RUNS = 8, PL_MIXED_RUNS_LATE = 32 }; /* others: fewer do not show queue management; tuned */

/* The side of the bottleneck (loss_judge.h) */
#define PL_SIDE_EXACT 0.2 /* of a part's time: if gaps are so exact, each run shows its side by 5 deviations */
#define PL_SIDES_EXACT 2  /* parts' time: if gaps vary by more, not even many of them show the side */
#define PL_SIDES_OFF 3.5  /* deviations of the mean gap from the middle: 5 in 10,000 by chance */
#define PL_SIDE_OFF 0.5   /* parts' time: the middle between lost before the bottleneck (0) and behind it (1) */
#define PL_SIDE_CUT 2.0   /* parts' time: larger gaps come from late time stamps and count as this */
enum { PL_SIDED = 3, PL_GAPS_LEAST = 20 }; /* runs that must all agree; gaps needed for a median and a deviation */

/* An outage (losses.h, path_down.h) */
#define PL_OUTAGE_NS (10 * PL_MS) /* ns: a queue that is being served admits a part within this, from 1.2 Mbit/s on */
#define PL_OUTAGE_LATE 6          /* lateness: late time stamps lengthen a span by at most this */
#define PL_OUTAGE_SERVICES 4      /* parts' time: the same as PL_OUTAGE_NS, for slower lines */
#define PL_OUTAGE_LEFT 0.5        /* of the longest queue: a served full queue admits parts before it is so short */
#define PL_OUTAGE_DRAINED 0.5     /* of the time without arrivals: a queue that drained by this much was served */
#define PL_OUTAGE_BURSTS 0.05     /* such runs by bursts, expected; also likelihood of a burst / of an outage */
enum {
    PL_OUTAGE_PARTS = 3,     /* parts in a row: chance may lose two */
    PL_OUTAGE_ACKS = 2,      /* acknowledgements in a row, next to lost data: chance may lose one */
    PL_BOTH_WAYS_MOST = 500, /* runs per direction, because all pairs are compared; with more, the path is lossy */
    PL_SAME_OCTETS_RUNS = 8  /* runs before and after: the copy of a packet that is lost again is so near */
};

/* A policer (policer.h) */
#define PL_POLICER_SLACK_PARTS 1.0 /* parts: when a part is dropped, the bucket may lack only a few of its octets */
#define PL_POLICER_NEARLY 0.03     /* of the best rate's worth: chance changes it by less, so such rates are equal */
#define PL_POLICER_EXPLAINED 0.75  /* of the runs: policers explained at least 94 %, other causes at most 25 % */
#define PL_POLICER_LUCK 1e-6       /* probability of chance: very low, because ninety rates are tried, twice */
#define PL_POLICER_OF_LINE 0.8 /* of the line's rate: at a rate near the line's, its own queue explains the losses */
#define PL_POLICER_SPREAD 0.05 /* quantile of the delays at both ends, so that single late packets do not matter */
#define PL_POLICER_WAITS 0.25  /* of a queue's spread of delays: a fit's rate and burst are wrong by up to a third */
#define PL_POLICER_QUEUE 0.5   /* of burst / rate: a queue that is served at this rate would hold the whole burst */
enum {
    PL_POLICER_PARTS = 5,   /* parts of a burst: any short queue may explain a shorter one */
    PL_POLICER_RUNS = 5,    /* runs: two numbers, rate and burst, can fit fewer by themselves */
    PL_POLICER_BETWEEN = 10 /* parts between two losses: one part more or less changes their rate by a tenth */
};

/* A full queue in a row with another (in_a_row.h, analyse/study.c) */
#define PL_HEAD_FULL 0.75     /* of the most octets behind a part: a burst of drops shortens the queue by less; tuned */
#define PL_HEAD_MOST 0.9      /* of the runs: management drops at most lengths, a full queue at one */
#define PL_IN_A_ROW_SOME 0.4  /* of the runs: if a full queue explains so many, management is not certain */
#define PL_IN_A_ROW_TIMES 6   /* share of runs / share of parts that passed as near: management would need k = 5 */
#define PL_IN_A_ROW_MOST 0.75 /* of the runs: if a full queue explains so many, it is their cause */

/* The bottleneck's time for a byte, and corrected arrivals (service.h, queues.h, analyse/study.c) */
#define PL_SERVICE_BUSY 8          /* a row counts as busy if the bottleneck was idle for at most an eighth of it */
#define PL_SERVICE_LEAST 0.02      /* of the rows: so many must be busy */
#define PL_SERVICE_ROWS 5          /* rows: fewer have no quantile */
#define PL_SERVICE_QUICK 0.1       /* quantile of busy rows: jitter and bunches make some faster than the line */
#define PL_SERVICE_SLOW 0.95       /* quantile of busy rows that stands for the slowest */
#define PL_SERVICE_QUICKEST 0.02   /* quantile of all rows: arrivals come faster while the path becomes shorter */
#define PL_SERVICE_SAME 0.99       /* of a time: an estimate that changes by less is final */
enum { PL_NEIGHBOURS_LEAST = 20 }; /* arrivals: fewer do not give such a quantile */
#define PL_NEIGHBOURS 0.02         /* quantile of the times per byte from one arrival to the next */
#define PL_QUEUE_SLACK 0.97        /* of the time per byte: if that is too long, correct arrivals would be changed */

/* The base delay (base_finder.h, analyse/path_base.h) */
#define PL_BASE_TOLERANCE_NS 5e4      /* ns: least tolerance, the jitter of an idle machine */
#define PL_BASE_MARGIN 3              /* times the largest error of the usual steps */
#define PL_BASE_USUAL 0.99            /* quantile of the steps that are usual */
#define PL_BASE_LASTS_NS (50 * PL_MS) /* ns: a level that lasts so long is the path's; a queue of others seldom does */
#define PL_BASE_PACKETS 3             /* packets, sent at different times: so many must show a base */
#define PL_BASE_RISE_NS 1e5           /* ns: a rise that exceeds the flow's own data by this comes from other flows */
#define PL_BASE_FEW 3                 /* number of such rises that do not matter */
#define PL_BASE_RISES 0.02            /* share of such rises among all steps that does not matter */
#define PL_BASE_TIMES 4     /* times the previous level's share of rises, by which the share may be higher; tuned */
#define PL_BASE_LEAK 0.03   /* of the time: the bottleneck may be this much faster than was measured */
#define PL_BASE_SHARED 0.01 /* of the transfer's bytes: if other connections carried more, they shared the line */
#define PL_LONG_QUEUES 0.95 /* quantile of the delays from which queues count as long */

/* Transfers that share a queue (analyse/aggregate.h) */
#define PL_LOW_DELAY 0.05           /* quantile of the delays, as for a single transfer (join/tally.c) */
#define PL_CROSSINGS_OVERTAKEN 0.01 /* of the crossings: in a shared queue no part overtakes another */
enum { PL_CROSSINGS_LEAST = 20 };   /* crossings: with fewer, transfers hardly share a queue */

/* Rounds of a sender and its silences (round.h, limits.h) */
#define PL_ROUND_GROWTH 1.3 /* times the flight, per round: slow start makes 2, or 1.5 with delayed ACKs */
#define PL_ROUND_EVEN 1.5   /* sum of gap² / bytes, relative to even gaps; a pause of half a round makes 2 or more */
#define PL_ROUND_VERY_EVEN 1.15 /* the same for a constant flight */
#define PL_ROUND_CLOCKED 0.5    /* of a round's bytes: if so many left right after an ACK, the sender does not pace */
#define PL_ROUND_BUSY 0.98      /* of a round's time: the bottleneck worked without pause; also in causes_truth.py */
#define PL_ROUND_LIGHT 0.5      /* of a round's time: if the flow's data took less, others made the standing queue */
#define PL_ROUND_PACED 4        /* gaps: fewer may be even by chance */
#define PL_BUSY_LINE 0.95       /* of a time: a line with longer pauses is not the limit; each edge costs a packet */
#define PL_AT_PACE 0.97         /* of the rate that the program allows: the kernel sends slightly ahead or behind */
#define PL_PAST_PACE 1.1        /* times the kernel's rate: if more is sent, that rate does not apply */
#define PL_STANDING_OF_RTT 128  /* RTT / standing queue: shorter queues are variation of the samples */
#define PL_STANDING_NS (PL_MS / 2) /* ns: a shorter queue is a machine's jitter */
#define PL_SILENCE_OF_RTT 12       /* RTT / a program's silence that no ACK ended; tuned */
#define PL_SILENCE_WOKEN_OF_RTT 4  /* the same if an ACK ended it: a third of the buffer free wakes a writer */
#define PL_SILENCE_NS (4 * PL_MS)  /* ns: the machine itself causes shorter silences */
#define PL_NEAR_FULL 8           /* samples: most samples during a wait find a full buffer; 7 in a row seldom miss it */
#define PL_MEMORY_MORE 1.25      /* times the memory per octet (1.1 to 2 octets): new data may take so much more */
#define PL_STANDS_NS (5 * PL_MS) /* ns: a slow program writes at least once in this time: 8 KB at 13 Mbit/s */
#define PL_IDLE_RESTART_NS (200 * PL_MS) /* ns: Linux' least time-out (TCP_RTO_MIN); then it slow-starts */
#define PL_DELAYED_ACK_NS (50 * PL_MS)   /* ns: Linux waits 40 ms for a second segment (TCP_DELACK_MIN), plus a tick */
#define PL_COUNTED_NEAR_NS (2 * PL_MS) /* ns: the kernel's count of a time-out and the packet are at most this apart */
#define PL_TIMEOUTS_APART_NS (200 * PL_MS) /* ns: Linux' least time-out: two are never closer */
enum {
    PL_DEFER_PART = 3,     /* a third of a window: with so much room a super-packet waits no longer (Linux' default) */
    PL_SUPER_MOST = 65536, /* octets: the longest super-packet */
    PL_OPENING_BYTES = 32768, /* octets: opening messages of tools, and all on a control connection, are fewer */
    PL_BUFFER_ALIKE = 8,      /* an eighth: flights that a full send buffer leaves differ by at most this share */
    PL_BUFFER_SEGMENTS = 2,   /* segments: with no more in flight, each acknowledgement wakes a writer */
    PL_STEADY_ROUNDS = 4,     /* rounds with a constant flight: a window that grows by a segment changes within them */
    PL_GROWN_SEGMENTS = 2,    /* segments: a delayed acknowledgement by itself makes a window grow by less */
    PL_DATA_SEGMENTS = 2,     /* segments in flight: a program's opening messages have fewer */
    PL_STANDING_HALVES = 3,   /* halves of a full segment's time: a standing queue is longer than 1.5 of these times.
                             * The least delay may be that of an empty packet, which is shorter by one such time,
                             * and the line's rate may be wrong by half of one */
    PL_SOON_OF_GAP = 4,       /* gap between acknowledgements / the time in which one of them wakes a writer */
    PL_CLOCKED_OF_GAP = 8,    /* the same gap divided by the time in which one of them releases a packet: by chance,
                            * an eighth of paced packets follow an acknowledgement as closely */
    PL_USUAL_MSS = 1460 /* octets, without a SYN that gives it: Ethernet's MTU minus the headers of IPv4 and TCP */
};
#define PL_SOON_NS INT64_C(20000) /* ns: both times are at least this, because waking a program takes so long */

/* Bursts of losses, and waits for the window (analyse/bursts.c, analyse/window.c) */
#define PL_APART_NS (10 * PL_MS) /* ns: losses that are further apart than this and a round trip are different bursts */
enum {
    PL_BURST_BETWEEN = 8, /* parts that arrived between losses of one burst: a full queue that is being served
                           * takes every other part, and losses by chance at a few per cent are further apart */
    PL_BURST_FULL_OF = 2  /* half of a long queue on this path: a shorter queue was not full */
};

/* Kinds of retransmissions (analyse/walk.c) */
#define PL_QUIET_NS (10 * PL_MS) /* ns: if an acknowledgement triggers a packet, the packet follows sooner than this */
#define PL_QUIET_COUNTED_NS (PL_MS / 4)       /* ns: if a time-out was counted; duplicate ACKs may be 1.44 ms apart */
#define PL_QUIET_HINTED_NS (200 * PL_MS)      /* ns: RACK waits no longer for reordering (RFC 8985: a quarter of RTT) */
#define PL_PROBE_DELAYED_ACK_NS (200 * PL_MS) /* ns: TLP.max_ack_delay of Linux and of most systems */
#define PL_TIMER_TICKS_NS (20 * PL_MS)        /* ns: a kernel's timer may be late by two ticks of its clock */

/* Stops: long gaps (gap.h, analyse/walk.c) */
#define PL_STOP_NS (100 * PL_MS) /* ns: nobody notices shorter stops */
enum { PL_STOP_TRIPS = 4 };      /* round trips: a recovery, which needs one or two, causes shorter stops */

/* Verdicts (analyse/transfer_verdict.c, analyse/walk.c, analyse/others.c, analyse/passed_on.c) */
#define PL_WINDOW_FULL 0.8           /* of a window per round trip: delayed ACKs and gaps let a sender use so much */
#define PL_CLEARLY 1.05              /* times a rate: chance changes a rate by less */
#define PL_VARIES 1.25               /* times: if the bottleneck varies by more, its rate changes or others use it */
#define PL_SHARED_USED 0.75          /* of the line's rate: with less traffic, its queue is full for moments only */
#define PL_ACKS_WAIT_NS (10 * PL_MS) /* ns: bunches of packets and late time stamps make shorter waits */
#define PL_NAGLE_DELAYED_NS (30 * PL_MS) /* ns: Linux delays an ACK by 40 ms, other systems by 200 ms */
#define PL_NAGLE_PROMPT_NS PL_MS         /* ns: a packet that waited for an ACK follows it within this */
#define PL_PASSED_OWN 0.5                /* of the octets: a gateway has passed on so many by the end of the capture */
#define PL_PASSED_OTHER 0.9 /* the same from another address of the gateway, where chance might explain fewer */
#define PL_PASSED_MOST 1.05 /* of the octets: at most so many, with those retransmitted on the far side */
enum {
    PL_LEAST_TIMES = 5,        /* times: fewer may be chance */
    PL_STUCK_TRIES = 3,        /* copies of a packet, all lost: at 10 % loss, chance loses three in 1 of 1,000 cases */
    PL_EVERY_PATH = 1280 - 60, /* octets of payload: every path of IPv6 carries them (RFC 8200, 5) */
    PL_NAGLE_PERCENT = 40,     /* of the time: a smaller share is not a main cause */
    PL_SMALL_PERCENT = 75,     /* of the largest window: in smaller windows data wait for the program; tuned */
    PL_LARGEST_PERCENT = 95, /* of the largest window: a receiver that tunes its buffer enlarges it by more at a time */
    PL_FIXED_TRIPS = 4,      /* round trips with a full window: a receiver that tunes its buffer enlarges it within
                              * two */
    PL_SHARED_OTHERS = 3,    /* a third of the transfer's rate: others with less cost it under a quarter of a line */
    PL_OTHERS_OF = 100       /* one per cent of the transfer's octets: a connection with fewer is a dialogue */
};

#endif
