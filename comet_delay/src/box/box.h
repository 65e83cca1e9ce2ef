/* The box: two ports, two directions, and one or two workers that move their packets (worker.h). Only the control
 * thread (control_thread.h) calls these functions. They pause the workers to read or change state that the workers
 * own. */
#ifndef COMET_BOX_H
#define COMET_BOX_H

#include <stdbool.h>

#include "direction.h"
#include "worker.h"
#include "nc_clock.h"
#include "port.h"
#include "record_file.h"

struct box;

/* Where packets are moved: by workers of this process, or by the same code in the kernel (kernel_home.h). */
enum box_home { BOX_HOME_USER, BOX_HOME_KERNEL };

struct box_settings {
    struct worker_settings worker;
    struct record_settings record;
    uint64_t granularity_ns, memory_bytes, duration_ns, seed, mtu;
    uint64_t lateness_limit_ns; /* of the verdict (lateness.h) */
    uint64_t threads;           /* 1 for both directions, or 2: one for each */
    int napi;                   /* enum port_napi */
    int home;                   /* enum box_home */
};

/* Opens the ports. NULL with the error when it cannot. */
struct box *box_open(const struct box_settings *settings, const char *port_a, const char *port_b,
                     const struct params params[2], struct nc_error *error);
void box_close(struct box *box);

/* Packets move from box_start to box_stop. box_start returns -1 with the error when no thread can be created. */
int box_start(struct box *box, struct nc_error *error);
void box_stop(struct box *box);

/* Parameters, statistics and verdict, as `show` prints them. */
json_t *box_json(struct box *box);

/* Ports and clocks, as `ready` prints them. */
json_t *box_ready_json(const struct box *box);

/* Replaces both directions' parameters at once, or changes nothing and returns -1 with the error. */
int box_set(struct box *box, const struct params params[2], struct nc_error *error);
const struct params *box_params(const struct box *box, unsigned direction);

#endif
