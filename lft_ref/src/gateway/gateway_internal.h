/* The gateway's parts, for gateway.c, gateway_open.c, gateway_state.c and contention.c. */
#ifndef LFT_GATEWAY_INTERNAL_H
#define LFT_GATEWAY_INTERNAL_H

#include "gateway.h"
#include "health.h"
#include "io.h"
#include "link.h"
#include "loop.h"
#include "pmtu.h"
#include "relay.h"
#include "proxy.h"
#include "router.h"

enum { PROXIES_MAX = 3 * NC_STRINGS_MAX, HANDSHAKE_REASONS = 4, CONTENTION_TEXT_BYTES = 400 };

/* The last text about another gateway with the same key that was logged, and when. */
struct contention_log {
    enum lft_link_contention noted;
    uint64_t noted_ns;
};

struct gateway {
    struct settings settings;
    struct io_settings io_settings;
    struct loop *loop;
    struct lft_link *link;
    struct io *io;
    struct relay *relay;
    struct nc_keeper *keeper; /* NULL: no act needs privilege */
    json_t *sandbox;          /* what nc_sandbox_enter said */
    struct router *router;    /* NULL in the proxy model: only the router and host models take over SYNs */
    struct proxy *proxies[PROXIES_MAX];
    unsigned proxies_n;
    struct pmtu pmtu;
    uint32_t payload_applied;
    struct health health;
    struct loop_source signals;
    uint8_t psk[LFT_PSK_BYTES];                                                           /* until the link has it */
    uint64_t handshakes_noted[HANDSHAKE_REASONS], handshakes_noted_ns[HANDSHAKE_REASONS]; /* note_handshakes */
    struct contention_log contention;
    bool draining, busy;
    int64_t suspended_ns; /* by how much CLOCK_BOOTTIME was ahead of CLOCK_MONOTONIC */
    uint64_t started_ns, tick_ns, watch_ns, drain_until_ns, seen_datagrams;
};

/* contention.c */
/* Returns false, without a text, when no other gateway was seen for ten seconds. */
bool contention_text(const struct lft_link *link, uint64_t now_ns, char text[CONTENTION_TEXT_BYTES]);
/* Logs the text when it is new, and again every ten minutes. */
void contention_note(struct contention_log *log, const struct lft_link *link, uint64_t now_ns);

#endif
