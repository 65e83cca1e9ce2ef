/* Implements capture.h.
 *
 * Timestamps: an AF_PACKET socket uses the time at which the kernel stamped the packet, if it did, and otherwise reads
 * the clock when it gets the packet. The kernel stamps packets only while some socket asks for it, so one idle socket
 * with SO_TIMESTAMPNS is kept open. Each packet is then stamped once, when it enters, and every capture on the
 * interface shows the same nanosecond. TCP received over a bare veth pair is an exception: in such a packet the stamp's
 * field holds the sending TCP's departure time, which the kernel does not use as a stamp. There each capture reads the
 * clock itself, one right after the other. The times differ by less than 1 us in the median, and by tens of us where
 * another process takes the CPU. */
#include "capture.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "nc_clock.h"
#include "comments.h"
#include "handing.h"
#include "nc_log.h"

enum { BATCH = 1024, ROUNDS = 64, WAIT_MS = 50, DRAIN_MS = 4 * PL_POINT_TIMEOUT_MS };

struct pl_capture {
    struct pl_point *points;
    size_t n;
    struct pl_handing *handing;
    int stamp_fd;
    sigset_t waiting_mask; /* signal mask from before pl_capture_new */
    uint64_t pushed, packet_limit;
    struct pl_comments comments;
    int64_t start_ns, stop_ns; /* realtime; stop_ns INT64_MAX while running */
};

/* The argument of pcap_dispatch: a point of a capture. */
struct sink {
    struct pl_capture *capture;
    uint32_t point;
};

static volatile sig_atomic_t stop_requested;

/* A second signal has its default action: it ends the process at once. */
static void on_signal(int number)
{
    (void)number;
    stop_requested = 1;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

static void take_signals(struct pl_capture *capture)
{
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &both, &capture->waiting_mask);
    sigdelset(&capture->waiting_mask, SIGINT);
    sigdelset(&capture->waiting_mask, SIGTERM);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Begins a new file if one is due, before a packet whose block has `bytes`. If the ring is full, the file begins a
 * little later. */
static void rotate_if_due(struct pl_capture *capture, uint32_t number, int64_t t_ns, uint64_t bytes)
{
    struct pl_point *point = &capture->points[number];
    const struct pl_rotation *rotation = &point->output.rotation;
    bool full = rotation->bytes && point->file_bytes && point->file_bytes + bytes > rotation->bytes;
    bool over = rotation->interval_ns && t_ns >= point->file_end_ns;
    if (full || over) {
        struct pl_drop_counts drops = pl_point_drops(point);
        const struct pl_entry entry = {.t_ns = t_ns, .point = number, .kind = PL_ENTRY_ROTATION};
        if (!pl_handing_take(capture->handing, &entry, &drops, sizeof drops))
            return;
        point->file_bytes = 0;
    }
    if (over) { /* files end at multiples of the interval, even if no packet came for several intervals */
        int64_t interval_ns = (int64_t)rotation->interval_ns;
        point->file_end_ns += ((t_ns - point->file_end_ns) / interval_ns + 1) * interval_ns;
    }
    point->file_bytes += bytes;
}

static void on_packet(u_char *argument, const struct pcap_pkthdr *header, const u_char *data)
{
    const struct sink *sink = (const struct sink *)(void *)argument;
    struct pl_capture *capture = sink->capture;
    struct pl_point *point = &capture->points[sink->point];
    int64_t t_ns = (int64_t)header->ts.tv_sec * (int64_t)NC_NS_PER_S + header->ts.tv_usec; /* nanosecond precision */
    if (t_ns > capture->stop_ns) {
        point->over = true;
        return;
    }
    if (capture->packet_limit && capture->pushed >= capture->packet_limit)
        return;
    uint32_t captured = pl_data_cut_bytes(&point->cut, header, data);
    if (pl_rotates(&point->output.rotation))
        rotate_if_due(capture, sink->point, t_ns, pl_writer_block_bytes(captured));
    const struct pl_entry entry = {.t_ns = t_ns, .point = sink->point, .captured = captured, .wire = header->len};
    if (pl_handing_take(capture->handing, &entry, data, captured))
        capture->pushed++;
    else
        point->ring_drops++;
}

/* Takes the packets that the handles hold, a bounded batch of each in turn. Returns the number of packets. */
static uint64_t take_packets(struct pl_capture *capture)
{
    uint64_t taken = 0, now_ns = nc_now_ns();
    bool more = true;
    for (int round = 0; more && round < ROUNDS; round++) {
        more = false;
        for (size_t i = 0; i < capture->n; i++) {
            struct pl_point *point = &capture->points[i];
            struct sink sink = {capture, (uint32_t)i};
            if (point->over)
                continue;
            int got = pcap_dispatch(point->pcap, BATCH, on_packet, (u_char *)&sink);
            pl_point_took(point, got, now_ns);
            taken += got > 0 ? (uint64_t)got : 0;
            more = more || got >= BATCH;
        }
        if (taken)
            pl_handing_wake(capture->handing);
    }
    return taken;
}

/* Gives a comment to every point. */
static void take_comment(void *owner, const char *text)
{
    struct pl_capture *capture = owner;
    int64_t now_ns = (int64_t)nc_clock_pair_read().realtime_ns;
    size_t bytes = strlen(text) + 1;
    for (size_t i = 0; i < capture->n; i++) {
        const struct pl_entry entry = {.t_ns = now_ns, .point = (uint32_t)i, .kind = PL_ENTRY_COMMENT};
        if (!pl_handing_take(capture->handing, &entry, text, bytes)) {
            nc_log("no room for the comment '%.100s'; see --ring", text);
            return;
        }
        capture->points[i].file_bytes += bytes;
    }
    pl_handing_wake(capture->handing);
}

static void wait_for_packets(const struct pl_capture *capture, int64_t wait_ns, const sigset_t *mask)
{
    struct pollfd fds[PL_POINTS_MAX + 1];
    nfds_t n = 0;
    if (capture->comments.fd >= 0)
        fds[n++] = (struct pollfd){.fd = capture->comments.fd, .events = POLLIN};
    for (size_t i = 0; i < capture->n; i++)
        if (!capture->points[i].over)
            fds[n++] = (struct pollfd){.fd = capture->points[i].poll_fd, .events = POLLIN};
    struct timespec timeout = {.tv_sec = wait_ns / (int64_t)NC_NS_PER_S, .tv_nsec = wait_ns % (int64_t)NC_NS_PER_S};
    ppoll(fds, n, &timeout, mask); /* the caller notices errors and signals in other ways */
}

static bool all_over(const struct pl_capture *capture)
{
    for (size_t i = 0; i < capture->n; i++)
        if (!capture->points[i].over)
            return false;
    return true;
}

static bool finished(const struct pl_capture *capture, uint64_t deadline_ns)
{
    return stop_requested || nc_now_ns() >= deadline_ns || all_over(capture) || pl_handing_error(capture->handing) ||
           (capture->packet_limit && capture->pushed >= capture->packet_limit);
}

/* Takes everything that was stamped before the stop. It ends with a packet stamped later; or after a quiet time that is
 * longer than the kernel keeps a partly filled block; or at the time limit. It reads the clock before it looks for
 * packets, so that a thread that did not run meanwhile still looks once. */
static void drain(struct pl_capture *capture)
{
    capture->stop_ns = (int64_t)nc_clock_pair_read().realtime_ns;
    uint64_t now = nc_now_ns(), end = now + DRAIN_MS * NC_NS_PER_MS, quiet_end = now + PL_POINT_QUIET_MS * NC_NS_PER_MS;
    while (!all_over(capture) && now < end && now < quiet_end) {
        wait_for_packets(capture, (int64_t)((end < quiet_end ? end : quiet_end) - now), NULL);
        now = nc_now_ns(); /* read the clock before the packets: time in which this thread did not run then counts as
                            * waiting */
        if (take_packets(capture))
            quiet_end = now + PL_POINT_QUIET_MS * NC_NS_PER_MS;
    }
}

int pl_capture_run(struct pl_capture *capture, const struct pl_capture_limits *limits)
{
    uint64_t deadline_ns = limits->duration_ns ? nc_now_ns() + limits->duration_ns : UINT64_MAX;
    capture->packet_limit = limits->packets;
    while (!finished(capture, deadline_ns)) {
        uint64_t left_ns = deadline_ns - nc_now_ns(), most_ns = WAIT_MS * NC_NS_PER_MS;
        wait_for_packets(capture, (int64_t)(left_ns < most_ns ? left_ns : most_ns), &capture->waiting_mask);
        take_packets(capture);
        pl_comments_read(&capture->comments, take_comment, capture);
    }
    pl_comments_read(&capture->comments, take_comment, capture);
    pthread_sigmask(SIG_SETMASK, &capture->waiting_mask, NULL); /* from here on a further signal ends the process */
    drain(capture);
    pl_handing_end(capture->handing);
    errno = pl_handing_error(capture->handing);
    return errno ? -1 : 0;
}

static int open_stamping_socket(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1; /* without this socket times are only less exact: each capture reads the clock itself, microseconds
                * apart */
}

struct pl_capture *pl_capture_new(struct pl_point *points, size_t n, uint64_t ring_bytes, struct nc_error *error)
{
    struct pl_capture *capture = calloc(1, sizeof *capture);
    if (!capture) {
        nc_fail(error, NC_EXIT_MISSING, "out of memory");
        return NULL;
    }
    *capture = (struct pl_capture){.points = points, .n = n, .stop_ns = INT64_MAX, .comments.fd = -1};
    capture->stamp_fd = open_stamping_socket();
    take_signals(capture);
    capture->start_ns = (int64_t)nc_clock_pair_read().realtime_ns;
    capture->handing = pl_handing_new(points, ring_bytes, error);
    if (capture->handing)
        return capture;
    pl_capture_free(capture);
    return NULL;
}

void pl_capture_comments(struct pl_capture *capture, int fd)
{
    capture->comments.fd = fd;
}

void pl_capture_span(const struct pl_capture *capture, int64_t *start_ns, int64_t *stop_ns)
{
    *start_ns = capture->start_ns;
    *stop_ns = capture->stop_ns;
}

void pl_capture_free(struct pl_capture *capture)
{
    if (!capture)
        return;
    pl_handing_free(capture->handing);
    if (capture->stamp_fd >= 0)
        close(capture->stamp_fd);
    free(capture);
}
