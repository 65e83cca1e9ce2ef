/* Active queue management: decides for every wire packet whether it passes, is marked (ECN) or is dropped. Three
 * algorithms stand behind one pair of calls, one call on each side of the queue:
 *
 *   none    drop-tail alone, which the caller does
 *   red     Floyd, Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993, in bytes; "gentle" as in
 *           Floyd's note of 2000. RED has no RFC defaults: max = 3 min and p = 10 % are Floyd's later advice
 *   codel   RFC 8289, the pseudo-code of section 5 with its reuse of `count`
 *   pie     RFC 8033, sections 4.1 to 4.4; delay measured by sojourn time; of section 5 ECN (5.1) and, when asked
 *           for, de-randomisation (5.4). Left out: dequeue rate estimation, on/off threshold, cap of the adjustment
 *
 * Theory of operation. The code is pure: the state is plain data, `now` is passed in, and chance is drawn from (key,
 * packet number). There are no timers. PIE's periodic updates are made up for at the next call, exactly as a timer
 * would have made them, because nothing they depend on changes between calls.
 * Invariants for the caller: calls come in the order of time. aqm_dequeue is called when a packet leaves the queue for
 * the line. After AQM_DROP from aqm_dequeue the caller goes on at once with the next packet at the same `now`. The
 * caller checks the bound of the queue, after aqm_enqueue.
 * Rejected: an algorithm that owns the queue. One queue serves all algorithms, and drop-head with them.
 *
 * ECN: with `ecn` on, an ECN-capable packet is marked where another packet would be dropped. Beyond RED's upper end and
 * above PIE's threshold it is dropped all the same, as RFC 3168, 7 and RFC 8033, 5.1 require. */
#ifndef COMET_AQM_H
#define COMET_AQM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

enum aqm_algorithm { AQM_NONE, AQM_RED, AQM_CODEL, AQM_PIE, AQM_N };
enum aqm_verdict { AQM_PASS, AQM_MARK, AQM_DROP };

/* Ratios in parts per billion (NC_RATIO_ONE is 100 %). */
struct red_params {
    uint64_t min_bytes, max_bytes; /* of the averaged backlog: no hits below min; the share rises from 0 to p at max */
    uint64_t p_ppb;                /* share at max, of packets of `packet_bytes`; in proportion for others */
    uint64_t weight_ppb;           /* weight of a new sample in the average (w_q) */
    uint64_t packet_bytes;         /* usual size of a packet: that p holds for, and in which idle time is counted */
    bool gentle;                   /* from max to 2 max the share rises from p to 1; otherwise it is 1 from max on */
};
struct codel_params {
    uint64_t target_ns, interval_ns;
};
struct pie_params {
    uint64_t target_ns, update_ns; /* QDELAY_REF, T_UPDATE */
    uint64_t alpha_per_1e9_s;      /* 1e-9 / s: weight of the delay's distance from target; 125000000 is 1/8 */
    uint64_t beta_per_1e9_s;       /* of its change since the last update; 1250000000 is 1 1/4 */
    uint64_t burst_ns;             /* MAX_BURST: for so long after calm nothing is dropped */
    uint64_t ecn_threshold_ppb;    /* mark_ecnth: mark only while the probability is below */
    bool derandomize;              /* keeps drops from being too close together or too far apart */
};

/* All zero: AQM_NONE. Only the chosen algorithm's part counts. */
struct aqm_params {
    int algorithm; /* enum aqm_algorithm */
    bool ecn;
    /* Rate of the line behind the queue, which is not part of the text: the caller fills it in. It says how fast RED's
     * average falls while the line is idle; 0: as if the time of one packet had passed. */
    uint64_t link_rate_bps;
    struct red_params red;
    struct codel_params codel;
    struct pie_params pie;
};

struct red_state {
    double average_bytes;
    uint64_t idle_since_ns; /* meaningful when `idle` */
    uint64_t since_bytes;   /* since the last mark or drop, when `counting` */
    bool idle, counting;
};
struct codel_state {
    uint64_t first_above_ns; /* when the sojourn time will have been above target for an interval; 0: it is below */
    uint64_t drop_next_ns;
    uint32_t count, last_count;
    bool dropping;
    bool dropped; /* the packet before was dropped at this same time: the next drop is still to be scheduled */
};
struct pie_state {
    uint64_t next_update_ns, delay_ns, delay_old_ns, burst_ns;
    double probability, accumulated;
    bool started;
};

/* Starts as all zero. A change of the algorithm starts it again; a change of the parameters does not. */
struct aqm {
    int algorithm;
    uint32_t largest_bytes; /* largest packet seen: the "MTU" in CoDel's and PIE's safeguards for almost empty queues */
    struct red_state red;
    struct codel_state codel;
    struct pie_state pie;
};

/* For a packet of `packet_bytes` that arrives at a queue that holds `backlog_bytes` without it. `key` is from
 * random_key, `number` is the packet's. */
enum aqm_verdict aqm_enqueue(struct aqm *aqm, const struct aqm_params *params, uint64_t now_ns, uint64_t backlog_bytes,
                             uint32_t packet_bytes, bool ect, uint64_t key, uint64_t number);

/* For a packet that has waited `sojourn_ns` and leaves the queue for the line; `backlog_bytes` stay behind it. */
enum aqm_verdict aqm_dequeue(struct aqm *aqm, const struct aqm_params *params, uint64_t now_ns, uint64_t sojourn_ns,
                             uint64_t backlog_bytes, uint32_t packet_bytes, bool ect, uint64_t key, uint64_t number);

/* The text form is ALGORITHM or ALGORITHM:KEY=VALUE,…, names in lower case. Every key is optional and may be given
 * once. With all defaults:
 *
 *   none
 *   red:min=30KB,max=90KB,p=10%,weight=0.2%,packet=1500,gentle=on,ecn=off
 *   codel:target=5ms,interval=100ms,ecn=off
 *   pie:target=15ms,update=15ms,alpha=0.125,beta=1.25,burst=150ms,ecn_threshold=10%,derandomize=off,ecn=off
 *
 * aqm_parse returns 0, or -1 with an error that names key, value and what is allowed; the caller puts the option's name
 * in front of it. *params is then as it was. link_rate_bps comes out 0. */
enum { AQM_TEXT_MAX = 256 };
int aqm_parse(const char *text, struct aqm_params *params, struct nc_error *error);

/* Writes the algorithm with every key, in the order above, so that aqm_parse makes the same parameters of it. `size` is
 * at least AQM_TEXT_MAX. Returns buf. */
const char *aqm_format(const struct aqm_params *params, char *buf, size_t size);

#endif
