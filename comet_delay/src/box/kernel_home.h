/* The box's other home: sch_comet in the kernel of virtual time moves the packets and decides about them, by the same code
 * (kernel_calls.h). This process still parses the texts and answers requests for parameters and statistics. */
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

/* Creates the box there. Until then it drops all packets. `record`: NULL where nothing is recorded. -1 with the
 * error. */
int kernel_home_start(int home, const struct kernel_home_settings *settings, struct record_file *record,
                      struct nc_error *error);

/* Puts both directions' parameters into force, from `now_ns` on; 0: now. -1 with the error. */
int kernel_home_set(int home, const struct params *const params[2], const struct models *const models[2],
                    uint64_t now_ns, struct nc_error *error);

/* What both directions have counted, and when. */
int kernel_home_view(int home, struct direction_view views[2], uint64_t *now_ns);

#endif
