/* A BPF program that says which packets are kept and how many bytes of each. The kernel cuts a packet before it copies
 * it, so a short snap length saves memory bandwidth as well as disk space. Each rule is compiled as a filter of its
 * own; the programs are concatenated, and where one rejects a packet the next one begins.
 * Rejected: cutting packets in the process. A super-packet would fill the kernel's ring with octets that are then
 * thrown away. */
#ifndef PL_SNAP_FILTER_H
#define PL_SNAP_FILTER_H

#include <pcap/pcap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

enum { PL_SNAP_BYTES_MIN = 64, PL_SNAP_BYTES_MAX = 262144, PL_SNAP_RULES_MAX = 16 };

/* Packets that match `expression` (pcap-filter(7)) are kept up to `bytes`. */
struct pl_snap_rule {
    char expression[1024];
    uint32_t bytes;
};

/* How many bytes of a packet are kept. The first rule that matches the packet decides. If none matches: with `no_data`,
 * all headers of TCP and nothing after them; otherwise `bytes`. */
struct pl_snap {
    uint32_t bytes;
    bool no_data;
    const struct pl_snap_rule *rules;
    size_t rule_n;
};

/* The most that is kept of any packet. */
uint32_t pl_snap_largest(const struct pl_snap *snap);

/* Reads "EXPR=SIZE", as in "udp port 53=1500". Returns 0, or -1 with the error. */
int pl_snap_rule_parse(const char *text, struct pl_snap_rule *rule, struct nc_error *error);

/* Makes the program for packets that pass `filter` (NULL: all). The snap length of `pcap` must be pl_snap_largest.
 * `no_data` affects only Ethernet. Returns 0 and the program (release it with free(program->bf_insns)), or -1 with the
 * error. */
int pl_snap_filter(pcap_t *pcap, const char *filter, const struct pl_snap *snap, struct bpf_program *program,
                   struct nc_error *error);

#endif
