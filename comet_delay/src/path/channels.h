/* The bottleneck as several channels, like the three lines of 45 Mbit/s that carried 155 Mbit/s in lfp-1995. Each
 * channel is a bottleneck with its own queue, active queue management and line. Balance by flow keeps the packets of a
 * flow in one channel. Balance by packet uses the channels in turn, so that packets overtake one another if one
 * channel's queue is longer.
 *
 * With one channel a packet continues in the pipeline as soon as it is decided. With several it continues at its exit:
 * only then is it certain that no packet of another channel leaves before it. One packet of each channel waits for its
 * exit in `first`, and the others stay in the channel's queue. A channel that is removed still sends its packets.
 * Rejected: one bottleneck with several lines. It would have only one queue, and a flow could not fill the queue of its
 * channel alone. */
#ifndef COMET_CHANNELS_H
#define COMET_CHANNELS_H

#include "bottleneck.h"

struct channels {
    struct bottleneck each[CHANNELS_MAX];
    struct wire_packet first[CHANNELS_MAX]; /* of each channel: the packet that leaves next */
    bool waits[CHANNELS_MAX];               /* whether there is such a packet */
    unsigned used;                          /* number of channels that have had packets; at least 1 */
    uint64_t taken;                         /* packets, for balance by packet */
    uint64_t peak_bytes;                    /* largest number of bytes in all queues together */
};

void channels_init(struct channels *channels, uint64_t aqm_key);
void channels_free(struct channels *channels);

/* Rates that follow a trace restart at `now_ns`, and the lines' counts restart at 0. */
void channels_restart_trace(struct channels *channels, uint64_t now_ns);
void channels_count_anew(struct channels *channels);

/* The functions of a bottleneck (bottleneck.h), for the packet's channel or for all channels. channels_turn_ns: when
 * channels_next has something to do. */
enum fate channels_offer(struct channels *channels, const struct params *params, const struct models *models,
                         const struct wire_packet *packet);
bool channels_next(struct channels *channels, const struct params *params, const struct models *models,
                   uint64_t until_ns, struct wire_packet *packet, enum fate *fate);
uint64_t channels_turn_ns(const struct channels *channels);
uint64_t channels_occupancy(struct channels *channels, uint64_t now_ns);

/* When the last bit of the last packet is out. */
uint64_t channels_exit_ns(const struct channels *channels);

/* The count of all lines together. */
struct line_count channels_sent(const struct channels *channels);

/* Whether the balance depends on flows. */
static inline bool channels_by_flow(const struct params *params)
{
    return params->channels > 1 && params->balance == BALANCE_FLOW;
}

#endif
