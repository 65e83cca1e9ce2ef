/* Delivers whole packets from an interface as they arrive, by libpcap, in one thread and without copying. The only ring
 * is the kernel's (`buffer_bytes`). Packets that find it full are counted and become gaps.
 * Rejected: a second ring and a writing thread, as in capture/. They bridge a disk that stalls. Here nothing is written,
 * and a second thread would only move bytes between two caches. */
#ifndef PL_LIVE_INPUT_H
#define PL_LIVE_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "nc_error.h"
#include "nc_packet.h"

struct pl_live_settings {
    const char *interface; /* NAME[@NETNS] */
    const char *filter;    /* of pcap-filter(7); NULL: none */
    uint64_t buffer_bytes;
};

struct pl_live_limits {
    uint64_t duration_ns, packets; /* 0: none */
};

struct pl_live_packet {
    enum nc_link link;
    const uint8_t *data; /* valid during the call */
    uint32_t captured, wire;
    int64_t t_ns;
};

/* Returns false if the reader failed; this ends the input. */
typedef bool pl_live_reader(void *context, const struct pl_live_packet *packet);

struct pl_live;

/* NULL with the error. */
struct pl_live *pl_live_open(const struct pl_live_settings *settings, struct nc_error *error);

/* Reads until a limit, SIGINT, SIGTERM or the end of the interface. `idle` is called whenever no packet is waiting, so
 * that output can be flushed. Returns 0, or -1 with the error when the interface went away or the reader failed. */
int pl_live_run(struct pl_live *live, const struct pl_live_limits *limits, pl_live_reader *reader,
                void (*idle)(void *context), void *context, struct nc_error *error);

/* Packets that passed the filter and found the ring full. */
uint64_t pl_live_drops(struct pl_live *live);

void pl_live_close(struct pl_live *live);

#endif
