/* Changes bytes of a wire packet that leaves: sets an ECN mark, flips a bit. */
#ifndef COMET_PACKET_EDIT_H
#define COMET_PACKET_EDIT_H

#include "fate.h"
#include "nc_vnet.h"

/* Applies `edits` (enum packet_edit) to a run of one part, as nc_super_run built it. `scratch` has room for the whole
 * frame and must live as long as the run. `random` chooses the bit. A packet without IP is not marked, and one without
 * payload is not corrupted. If the sender left the transport checksum to the hardware, EDIT_CORRUPT completes it before
 * the bit is flipped, so that the receiver detects the change; EDIT_FORGE completes it afterwards, so that the receiver
 * does not. */
void packet_edit_apply(const struct nc_super *super, unsigned edits, uint64_t random, struct nc_run *run,
                       uint8_t *scratch);

#endif
