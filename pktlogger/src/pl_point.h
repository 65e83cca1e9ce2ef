/* One capture point: an interface in a namespace, its libpcap handle and its file. */
#ifndef PL_POINT_H
#define PL_POINT_H

#include <pcap/pcap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pl_writer.h"

#define PL_POINT_TIMEOUT_MS 10 /* a partly filled kernel block is handed over after this */
#define PL_POINTS_MAX 16

struct pl_point_settings {
    const char *filter, *comment;
    uint64_t snap_bytes, buffer_bytes;
};

struct pl_point {
    char interface[64];
    const char *netns;          /* as given after '@'; NULL: the tool's own */
    int netns_fd;               /* -1: the tool's own */
    pcap_t *pcap;
    int poll_fd;
    struct pl_writer writer;
    uint64_t interface_drops_before;
    uint64_t ring_drops;        /* no room between the capturing and the writing thread */
    bool over;                  /* no more packets wanted or to be had */
    char lost[PCAP_ERRBUF_SIZE];/* why the interface stopped giving packets; empty: it did not */
};

/* Opens `spec` (NAME[@NETNS]): handle active, filter set, file made. An enum nc_exit; other than 0 with a one-line
 * reason. pl_point_close is allowed after either. */
int pl_point_open(struct pl_point *point, const char *spec, const char *file, const struct pl_point_settings *settings,
                  char *why, size_t why_size);

/* Packets dropped so far: by the kernel's ring, by the interface. */
void pl_point_drops(struct pl_point *point, uint64_t *kernel, uint64_t *interface);

void pl_point_close(struct pl_point *point);

#endif
