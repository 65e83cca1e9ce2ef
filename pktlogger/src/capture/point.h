/* One capture point: an interface in a namespace, its libpcap handle and its file. */
#ifndef PL_POINT_H
#define PL_POINT_H

#include <pcap/pcap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"
#include "output.h"
#include "data_cut.h"
#include "snap_filter.h"

#define PL_POINT_TIMEOUT_MS 50                       /* the kernel delivers a partly filled block after this time */
#define PL_POINT_QUIET_MS (PL_POINT_TIMEOUT_MS + 20) /* after this long without packets, no block is on its way */
#define PL_POINTS_MAX 16

struct pl_point_settings {
    const char *filter, *comment;
    struct pl_snap snap;
    uint64_t buffer_bytes;
    struct pl_rotation rotation;
    bool uncached; /* pl_writer_info */
};

struct pl_point {
    char interface[64];
    const char *netns; /* as given after '@'; NULL: the tool's own */
    int netns_fd;      /* -1: the tool's own */
    pcap_t *pcap;
    int poll_fd;
    struct pl_data_cut cut;
    char description[256]; /* of the interface, for the files */
    struct pl_output output;
    uint64_t file_bytes; /* bytes of packet blocks that the capturing thread has given to the present file */
    int64_t file_end_ns; /* a packet from this time on begins a new file */
    uint64_t interface_drops_before;
    uint64_t ring_drops;         /* packets that the ring between the capturing and the writing thread had no room
                                    for */
    bool over;                   /* no more packets are wanted, or none will come */
    char lost[PCAP_ERRBUF_SIZE]; /* why the interface stopped delivering packets; "": it still delivers */
    uint64_t lost_ns;            /* when it did, monotonic */
};

/* Opens the interface `spec` (NAME[@NETNS]), activates its handle, sets the filter and makes the file. Returns 0 or -1;
 * pl_point_close is allowed after either. */
int pl_point_open(struct pl_point *point, const char *spec, const char *file, const struct pl_point_settings *settings,
                  struct nc_error *error);

/* Call it after each attempt to take packets. `got`: what pcap_dispatch returned; below 0: the interface is gone. Its
 * last packets may be in a partly filled block, which the kernel still delivers. After that the point is over. */
void pl_point_took(struct pl_point *point, int got, uint64_t now_ns);

/* The packets dropped so far. */
struct pl_drop_counts pl_point_drops(struct pl_point *point);

void pl_point_close(struct pl_point *point);

#endif
