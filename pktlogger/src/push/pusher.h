/* The loop that sends: it waits for the next due time, asks the schedule what is due, and gives that to the port in one
 * batch. After a delay of its own it catches up, so that the rate holds; `punctuality` says what that did to the gaps.
 *
 * It sleeps until `spin_ns` before a due time and then reads the clock until the time has come: a sleep is late by tens
 * of microseconds. In virtual time spin_ns must be 0, because a process that polls stops the clock. */
#ifndef PL_PUSHER_H
#define PL_PUSHER_H

#include "port.h"
#include "punctuality.h"
#include "schedule.h"
#include "sizes.h"

struct pl_pusher {
    struct pl_port *port;
    struct pl_schedule schedule;             /* started by pl_pusher_run */
    struct pl_sizes sizes;                   /* of packets that are made here */
    const struct pl_replay_frames *replayed; /* or the frames that are sent again */
    uint64_t *sequences;                     /* of each flow: its next number */
    uint64_t spin_ns;
    int priority;     /* of SCHED_RR; 0: an ordinary process */
    uint64_t lead_ns; /* SO_TXTIME: packets are handed over this long before they are due */
    /* results */
    struct pl_punctuality punctuality;
    uint64_t bytes; /* of IP packets, or of frames with their link headers */
    bool interrupted;
};

/* Sends everything; SIGINT and SIGTERM end it early. `signal_fd` is nc_program_open_signals'. Returns 0, or -1 with the
 * error. */
int pl_pusher_run(struct pl_pusher *pusher, int signal_fd, struct nc_error *error);

#endif
