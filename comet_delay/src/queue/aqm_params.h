/* The discipline of a queue and its parameters. All zero: AQM_NONE. Only the chosen algorithm's member is used. The
 * text form is in aqm_text.h, outside this room. */
#ifndef COMET_AQM_PARAMS_H
#define COMET_AQM_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

/* A row for each discipline: its number AQM_…, its name in texts, and the struct that implements it (discipline_…).
 *
 *   red        Floyd, Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993, in bytes; "gentle" as
 *              in Floyd's note of 2000. RED has no RFC defaults: max = 3 min and p = 10 % are Floyd's later advice
 *   codel      RFC 8289, the pseudo-code of section 5 with its reuse of `count`
 *   pie        RFC 8033, sections 4.1 to 4.4; delay measured by sojourn time; of section 5 ECN (5.1) and, when asked
 *              for, de-randomisation (5.4). Left out: dequeue rate estimation, on/off threshold, cap of the adjustment
 *   fq_codel   RFC 8290
 *   policer    a token bucket (RFC 2697 with one bucket) before a plain queue
 *   dualpi2    RFC 9332, appendix A, both passes
 *   step       RFC 8257, section 3.1: marking at a length of the queue */
#define AQM_DISCIPLINES(ROW)                                                                                           \
    ROW(NONE, none, plain)                                                                                             \
    ROW(RED, red, red)                                                                                                 \
    ROW(CODEL, codel, codel)                                                                                           \
    ROW(PIE, pie, pie)                                                                                                 \
    ROW(FQ_CODEL, fq_codel, fq_codel)                                                                                  \
    ROW(POLICER, policer, policer)                                                                                     \
    ROW(DUALPI2, dualpi2, dualpi2)                                                                                     \
    ROW(STEP, step, step)

#define AQM_NUMBER(number, name, file) AQM_##number,
enum aqm_algorithm { AQM_DISCIPLINES(AQM_NUMBER) AQM_N };

/* Ratios in parts per billion (NC_RATIO_ONE is 100 %). */
struct red_params {
    uint64_t min_bytes, max_bytes; /* of the average backlog: no hits (marks or drops) below min; their share rises to p
                                    * at max */
    uint64_t p_ppb;                /* share at max, for packets of `packet_bytes`; proportional for other sizes */
    uint64_t weight_ppb;           /* weight of a new sample in the average (w_q) */
    uint64_t packet_bytes;         /* usual size: p applies to it, and idle time is counted in such packets */
    bool gentle;                   /* the share rises from p to 1 between max and 2 max; otherwise it is 1 from max
                                    * on */
};
struct codel_params {
    uint64_t target_ns, interval_ns;
};
struct pie_params {
    uint64_t target_ns, update_ns; /* QDELAY_REF, T_UPDATE */
    uint64_t alpha_per_1e9_s;      /* 1e-9 / s: weight of the delay's distance from target; 125000000 is 1/8 */
    uint64_t beta_per_1e9_s;       /* weight of the delay's change since the last update; 1250000000 is 1 1/4 */
    uint64_t burst_ns;             /* MAX_BURST: time after an idle period in which nothing is dropped */
    uint64_t ecn_threshold_ppb;    /* mark_ecnth: packets are marked only while the probability is below this */
    bool derandomize;              /* keeps drops from being too close together or too far apart */
};

struct fq_codel_params {
    uint64_t limit_packets, memory_bytes; /* most packets that wait, of all flows */
    uint64_t quantum_bytes;               /* that a flow sends in its turn */
    uint64_t ways;                        /* number of queues in a flow's set; 1: its hash determines the queue */
    bool ack_filter;                      /* drops acknowledgements that the next one in the queue supersedes */
};

struct policer_params {
    uint64_t rate_bps;    /* at which the bucket fills */
    uint64_t burst_bytes; /* its depth */
};

struct dualpi2_params {
    uint64_t target_ns, update_ns;
    uint64_t alpha_per_1e9_s, beta_per_1e9_s; /* as PIE's; of the base probability */
    uint64_t coupling_ppb;                    /* k: the probability of L4S in units of the base probability */
    uint64_t step_ns;                         /* of the L4S queue: packets that waited longer are marked */
    uint64_t classic_ppb;                     /* share of the classic queue while both wait */
    uint64_t limit_packets;                   /* most packets that wait, of both queues */
    bool ect0;                                /* packets with ECT(0) are L4S, too */
};

struct step_params {
    uint64_t packets, bytes; /* threshold from which packets are marked; 0: no such threshold */
    bool drop;               /* packets that cannot be marked are dropped from the threshold on */
};

struct aqm_params {
    int algorithm; /* enum aqm_algorithm */
    bool ecn;
    /* Rate of the line after the queue, which is not part of the text: the caller fills it in. It determines how fast
     * RED's average falls while the line is idle; 0: as if the time of one packet had passed. */
    uint64_t link_rate_bps;
    struct red_params red;
    struct codel_params codel; /* of FQ-CoDel, too */
    struct fq_codel_params fq_codel;
    struct pie_params pie;
    struct policer_params policer;
    struct dualpi2_params dualpi2;
    struct step_params step;
};

#endif
