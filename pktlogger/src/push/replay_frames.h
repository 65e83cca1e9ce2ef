/* The frames of a capture that are to be sent again: their places in the mapped file, and their capture times relative
 * to the first frame. Frames without an Ethernet header or without a time cannot be sent and are counted. */
#ifndef PL_REPLAY_FRAMES_H
#define PL_REPLAY_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

struct pl_replay_frame {
    const uint8_t *data;
    uint32_t captured, wire; /* octets beyond `captured` are sent as zeros */
};

struct pl_replay_frames {
    struct pl_replay_frame *at;
    uint64_t *due_ns; /* never decreasing: a frame that is out of order in the capture is due together with the frame
                       * before it */
    size_t n, room;
    uint32_t largest;
    uint64_t skipped; /* frames of other link types, without time, or longer than `longest` */
    uint64_t padded;  /* frames of which the capture holds only the beginning */
};

/* Reads the capture at [data, data + len), which must stay mapped. Frames longer than `longest` on the wire are left
 * out. Returns 0, or -1 with the error. pl_replay_frames_free is allowed after either. */
int pl_replay_frames_read(struct pl_replay_frames *frames, const char *file, const uint8_t *data, size_t len,
                          uint32_t longest, struct nc_error *error);
void pl_replay_frames_free(struct pl_replay_frames *frames);

#endif
