/* Implements point.h. A socket belongs to the namespace in which it was made, so the thread enters the namespace
 * only to open the point and to read the interface's own counters. */
#include "point.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nc_clock.h"
#include "nc_log.h"
#include "nc_netns.h"

/* Enters the point's namespace. Returns the previous one for leave(), -1 when the point is in the tool's own namespace,
 * -2 with errno on failure. */
static int enter(const struct pl_point *point)
{
    if (point->netns_fd < 0)
        return -1;
    int previous = nc_netns_enter(point->netns_fd);
    return previous < 0 ? -2 : previous;
}

static void leave(int previous)
{
    if (previous >= 0)
        nc_netns_leave(previous);
}

/* The frames lost in the interface or its driver. Rejected: ps_ifdrop of pcap_stats. libpcap reads it from /sys, and
 * the mounted /sys belongs to a namespace that may not be the socket's. */
static uint64_t interface_drops(const struct pl_point *point)
{
    struct ifaddrs *list;
    uint64_t drops = 0;
    if (getifaddrs(&list) < 0)
        return 0;
    for (const struct ifaddrs *entry = list; entry; entry = entry->ifa_next)
        if (entry->ifa_addr && entry->ifa_addr->sa_family == AF_PACKET && entry->ifa_data &&
            strcmp(entry->ifa_name, point->interface) == 0) {
            const struct rtnl_link_stats *stats = entry->ifa_data;
            drops = (uint64_t)stats->rx_missed_errors + stats->rx_fifo_errors;
        }
    freeifaddrs(list);
    return drops;
}

static int activate(struct pl_point *point, const struct pl_point_settings *settings, struct nc_error *error)
{
    char errors[PCAP_ERRBUF_SIZE] = "";
    point->pcap = pcap_create(point->interface, errors);
    if (!point->pcap)
        return nc_fail(error, NC_EXIT_MISSING, "--interface '%s': %s", point->interface, errors);
    pcap_set_snaplen(point->pcap, (int)pl_snap_largest(&settings->snap));
    pcap_set_promisc(point->pcap, 0);
    pcap_set_timeout(point->pcap, PL_POINT_TIMEOUT_MS);
    pcap_set_buffer_size(point->pcap, (int)settings->buffer_bytes);
    pcap_set_tstamp_precision(point->pcap, PCAP_TSTAMP_PRECISION_NANO);
    int status = pcap_activate(point->pcap);
    if (status == PCAP_ERROR_PERM_DENIED || status == PCAP_ERROR_PROMISC_PERM_DENIED)
        return nc_fail(error, NC_EXIT_MISSING,
                       "--interface '%s': no privilege to capture; run as root or give CAP_NET_RAW", point->interface);
    if (status == PCAP_ERROR_NO_SUCH_DEVICE)
        return nc_fail(error, NC_EXIT_MISSING, "--interface '%s': no such interface in %s%s; 'ip link' lists them",
                       point->interface, point->netns ? "namespace " : "this namespace",
                       point->netns ? point->netns : "");
    if (status == PCAP_ERROR_IFACE_NOT_UP)
        return nc_fail(error, NC_EXIT_MISSING, "--interface '%s': is down; 'ip link set %s up' first", point->interface,
                       point->interface);
    if (status < 0)
        return nc_fail(error, NC_EXIT_MISSING, "--interface '%s': %s", point->interface, pcap_geterr(point->pcap));
    if (pcap_datalink(point->pcap) == DLT_LINUX_SLL) /* the interface `any`: SLL2 records each packet's interface */
        pcap_set_datalink(point->pcap, DLT_LINUX_SLL2);
    return 0;
}

/* Sets a filter even when none is given, because the filter makes the kernel cut packets to the snap length before it
 * copies them. Otherwise super-packets of 64 KB would fill the ring with payload. */
static int set_filter(struct pl_point *point, const struct pl_point_settings *settings, struct nc_error *error)
{
    struct bpf_program program;
    if (pl_data_cut_open(&point->cut, point->pcap, point->interface, &settings->snap, error) < 0)
        return -1;
    if (pl_snap_filter(point->pcap, settings->filter, &settings->snap, &program, error) < 0)
        return -1;
    int status = pcap_setfilter(point->pcap, &program);
    free(program.bf_insns);
    if (status < 0)
        return nc_fail(error, NC_EXIT_MISSING, "--filter '%.200s': %s", settings->filter ? settings->filter : "",
                       pcap_geterr(point->pcap));
    return 0;
}

static int open_file(struct pl_point *point, const char *file, const struct pl_point_settings *settings,
                     struct nc_error *error)
{
    snprintf(point->description, sizeof point->description, "%s in network namespace %s", point->interface,
             point->netns ? point->netns : "of the capturing process");
    struct pl_writer_info info = {
        .interface = point->interface,
        .description = point->description,
        .filter = settings->filter,
        .comment = settings->comment,
        .linktype = (uint16_t)pcap_datalink(point->pcap),
        .snap_bytes = pl_snap_largest(&settings->snap),
        .keep = true,
        .uncached = settings->uncached,
    };
    if (info.linktype == DLT_RAW) /* the only link type here whose DLT_ and LINKTYPE_ numbers differ */
        info.linktype = 101;
    int64_t now_ns = (int64_t)nc_clock_pair_read().realtime_ns;
    point->file_end_ns = settings->rotation.interval_ns ? now_ns + (int64_t)settings->rotation.interval_ns : INT64_MAX;
    return pl_output_open(&point->output, file, &info, &settings->rotation, now_ns, error);
}

static int open_in_namespace(struct pl_point *point, const struct pl_point_settings *settings, struct nc_error *error)
{
    int previous = enter(point);
    if (previous == -2)
        return nc_fail(error, NC_EXIT_MISSING, "--interface '%s@%s': cannot enter the namespace: %s", point->interface,
                       point->netns, strerror(errno));
    int status = activate(point, settings, error);
    if (status == 0)
        point->interface_drops_before = interface_drops(point);
    leave(previous);
    return status;
}

int pl_point_open(struct pl_point *point, const char *spec, const char *file, const struct pl_point_settings *settings,
                  struct nc_error *error)
{
    char why[PCAP_ERRBUF_SIZE];
    *point = (struct pl_point){.netns_fd = -1, .output.writer.fd = -1};
    if (nc_netns_split(spec, point->interface, sizeof point->interface, &point->netns) < 0)
        return nc_fail(error, NC_EXIT_USAGE, "--interface '%.80s': want NAME or NAME@NETNS", spec);
    if (point->netns && (point->netns_fd = nc_netns_open(point->netns, error)) < 0) {
        error->status = NC_EXIT_MISSING;
        return -1;
    }
    if (open_in_namespace(point, settings, error) < 0 || set_filter(point, settings, error) < 0)
        return -1;
    if (pcap_setnonblock(point->pcap, 1, why) < 0)
        return nc_fail(error, NC_EXIT_MISSING, "--interface '%s': %.200s", point->interface, why);
    if (open_file(point, file, settings, error) < 0)
        return -1;
    point->poll_fd = pcap_get_selectable_fd(point->pcap);
    return 0;
}

void pl_point_took(struct pl_point *point, int got, uint64_t now_ns)
{
    if (got < 0 && !point->lost[0]) {
        snprintf(point->lost, sizeof point->lost, "%s", pcap_geterr(point->pcap));
        point->lost_ns = now_ns;
    }
    if (point->lost[0] && now_ns - point->lost_ns >= PL_POINT_QUIET_MS * NC_NS_PER_MS)
        point->over = true;
}

struct pl_drop_counts pl_point_drops(struct pl_point *point)
{
    struct pcap_stat stats;
    struct pl_drop_counts drops = {.ring = point->ring_drops};
    drops.kernel = pcap_stats(point->pcap, &stats) == 0 ? stats.ps_drop : 0;
    int previous = enter(point);
    uint64_t now = previous == -2 ? 0 : interface_drops(point);
    leave(previous);
    drops.interface = now > point->interface_drops_before ? now - point->interface_drops_before : 0;
    return drops;
}

void pl_point_close(struct pl_point *point)
{
    if (point->pcap)
        pcap_close(point->pcap);
    if (point->netns_fd >= 0)
        close(point->netns_fd);
    pl_output_abort(&point->output);
    pl_data_cut_close(&point->cut);
}
