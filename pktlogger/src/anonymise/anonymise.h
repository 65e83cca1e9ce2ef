/* Writes a capture without data that would identify its owner. Every TCP packet is rewritten from what was decoded of
 * it, so that nothing passes by accident: the link header is a fresh one (SLL2, with the number of the interface),
 * tunnels, VLAN tags, IP options and IPv6 extension headers are left out, addresses and ports are mapped (pan.h), and
 * nothing follows the TCP header. Lengths do not change. TCP options that say how the connection works stay; others
 * become NOPs. TCP checksums are 0, because they would leak information about removed fields. All other frames,
 * comments and names are left out.
 * Rejected: rewriting frames in place, because a forgotten field would stay. */
#ifndef PL_ANONYMISE_H
#define PL_ANONYMISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"
#include "nc_packet.h"
#include "pan.h"
#include "reader.h"
#include "writer.h"

enum { PL_ANONYMOUS_MAX = 20 + 40 + 60, PL_LINKTYPE_SLL2 = 276 };

/* Writes the mapped headers of `packet`, a TCP packet decoded from `frame`. Returns their length; *wire becomes the
 * packet's length on the wire. */
size_t pl_anonymous_packet(struct pl_pan *pan, const struct pl_frame *frame, const struct nc_packet *packet,
                           uint8_t out[PL_ANONYMOUS_MAX], uint32_t *wire);

struct pl_anonymised {
    uint64_t frames, packets; /* frames read; TCP packets written */
    int64_t first_ns, last_ns;
};

/* Reads a capture to its end and writes its TCP packets. Returns 0, or -1 with a reason. */
int pl_anonymise(struct pl_reader *reader, struct pl_writer *writer, struct pl_pan *pan, bool tunnels,
                 struct pl_anonymised *done, struct nc_error *error);

#endif
