/* TCP_INFO by field name: a snapshot, its JSON, and a bounded series of samples.
 * Names are the kernel's without `tcpi_` (include/uapi/linux/tcp.h), followed by the unit where a field has one. The
 * kernel only appends to the struct, so fields are found by offset, and only fields that this kernel fills are
 * reported. Samples also have the congestion control's own values (TCP_CC_INFO), if it reports any: `cc_0` … `cc_4`, in
 * its own order; and the memory of the send queue and the size of the send buffer (SO_MEMINFO), `queued_bytes` and
 * `sndbuf_bytes`, because TCP_INFO does not show whether a program waits for room there. A sample of a sender whose
 * opening is over has the bytes sent in the opening (`opening_bytes`, transfer.h). Every sample has the bytes that the
 * program had to send and the kernel had not yet accepted (`waiting_bytes`). A sample of another program's socket
 * (watched.h) has neither of these two, which are unknown there, but `local_port` and `remote_port`. */
#ifndef RTTCP_TCPINFO_H
#define RTTCP_TCPINFO_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "nc_error.h"

#define RTTCP_TCPINFO_BYTES 320 /* a sample keeps this many bytes of the kernel's struct */
#define RTTCP_CC_WORDS 5        /* words of TCP_CC_INFO; bbr has the most */

struct rttcp_tcpinfo {
    uint64_t t_ns;   /* CLOCK_MONOTONIC */
    uint32_t filled; /* bytes that the kernel filled in */
    uint32_t stream; /* number of the stream; set by the caller */
    uint8_t raw[RTTCP_TCPINFO_BYTES];
    uint32_t cc[RTTCP_CC_WORDS], cc_words; /* the first cc_words are filled */
    uint32_t queued_bytes, sndbuf_bytes;   /* sndbuf_bytes 0: both are unknown */
    uint64_t opening_bytes, waiting_bytes; /* the stream's values of these names (transfer.h); set by the caller */
    uint16_t local_port, remote_port;      /* ports of another program's connection; 0: the socket is our own */
};

/* Takes a snapshot of TCP_INFO alone; false when the socket has none. */
bool rttcp_tcpinfo_take(int fd, struct rttcp_tcpinfo *info);

/* Adds the congestion control's words and the send queue's memory to a snapshot. */
void rttcp_tcpinfo_take_rest(int fd, struct rttcp_tcpinfo *info);

/* Returns the value of a field by its JSON name; 0 when this kernel does not have the field. */
uint64_t rttcp_tcpinfo_get(const struct rttcp_tcpinfo *info, const char *name);

/* Returns an object of all fields; `with_time` puts `t_ns` and `stream` first. */
json_t *rttcp_tcpinfo_encode(const struct rttcp_tcpinfo *info, bool with_time);

/* Samples in memory, in the order taken; beyond RTTCP_SAMPLES_MAX they are counted and dropped. */
#define RTTCP_SAMPLES_MAX (UINT64_C(1) << 20)
struct rttcp_samples {
    struct rttcp_sample_chunk *first, *last;
    uint64_t n, dropped;
};
void rttcp_samples_add(struct rttcp_samples *samples, const struct rttcp_tcpinfo *info);
/* Makes the file of an option empty; NULL with the reason. */
FILE *rttcp_file_open(const char *option, const char *path, struct nc_error *error);
/* Writes n series one after the other, one JSON object per line, and closes the file. `path`: its name. */
int rttcp_samples_write(const struct rttcp_samples *const *series, size_t n, FILE *file, const char *path,
                        struct nc_error *error);
void rttcp_samples_release(struct rttcp_samples *samples);

#endif
