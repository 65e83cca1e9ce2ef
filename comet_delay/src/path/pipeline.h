/* The stages that a wire packet passes in one direction, and their order:
 *
 *   access line → loss → bottleneck → delay → bunching → loss → pacer → drain → harmonizer → corrupt → overtake →
 *   reorder → duplicate
 *
 * Every stage except two is a function of one type (pipeline.c): it gets the packet at its theoretical time, and either
 * advances that time and perhaps marks the packet, or returns why the packet is dropped. A new stage is such a function
 * and a row of the table. The two others are the bottleneck, where packets wait, in one channel or several
 * (channels.h), for a decision that later packets may change (bottleneck.h), and duplication, which comes last because
 * it makes two packets of one. The computation of a stage is in a separate module that depends neither on the clock,
 * nor on other stages, nor on a packet's buffer.
 * Invariant: a stage gets packets with times that never decrease. Stages in which packets overtake therefore come last.
 * Rejected: the bottleneck as a stage of the same type. It would have to return packets other than the one it got. */
#ifndef COMET_PIPELINE_H
#define COMET_PIPELINE_H

#include <stdint.h>

#include "filter.h"
#include "nc_vnet.h"
#include "wire_packet.h"

struct direction;

/* Passes a packet through the pipeline. It is added to the direction's schedule, or dropped and counted. */
void pipeline_offer(struct direction *direction, struct wire_packet *packet);

/* Passes on the packets that the bottleneck has decided by `until_ns`. */
void pipeline_advance(struct direction *direction, uint64_t until_ns);

/* A hash of addresses, ports and protocol, equal for all packets of a flow; the two directions of a connection may have
 * different hashes. */
uint64_t pipeline_flow(const struct nc_packet *packet);

/* Whether a packet is a plain acknowledgement: no data, no SACK, no flag except ACK. */
bool pipeline_ack_only(const struct nc_super *super);

/* Whether the filter excludes a wire packet (one part of a super-packet). Call it only if the filter has terms; without
 * terms it selects all packets. */
bool pipeline_exempts(const struct filter *only, const struct nc_super *super, uint32_t part);

#endif
