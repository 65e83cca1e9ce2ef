/* Captures at several points at once. The capturing thread polls all handles and pushes their packets into one ring;
 * the writing thread empties the ring into the files. So when a disk stalls, the ring fills first. When it is full,
 * packets are lost and counted. Both threads sleep on kernel events; neither polls a clock. Without a ring the
 * capturing thread writes itself, for disks that cannot stall and machines with one processor. */
#ifndef PL_CAPTURE_H
#define PL_CAPTURE_H

#include "point.h"

struct pl_capture_limits {
    uint64_t duration_ns; /* 0: until a signal */
    uint64_t packets;     /* limits over all points together; 0: no limit */
};

struct pl_capture;

/* Lines that come from `fd` are comments of every point (pl_output_comment), at the time when they are read. Call it
 * before pl_capture_run. */
void pl_capture_comments(struct pl_capture *capture, int fd);

/* Prepares ring and thread; with a ring of 0 bytes there are none. Switches the kernel's packet timestamps on. Blocks
 * SIGINT and SIGTERM, which are then accepted only while waiting for packets. Returns NULL with a one-line reason. Call
 * it before the points are opened, because the timestamps take a moment to begin. */
struct pl_capture *pl_capture_new(struct pl_point *points, size_t n, uint64_t ring_bytes, struct nc_error *error);

/* Runs until a limit, a signal, the end of every point, or a failed write. It then takes everything that the kernel had
 * stamped before that moment, within a bounded time. Returns 0, or -1 with errno of the failed write. */
int pl_capture_run(struct pl_capture *capture, const struct pl_capture_limits *limits);

/* The start and the stop of the capture, CLOCK_REALTIME ns. */
void pl_capture_span(const struct pl_capture *capture, int64_t *start_ns, int64_t *stop_ns);

void pl_capture_free(struct pl_capture *capture);

#endif
