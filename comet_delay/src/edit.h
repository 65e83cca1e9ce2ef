/* What is done to the bytes of a wire packet on its way out: an ECN mark, a flipped bit. */
#ifndef COMET_EDIT_H
#define COMET_EDIT_H

#include "nc_vnet.h"
#include "stage.h"

/* Applies `edits` (enum edit) to a run of one part, as nc_super_run built it. `scratch` has room for the whole frame and
 * must live as long as the run. `random` chooses the bit. A packet without IP is not marked, one without payload not
 * corrupted. EDIT_CORRUPT completes the transport checksum first, where it was still to be filled in, so that
 * the receiver can see the damage; EDIT_FORGE completes it afterwards, so that it cannot. */
void edit_run(const struct nc_super *super, unsigned edits, uint64_t random, struct nc_run *run, uint8_t *scratch);

#endif
