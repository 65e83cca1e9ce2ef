/* Captures at several points at once. The capturing thread polls all handles and pushes what they give into one ring;
 * the writing thread empties the ring into the files. A disk that stalls thus costs ring space first, packets last, and
 * what it costs is counted. Both threads sleep on kernel events; neither ever polls a clock. */
#ifndef PL_CAPTURE_H
#define PL_CAPTURE_H

#include "pl_point.h"

struct pl_capture_limits {
    uint64_t duration_ns; /* 0: until a signal */
    uint64_t packets;     /* of all points together; 0: no limit */
};

struct pl_capture;

/* Blocks SIGINT and SIGTERM (they are taken only while waiting for packets), switches the kernel's packet timestamps on
 * and prepares ring and thread. NULL with a one-line reason. Call before the points are opened: timestamps take a moment. */
struct pl_capture *pl_capture_new(struct pl_point *points, size_t n, uint64_t ring_bytes, char *why, size_t why_size);

/* Runs until a limit, a signal, the end of every point, or a failed write. Then everything that the kernel had stamped
 * before that moment is taken over, within a bounded time. 0, or -1 with errno of the failed write. */
int pl_capture_run(struct pl_capture *capture, const struct pl_capture_limits *limits);

/* CLOCK_REALTIME ns of start and stop. */
void pl_capture_span(const struct pl_capture *capture, int64_t *start_ns, int64_t *stop_ns);

void pl_capture_free(struct pl_capture *capture);

#endif
