/* What the gateway changes in its network namespace, all under one name, so that `lft-gateway clean` finds it: an nftables table, ip rules with
 * the gateway's marks, two routing tables, two sysctls of its own interface, fwmark_reflect (1 while it runs, 0 afterwards), and in the router model
 * tcp_early_demux (0, then 1). Made by running nft and ip. */
#ifndef LFT_RULES_H
#define LFT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_options.h"

struct rules {
    const char *name;          /* nft table and TUN interface */
    uint32_t mark;             /* +0 to the local sockets, +1 into the TUN, +2 the gateway's own, +3 replies of them on this host */
    uint32_t table;            /* +0 local, +1 default by the TUN */
    bool router, host;
    struct nc_strings lan;     /* router */
    uint16_t port;             /* transparent listener */
};
enum { RULES_MARK_LOCAL, RULES_MARK_TUN, RULES_MARK_OWN, RULES_MARK_REPLY };

/* Everything but the taking of new connections. 0, or -1 with a reason and nothing left behind. */
int rules_install(const struct rules *rules, char *why, size_t why_size);
/* New connections into the TUN, or not. 0 or -1. */
int rules_accelerate(const struct rules *rules, bool on, char *why, size_t why_size);
/* Whatever of it is there. Says nothing about what is not. */
void rules_remove(const char *name, uint32_t mark, uint32_t table);

#endif
