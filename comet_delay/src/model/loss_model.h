/* Decides which wire packets are lost. The parameters are plain data, filled in from text; the state is what a model
 * must remember from one packet to the next.
 *
 * Random numbers depend on (key, number) only. The models with memory (Gilbert–Elliott, 4-state) are Markov chains that
 * take one step for every packet number, including packets that never reach this stage. So a packet's fate does not
 * depend on what other stages did to earlier packets. After a gap of more than LOSS_CATCH_UP numbers a chain restarts
 * LOSS_CATCH_UP steps before the current packet, from its stationary distribution: it uses the same random numbers as
 * the full chain, and by then both have reached the same state.
 * Rejected: a step for every packet that reaches the stage. An earlier drop would then move all later losses.
 *
 * Text forms (numbers count from 0; ranges of numbers include both ends, ranges of time exclude the end):
 *   1%                     independent
 *   gilbert:1%,10          Gilbert–Elliott by mean loss and mean burst (lost packets in a row); all packets are lost
 *                          in the bad state and none in the good one (Gilbert 1960; tc-netem's `loss gemodel p r` with
 *                          r = 1 / burst)
 *   4state:P13[,P31[,P32[,P23[,P14]]]]   tc-netem's `loss state`: 1 received, 2 received within a burst, 3 lost
 *                          within a burst, 4 lost alone; defaults P31 = 1 - P13, P32 = 0, P23 = 1, P14 = 0 as there
 *   packets:5,10-12        by number in this direction
 *   time:1s-1.2s,5s-5.1s   outages, relative to when the model was set
 *   seq:1000-2000          first transmission of TCP segments with any of these bytes, in every flow (relative: the
 *                          first byte of data is 1); seq:1000-2000x3 the first three transmissions
 *   retransmission:2       the second retransmission of every TCP segment; retransmission:1-3 */
#ifndef COMET_LOSS_MODEL_H
#define COMET_LOSS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table.h"
#include "tcp_track.h"

enum loss_kind {
    LOSS_INDEPENDENT, /* all zero: no loss */
    LOSS_GILBERT,
    LOSS_4STATE,
    LOSS_PACKETS,
    LOSS_TIME,
    LOSS_SEQ,
    LOSS_RETRANSMISSION,
    LOSS_KINDS
};

enum { LOSS_CATCH_UP = 16384, LOSS_BURST_MILLI_MAX = 1000000000 };

/* Transition and start probabilities in units of 2^-64 (UINT64_MAX: always), so that a rare start of a long burst is
 * exact. */
struct loss_chain {
    uint64_t p13, p31, p32, p23, p14;
    uint64_t start[3]; /* stationary distribution, cumulative, of states 1 to 3 */
};

struct loss_model {
    enum loss_kind kind;
    uint64_t loss_ppb;     /* independent; Gilbert–Elliott: mean */
    uint64_t burst_milli;  /* Gilbert–Elliott: mean burst in thousandths of a packet */
    uint64_t given_ppb[5]; /* 4-state: p13, p31, p32, p23, p14 */
    struct loss_chain chain;
    uint64_t transmissions; /* sequence ranges: number of first transmissions that are lost */
    struct table *ranges;   /* lists: half-open pairs; owned */
};

/* Counts since the model was set. A burst is a series of lost packets that reached the model one after the other. */
struct loss_count {
    uint64_t packets, lost, bursts;
    bool in_burst;
};

struct loss_state {
    struct loss_count count;
    uint64_t start_ns; /* when the model was set */
    bool chain_begun;
    int chain_state; /* 1 … 4 */
    uint64_t chain_number;
    struct tcp_track tcp;
};

struct loss_packet {
    uint64_t number, time_ns;
    const struct loss_tcp *tcp; /* NULL: not TCP, or not needed (loss_model_wants_tcp) */
};

/* Fills *model from text, and overwrites the previous content without freeing it. Returns 0, or -1 with the error;
 * *model is then unchanged. */
int loss_model_parse(const char *text, struct loss_model *model, struct nc_error *error);
/* Writes a text that parses to the same model; MODEL_TEXT_MAX bytes are always enough. Returns buf. */
const char *loss_model_format(const struct loss_model *model, char *buf, size_t size);
/* A second owner of the same model. Each owner frees its own. */
struct loss_model loss_model_share(const struct loss_model *model);
void loss_model_free(struct loss_model *model);

/* Whether the model needs the TCP fields of packets. */
bool loss_model_wants_tcp(const struct loss_model *model);
/* Whether its losses count as an outage: a window of time in which nothing passes, or a loss of 100 %. */
bool loss_model_is_outage(const struct loss_model *model);
/* The long-run loss ratio, or -1 for lists. */
double loss_model_mean(const struct loss_model *model);

void loss_state_init(struct loss_state *state, uint64_t now_ns);
/* Call it after the parameters have changed: time windows count from now, chains restart, and what is known of TCP
 * flows is kept. */
void loss_state_restart(struct loss_state *state, uint64_t now_ns);

/* Whether this packet is lost. `key` is from random_key. Call it once for each packet with TCP fields, in the order in
 * which they pass. */
bool loss_model_hit(struct loss_state *state, const struct loss_model *model, uint64_t key,
                    const struct loss_packet *packet);

/* Tells the model of a packet that its filter excludes, so that its record of TCP flows has no gaps. */
void loss_model_watch(struct loss_state *state, const struct loss_model *model, const struct loss_packet *packet);

#endif
