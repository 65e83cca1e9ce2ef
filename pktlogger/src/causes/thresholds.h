/* The thresholds of the rules of this room, each with its unit and why it is what it is. FORMAT.md section 4 has the
 * rules. */
#ifndef PL_THRESHOLDS_H
#define PL_THRESHOLDS_H

/* A policer (policer.h) */
#define PL_POLICER_SLACK_PARTS 1.0 /* parts: one that is dropped may find the octets of nearly one in the bucket */
#define PL_POLICER_NEARLY 0.03     /* of what a rate is worth: parts near the burst by chance move it by less */
#define PL_POLICER_EXPLAINED 0.75 /* of the runs; policers explained 94 % and more of them, other causes 25 % at most */
#define PL_POLICER_LUCK 1e-6      /* probability of chance; ninety rates are tried, twice */
#define PL_POLICER_OF_LINE 0.8    /* of a rate: a bottleneck's own queue explains its losses by the whole of it */
#define PL_POLICER_QUEUE 0.5      /* of the burst's time at the rate: a queue served at this rate takes all of it */
enum {
    PL_POLICER_RUNS = 5,    /* runs of losses: a rate and a burst, two numbers, explain fewer by themselves */
    PL_POLICER_BETWEEN = 10 /* parts between losses at least: one more or less changes their rate by a tenth */
};

#endif
