/* Cuts the data off a packet for --no-data if the kernel's filter could not: TCP after several VLAN tags, IP options or
 * extension headers, in a tunnel, or on a link other than Ethernet. All headers stay, and nothing after them. */
#ifndef PL_DATA_CUT_H
#define PL_DATA_CUT_H

#include "snap_filter.h"

struct pl_data_cut {
    bool wanted;
    unsigned link;                               /* enum nc_link */
    struct bpf_program rules[PL_SNAP_RULES_MAX]; /* --snap-of: matching packets are kept up to the given length */
    size_t rule_n;
};

/* Returns 0, or -1 with the error. It is also an error if the headers of the interface's link type are not known. */
int pl_data_cut_open(struct pl_data_cut *cut, pcap_t *pcap, const char *interface, const struct pl_snap *snap,
                     struct nc_error *error);

/* How many bytes of the packet are kept. */
uint32_t pl_data_cut_bytes(const struct pl_data_cut *cut, const struct pcap_pkthdr *header, const uint8_t *data);

void pl_data_cut_close(struct pl_data_cut *cut);

#endif
