/* The loop that sends. It waits for the next due time, asks the schedule which packets are due, and passes them to the
 * port in one batch. If the loop is late, it catches up and so keeps the rate; `punctuality` records the effect on the
 * gaps.
 *
 * It sleeps until `spin_ns` before a due time and then polls the clock until the due time, because a sleep is late by
 * tens of microseconds. In virtual time spin_ns must be 0, because a process that polls stops the clock. */
#ifndef PL_PUSHER_H
#define PL_PUSHER_H

#include "port.h"
#include "punctuality.h"
#include "schedule.h"
#include "sizes.h"

struct pl_pusher {
    struct pl_port *port;
    struct pl_schedule schedule;             /* started by pl_pusher_run */
    struct pl_sizes sizes;                   /* sizes of generated packets */
    const struct pl_replay_frames *replayed; /* or the frames to replay */
    uint64_t *sequences;                     /* next number of each flow */
    uint64_t spin_ns;
    int priority;     /* priority of SCHED_RR; 0: an ordinary process */
    uint64_t lead_ns; /* SO_TXTIME: how long before its due time a packet is passed to the kernel */
    /* results */
    struct pl_punctuality punctuality;
    uint64_t bytes; /* octets of IP packets, or of frames with their link headers */
    bool interrupted;
};

/* Sends everything; SIGINT and SIGTERM end it early. `signal_fd` comes from nc_program_open_signals. Returns 0, or -1
 * with the error. */
int pl_pusher_run(struct pl_pusher *pusher, int signal_fd, struct nc_error *error);

#endif
