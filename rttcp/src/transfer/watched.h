/* The TCP connections of any program of this network namespace, by sock_diag(7): builds the request, and decodes the
 * answers into samples of tcpinfo.h. An answer holds the values that the connection's own program would get by
 * getsockopt(2): TCP_INFO, TCP_CC_INFO and SO_MEMINFO. Decoding reads no clock and makes no system call. Malformed
 * messages are counted and dropped. Rejected: a separate request for each known connection; the search for new ones
 * would be needed as well. */
#ifndef RTTCP_WATCHED_H
#define RTTCP_WATCHED_H

#include <stddef.h>
#include <stdint.h>

#include "tcpinfo.h"

#define RTTCP_WATCHED_MAX 1024 /* connections; samples of further ones are counted and dropped */

struct rttcp_watched {
    struct rttcp_samples samples;
    /* the kernel's cookie of each connection, in the order in which connections were first seen */
    uint64_t cookies[RTTCP_WATCHED_MAX];
    uint32_t n;
    uint64_t malformed;
};

enum rttcp_answer {
    RTTCP_ANSWER_MORE,    /* further messages follow */
    RTTCP_ANSWER_DONE,    /* the answer is complete */
    RTTCP_ANSWER_REFUSED, /* the kernel has refused the request */
};

/* Writes the request for connections with `port` at either end to `out`, of RTTCP_QUESTION_BYTES. `family`: AF_INET or
 * AF_INET6. Returns its length. */
#define RTTCP_QUESTION_BYTES 128
size_t rttcp_watched_ask(uint8_t *out, uint8_t family, uint16_t port);

/* Reads the messages in [at, end), which arrived at `now_ns`, and adds their samples. `refused`: the kernel's errno. */
enum rttcp_answer rttcp_watched_read(struct rttcp_watched *watched, uint64_t now_ns, const uint8_t *at,
                                     const uint8_t *end, int *refused);

#endif
