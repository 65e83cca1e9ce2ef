/* The box at work: two ports, two directions, one thread.
 *
 * Theory of operation. One clock reading a turn is passed down to everything. A turn reads what waits at both ports, sends
 * what is due, then sleeps. Waking up for every packet is what costs most, so a turn that found work is followed by
 * a plain sleep of `poll_ns`, and only a turn that found none arms the ports as wake-ups (as NAPI does with interrupts). At low load
 * every arrival therefore wakes the box at once; under load it turns every `poll_ns`, which bounds the error of the
 * arrival time and the lateness of departures. Departures carry theoretical times: lateness never accumulates.
 * `spin_ns` before a wake-up time the box stops sleeping and watches the clock.
 * Rejected: one thread a direction (two cores are all that many machines have, and the sender and the receiver want
 * them), and epoll (four descriptors). */
#ifndef COMET_BOX_H
#define COMET_BOX_H

#include <stdbool.h>

#include "direction.h"
#include "nc_clock.h"
#include "port.h"

enum { BOX_CLIENTS_MAX = 8 };

struct box;

struct box_settings {
    uint64_t poll_ns, spin_ns, granularity_ns, memory_bytes, duration_ns, seed, mtu;
};

/* Opens ports and control socket. Returns NULL and an exit status with a one-line reason when it cannot. */
struct box *box_open(const struct box_settings *settings, const char *port_a, const char *port_b, const char *control_path,
                     const struct params params[2], int *status, char *why, size_t why_size);
void box_close(struct box *box);

/* Until SIGINT, SIGTERM (which the caller has blocked and handed in as a signalfd) or the duration is over. */
void box_run(struct box *box, int signal_fd);

/* Parameters, statistics and verdict, as `show` prints them. */
json_t *box_json(struct box *box);

/* Ports and clocks, as `ready` prints them. */
json_t *box_ready_json(const struct box *box);

/* Replaces both directions' parameters at once, or nothing: -1 with a reason when memory would not do. */
int box_set(struct box *box, const struct params params[2], char *why, size_t why_size);
const struct params *box_params(const struct box *box, unsigned direction);

#endif
