/* Finds the innermost packet inside tunnels: GRE (RFC 2784, 2890), IP in IP (RFC 2003, 4213, 2473), MPLS (RFC 3032,
 * also in GRE, in IP and in PPPoE), PPPoE (RFC 2516), VXLAN (RFC 7348), GENEVE (RFC 8926), GTP-U (3GPP TS 29.281) and
 * ERSPAN (draft-foschiano-erspan), nested up to NC_TUNNEL_DEPTH deep.
 * An unknown tunnel, or a fragment of a tunnel's packet, ends the search; the innermost packet found so far is the
 * result. Invariant: offsets in the result are from the start of the frame, as nc_packet_decode gives them.
 * Rejected: decoding tunnels in nc_packet_decode, which would make the delay box and the gateway slower. */
#ifndef NC_TUNNEL_H
#define NC_TUNNEL_H

#include "nc_packet.h"

enum { NC_TUNNEL_DEPTH = 8 };

/* As nc_packet_decode, for the innermost packet. `*depth` becomes the number of tunnels around it. If a tunnel's header
 * is cut off or contradicts itself, the result is NC_TRUNCATED or NC_MALFORMED, and *out is the packet that carries the
 * tunnel. */
enum nc_decoded nc_tunnel_decode(enum nc_link link, const uint8_t *frame, size_t captured, size_t wire,
                                 struct nc_packet *out, unsigned *depth);

#endif
