/* The control connection: framed JSON messages. A frame is a 32-bit big-endian length, 2 … 65536, and that many octets
 * of one JSON object with a "type". Everything waits with a deadline.
 * Rejected: JSON lines. A length first means that garbage is refused after four octets, before anything is parsed. */
#ifndef RTTCP_CONTROL_H
#define RTTCP_CONTROL_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define RTTCP_FRAME_HEADER 4
#define RTTCP_FRAME_MAX 65536

enum rttcp_frame { FRAME_MESSAGE, FRAME_INCOMPLETE, FRAME_BAD };

/* Decodes the frame at [at, end). FRAME_MESSAGE: *message is an object with a text "type", to be released, and *used
 * octets were taken. FRAME_BAD: a reason in `why`; the connection is of no more use. */
enum rttcp_frame rttcp_frame_decode(const uint8_t *at, const uint8_t *end, json_t **message, size_t *used, char *why,
                                    size_t why_size);

/* Encodes into buf, 4 + RTTCP_FRAME_MAX octets. Returns the octets used; asserts when the message is too large, because
 * what we say is bounded by design. */
size_t rttcp_frame_encode(const json_t *message, uint8_t *buf);

struct rttcp_control {
    int fd; /* connected, blocking */
    size_t held;
    uint8_t buf[RTTCP_FRAME_HEADER + RTTCP_FRAME_MAX];
};

enum rttcp_got { GOT_MESSAGE, GOT_NOTHING, GOT_CLOSED, GOT_BAD };

/* Sends and releases the message; waits until `deadline_ns` (CLOCK_MONOTONIC). 0 or -1. */
int rttcp_control_send(struct rttcp_control *control, json_t *message, uint64_t deadline_ns, struct rttcp_error *error);

/* The next message of any type. GOT_NOTHING: none until the deadline, or a signal came. Only GOT_BAD fills `error`. */
enum rttcp_got rttcp_control_poll(struct rttcp_control *control, uint64_t deadline_ns, json_t **message,
                                  struct rttcp_error *error);

/* The next message, which must be of this type: NULL with `error` for anything else. A peer's `refuse` or `abort`
 * becomes the error it carries. A stop that is requested meanwhile ends the wait. */
json_t *rttcp_control_expect(struct rttcp_control *control, const char *type, uint64_t deadline_ns,
                             struct rttcp_error *error);

/* Turns a message that nobody expected here into an error. */
int rttcp_control_unexpected(const json_t *message, const char *wanted, struct rttcp_error *error);

#endif
