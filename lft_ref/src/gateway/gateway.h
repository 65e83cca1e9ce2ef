/* The whole gateway: loop, link, tunnel socket, relays, health. `main.c` and the control socket use it.
 *
 * A turn: wait (epoll), receive all datagrams, handle stream events and relay, transmit all batches, then sleep until
 * the link, the relay, the search for the path MTU or the second's tick is due. Under load the loop rests between
 * turns (`--poll`), so that datagrams and socket reads are processed in batches: a wake-up for each packet costs more
 * than the packet. */
#ifndef LFT_GATEWAY_H
#define LFT_GATEWAY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "loop.h"
#include "nc_error.h"
#include "settings.h"

struct gateway;

/* NULL with the reason. */
struct gateway *gateway_open(const struct settings *settings, struct nc_error *error);
void gateway_close(struct gateway *gateway);
/* Drops the privileges that an open gateway does not need (lft-gateway(1), SECURITY). Returns 0, or -1 with the
 * reason. */
int gateway_confine(struct gateway *gateway, struct nc_error *error);
/* Removes the control socket's name. */
void gateway_remove_control(struct gateway *gateway);
/* Runs until a signal arrives on signal_fd or gateway_drain is called, then drains. */
void gateway_run(struct gateway *gateway, int signal_fd);
struct loop *gateway_loop(struct gateway *gateway);

json_t *gateway_state(const struct gateway *gateway); /* CONTROL.md */
json_t *gateway_ready(const struct gateway *gateway); /* what the `ready` event says */
/* Changes one setting of a running gateway: rate, rate-mode, host-rate, redundancy or bypass. `apply` false only
 * checks. Returns 0, or -1 with the reason. */
int gateway_set(struct gateway *gateway, const char *key, const char *value, bool apply, struct nc_error *error);
/* Stops taking new connections; the gateway exits when none is left, after `drain_ns` at the latest. */
void gateway_drain(struct gateway *gateway, uint64_t drain_ns);

#endif
