/* Implements live_input.h. */
#include "live_input.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nc_clock.h"
#include "nc_netns.h"
#include "nc_program.h"
#include "nc_range.h"

enum { SNAP = 262144, TIMEOUT_MS = 10, BATCH = 4096, WAIT_MS = 100 };

struct pl_live {
    pcap_t *pcap;
    char interface[64];
    enum nc_link link;
    int signal_fd;
    /* of the run at hand */
    pl_live_reader *reader;
    void *context;
    uint64_t packets, packet_limit;
    bool reader_failed;
};

static int explain(struct pl_live *live, int status, struct nc_error *error)
{
    const char *why = pcap_geterr(live->pcap);
    if (status == PCAP_ERROR_PERM_DENIED || status == PCAP_ERROR_PROMISC_PERM_DENIED)
        why = "no privilege to capture; run as root or give CAP_NET_RAW";
    else if (status == PCAP_ERROR_NO_SUCH_DEVICE)
        why = "no such interface; 'ip link' lists them";
    else if (status == PCAP_ERROR_IFACE_NOT_UP)
        why = "is down; 'ip link set … up' first";
    return nc_fail(error, NC_EXIT_MISSING, "--interface '%s': %.200s", live->interface, why);
}

static int activate(struct pl_live *live, const struct pl_live_settings *settings, struct nc_error *error)
{
    char why[PCAP_ERRBUF_SIZE] = "";
    live->pcap = pcap_create(live->interface, why);
    if (!live->pcap)
        return nc_fail(error, NC_EXIT_MISSING, "--interface '%s': %.200s", live->interface, why);
    pcap_set_snaplen(live->pcap, SNAP);
    pcap_set_promisc(live->pcap, 0);
    pcap_set_timeout(live->pcap, TIMEOUT_MS);
    pcap_set_buffer_size(live->pcap, (int)settings->buffer_bytes);
    pcap_set_tstamp_precision(live->pcap, PCAP_TSTAMP_PRECISION_NANO);
    int status = pcap_activate(live->pcap);
    if (status < 0)
        return explain(live, status, error);
    if (pcap_setnonblock(live->pcap, 1, why) < 0)
        return nc_fail(error, NC_EXIT_MISSING, "--interface '%s': %.200s", live->interface, why);
    int linktype = pcap_datalink(live->pcap);
    if (linktype != DLT_EN10MB && linktype != DLT_RAW)
        return nc_fail(error, NC_EXIT_MISSING, "--interface '%s': carries neither Ethernet nor plain IP",
                       live->interface);
    live->link = linktype == DLT_EN10MB ? NC_LINK_ETHERNET : NC_LINK_RAW_IP;
    return 0;
}

static int set_filter(struct pl_live *live, const char *text, struct nc_error *error)
{
    struct bpf_program program;
    if (!text)
        return 0;
    if (pcap_compile(live->pcap, &program, text, 1, PCAP_NETMASK_UNKNOWN) < 0)
        return nc_fail(error, NC_EXIT_USAGE, "--filter '%.200s': %.200s; see pcap-filter(7)", text,
                       pcap_geterr(live->pcap));
    int status = pcap_setfilter(live->pcap, &program);
    pcap_freecode(&program);
    return status < 0 ? nc_fail(error, NC_EXIT_MISSING, "--filter '%.200s': %.200s", text, pcap_geterr(live->pcap)) : 0;
}

static int open_in_namespace(struct pl_live *live, const struct pl_live_settings *settings, struct nc_error *error)
{
    const char *netns;
    int fd = -1, previous = -1;
    if (nc_netns_split(settings->interface, live->interface, sizeof live->interface, &netns) < 0)
        return nc_fail(error, NC_EXIT_USAGE, "--interface '%.80s': want NAME or NAME@NETNS", settings->interface);
    if (netns && (fd = nc_netns_open(netns, error)) < 0) {
        error->status = NC_EXIT_MISSING;
        return -1;
    }
    if (netns && (previous = nc_netns_enter(fd)) < 0) {
        close(fd);
        return nc_fail(error, NC_EXIT_MISSING, "--interface '%.80s': cannot enter the namespace: %s",
                       settings->interface, strerror(errno));
    }
    int status = activate(live, settings, error);
    if (netns) {
        nc_netns_leave(previous);
        close(fd);
    }
    return status < 0 ? -1 : set_filter(live, settings->filter, error);
}

struct pl_live *pl_live_open(const struct pl_live_settings *settings, struct nc_error *error)
{
    struct pl_live *live = calloc(1, sizeof *live);
    if (!live) {
        nc_fail(error, NC_EXIT_MISSING, "out of memory");
        return NULL;
    }
    live->signal_fd = nc_program_open_signals();
    if (live->signal_fd < 0)
        nc_fail(error, NC_EXIT_MISSING, "cannot take signals: %s", strerror(errno));
    else if (open_in_namespace(live, settings, error) == 0)
        return live;
    pl_live_close(live);
    return NULL;
}

static void on_packet(u_char *argument, const struct pcap_pkthdr *header, const u_char *data)
{
    struct pl_live *live = (struct pl_live *)(void *)argument;
    if (live->reader_failed || (live->packet_limit && live->packets >= live->packet_limit))
        return;
    struct pl_live_packet packet = {
        .link = live->link,
        .data = data,
        .captured = header->caplen,
        .wire = header->len,
        .t_ns = (int64_t)header->ts.tv_sec * (int64_t)NC_NS_PER_S + header->ts.tv_usec, /* nanoseconds, as asked for */
    };
    live->packets++;
    live->reader_failed = !live->reader(live->context, &packet);
}

static bool over(const struct pl_live *live, uint64_t deadline_ns)
{
    return live->reader_failed || nc_now_ns() >= deadline_ns ||
           (live->packet_limit && live->packets >= live->packet_limit);
}

/* Waits for a packet or a signal. Returns true on a signal. */
static bool wait_for_packets(struct pl_live *live, uint64_t deadline_ns)
{
    struct pollfd fds[] = {{.fd = pcap_get_selectable_fd(live->pcap), .events = POLLIN},
                           {.fd = live->signal_fd, .events = POLLIN}};
    uint64_t now = nc_now_ns(), left_ms = deadline_ns > now ? (deadline_ns - now) / NC_NS_PER_MS + 1 : 0;
    poll(fds, 2, (int)nc_min(left_ms, WAIT_MS));
    return fds[1].revents != 0;
}

/* Takes the packets that the kernel still holds at the end, in a partly filled block. It holds one for up to
 * TIMEOUT_MS. */
static void drain(struct pl_live *live)
{
    uint64_t end_ns = nc_now_ns() + 3 * TIMEOUT_MS * NC_NS_PER_MS;
    struct pollfd fd = {.fd = pcap_get_selectable_fd(live->pcap), .events = POLLIN};
    while (!over(live, end_ns)) {
        poll(&fd, 1, TIMEOUT_MS);
        if (pcap_dispatch(live->pcap, BATCH, on_packet, (u_char *)live) < 0)
            return;
    }
}

int pl_live_run(struct pl_live *live, const struct pl_live_limits *limits, pl_live_reader *reader,
                void (*idle)(void *context), void *context, struct nc_error *error)
{
    uint64_t deadline_ns = limits->duration_ns ? nc_now_ns() + limits->duration_ns : UINT64_MAX;
    live->reader = reader;
    live->context = context;
    live->packet_limit = limits->packets;
    while (!over(live, deadline_ns)) {
        int got = pcap_dispatch(live->pcap, BATCH, on_packet, (u_char *)live);
        if (got < 0)
            return nc_fail(error, NC_EXIT_FAILED, "--interface '%s': %.200s", live->interface, pcap_geterr(live->pcap));
        if (got >= BATCH)
            continue;
        idle(context);
        if (wait_for_packets(live, deadline_ns))
            break;
    }
    drain(live);
    return live->reader_failed ? nc_fail(error, NC_EXIT_FAILED, "out of memory, or the pattern matcher failed") : 0;
}

uint64_t pl_live_drops(struct pl_live *live)
{
    struct pcap_stat stats;
    return pcap_stats(live->pcap, &stats) == 0 ? stats.ps_drop : 0;
}

void pl_live_close(struct pl_live *live)
{
    if (live->pcap)
        pcap_close(live->pcap);
    if (live->signal_fd >= 0)
        nc_program_close_signals(live->signal_fd);
    free(live);
}
