/* What the gateway changes in its network namespace. Everything has one name, by which `lft-gateway clean` finds it:
 *   - an nftables table, ip rules with the gateway's marks, two routing tables;
 *   - two sysctls of its own interface;
 *   - fwmark_reflect, which is 1 while the gateway runs;
 *   - in the router model tcp_early_demux, which is 0 while it runs.
 * The last two get their earlier values back when the gateway exits, or when the next one starts after a gateway that
 * was killed: the table keeps these values in the name of an empty chain.
 * Rejected: a file; it would outlive the namespace. */
#ifndef LFT_RULES_H
#define LFT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"
#include "nc_options.h"

struct nc_keeper;
struct rules {
    const char *name; /* name of the nft table and of the TUN interface */
    uint32_t mark;    /* the first of four packet marks, which the enum below lists */
    uint32_t table;   /* the first of two routing tables: this one delivers locally, the next has a default route into
                       * the TUN */
    bool router, host;
    struct nc_strings lan;     /* with `router`: interfaces towards clients */
    struct nc_strings exclude; /* networks whose servers are not taken over */
    uint16_t port;             /* of the transparent listeners */
    struct nc_keeper *keeper;  /* the keeper, which does the acts below for the gateway */
};
enum {
    RULES_MARK_LOCAL, /* for local sockets */
    RULES_MARK_TUN,   /* into the TUN */
    RULES_MARK_OWN,   /* sent by the gateway itself */
    RULES_MARK_REPLY  /* answers to the gateway's own packets, on this host */
};

/* The functions below as acts of a keeper (nc_keeper.h). The first takes the port as its value, the second takes on or
 * off, the third takes none. */
enum rules_act { RULES_INSTALL, RULES_ACCELERATE, RULES_REMOVE, RULES_ACTS };
int rules_act(struct rules *rules, uint32_t what, uint64_t value, struct nc_error *error);

/* Removes whatever exists of rules and routes, without messages about missing parts. */
void rules_remove(const char *name, uint32_t mark, uint32_t table);

#endif
