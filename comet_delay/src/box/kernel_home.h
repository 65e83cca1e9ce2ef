/* The box with --home kernel: sch_comet in the virtual-time kernel moves the packets and decides about them, by the
 * same code (kernel_calls.h). This process still parses parameters and answers requests for parameters and
 * statistics. */
#ifndef COMET_KERNEL_HOME_H
#define COMET_KERNEL_HOME_H

#include "direction_view.h"
#include "record_file.h"

/* As in struct box_settings. */
struct kernel_home_settings {
    uint64_t seed, granularity_ns, memory_bytes;
};

/* Opens the box in the kernel. Returns a descriptor, which the ports need (port.h), or -1 with the error: most kernels
 * have no such box. */
int kernel_home_open(struct nc_error *error);

/* Creates the box in the kernel. Until then it drops all packets. `record`: NULL if nothing is recorded. Returns 0, or
 * -1 with the error. */
int kernel_home_start(int home, const struct kernel_home_settings *settings, struct record_file *record,
                      struct nc_error *error);

/* Applies both directions' parameters from `now_ns` on; 0: now. Returns 0, or -1 with the error. */
int kernel_home_set(int home, const struct params *const params[2], const struct models *const models[2],
                    uint64_t now_ns, struct nc_error *error);

/* The counts of both directions, and their time. */
int kernel_home_view(int home, struct direction_view views[2], uint64_t *now_ns);

#endif
