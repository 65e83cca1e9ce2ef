/* The box: two ports, two directions, and one or two threads that move their packets (lane.h). What is here is called from
 * the control thread (serve.h) only; it pauses the threads where it looks at or changes what is theirs. */
#ifndef COMET_BOX_H
#define COMET_BOX_H

#include <stdbool.h>

#include "direction.h"
#include "lane.h"
#include "nc_clock.h"
#include "port.h"

struct box;

struct box_settings {
    struct lane_settings lane;
    struct recorder_settings recorder;
    uint64_t granularity_ns, memory_bytes, duration_ns, seed, mtu;
    uint64_t threads; /* 1, or 2: one a direction */
    int napi;         /* enum port_napi */
};

/* Opens the ports. Returns NULL and an exit status with a one-line reason when it cannot. */
struct box *box_open(const struct box_settings *settings, const char *port_a, const char *port_b,
                     const struct params params[2], int *status, char *why, size_t why_size);
void box_close(struct box *box);

/* From box_start to box_stop packets move. -1 with a reason when there are no threads to be had. */
int box_start(struct box *box, char *why, size_t why_size);
void box_stop(struct box *box);

/* Parameters, statistics and verdict, as `show` prints them. */
json_t *box_json(struct box *box);

/* Ports and clocks, as `ready` prints them. */
json_t *box_ready_json(const struct box *box);

/* Replaces both directions' parameters at once, or nothing: -1 with a reason when memory would not do. */
int box_set(struct box *box, const struct params params[2], char *why, size_t why_size);
const struct params *box_params(const struct box *box, unsigned direction);

#endif
