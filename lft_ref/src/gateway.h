/* The gateway put together: loop, link, io, relays, health. `main.c` and `control.c` use it; nothing below knows of it.
 * A turn: wait (epoll) → receive all datagrams → stream events and relay → transmit all batches → sleep until the link, the relay, the path MTU
 * search or the second's tick wants to go on. Under load the loop sleeps `poll` between turns, so that datagrams and socket reads
 * come in batches: a wake-up a packet costs more than the packet. */
#ifndef LFT_GATEWAY_H
#define LFT_GATEWAY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "settings.h"

struct gateway;
struct control;

/* NULL with *status (nc_exit) and a one-line reason. */
struct gateway *gateway_open(const struct settings *settings, int *status, char *why, size_t why_size);
void gateway_close(struct gateway *gateway);
/* Runs until a signal on signal_fd or gateway_stop, then drains. */
void gateway_run(struct gateway *gateway, int signal_fd);

json_t *gateway_state(const struct gateway *gateway); /* CONTROL.md */
json_t *gateway_ready(const struct gateway *gateway);
/* Changes one setting of a running gateway: rate, rate-mode, host-rate, redundancy, bypass. 0, or -1 with a reason; `apply` false: check only. */
int gateway_set(struct gateway *gateway, const char *key, const char *value, bool apply, char *why, size_t why_size);
/* stop: end after `drain_ns` at most. */
void gateway_drain(struct gateway *gateway, uint64_t drain_ns);

#endif
