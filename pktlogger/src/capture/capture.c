/* Implements capture.h.
 *
 * Timestamps: an AF_PACKET socket uses the time at which the kernel stamped the packet, if it did, and otherwise reads
 * the clock when it gets the packet. The kernel stamps packets only while some socket wants that, so one idle socket
 * with SO_TIMESTAMPNS is kept open. Each packet is then stamped once, when it enters, and every capture on the
 * interface shows the same nanosecond. TCP received over a bare veth pair is an exception: such a packet carries the
 * sending TCP's departure time in the place of the stamp, which the kernel rightly does not use as one. There each
 * capture reads the clock itself, one right after the other. The times differ by less than 1 us in the median, and by
 * tens of us where another process takes the CPU. */
#include "capture.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "nc_clock.h"
#include "comments.h"
#include "nc_log.h"
#include "ring.h"

enum { BATCH = 1024, ROUNDS = 64, WAIT_MS = 50, DRAIN_MS = 4 * PL_POINT_TIMEOUT_MS };

/* What goes into files, in the ring or at once: this header, then `captured` bytes of a packet, or, where a new file begins, the drops so far
 * (struct pl_drop_counts), or the text of a comment with its end. */
enum entry_kind { ENTRY_PACKET, ENTRY_ROTATION, ENTRY_COMMENT };
struct ring_entry {
    int64_t t_ns;
    uint32_t point, captured, wire, kind;
};

struct pl_capture {
    struct pl_point *points;
    size_t n;
    struct pl_ring *ring;
    int wake_fd; /* eventfd: the ring has new entries, or the capture has ended */
    int stamp_fd;
    pthread_t writer;
    bool writer_runs;
    atomic_bool ended;      /* set by the capturing thread after its last entry */
    atomic_int write_error; /* set by the writing thread */
    sigset_t waiting_mask;  /* signal mask from before pl_capture_new */
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

/* The second signal has the default action and ends the process at once. */
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

static void write_entry(struct pl_capture *capture, const struct ring_entry *entry, const void *data)
{
    struct pl_output *output = &capture->points[entry->point].output;
    if (entry->kind == ENTRY_ROTATION)
        pl_output_rotate(output, entry->t_ns, data);
    else if (entry->kind == ENTRY_COMMENT)
        pl_output_comment(output, entry->t_ns, data);
    else
        pl_output_packet(output, entry->t_ns, data, entry->captured, entry->wire);
    if (output->writer.error)
        atomic_store(&capture->write_error, output->writer.error);
}

static void write_entries(struct pl_capture *capture)
{
    size_t len;
    for (const struct ring_entry *entry; (entry = pl_ring_peek(capture->ring, &len)); pl_ring_release(capture->ring))
        write_entry(capture, entry, entry + 1);
}

static void *writer_main(void *argument)
{
    struct pl_capture *capture = argument;
    for (bool last = false; !last;) {
        uint64_t ignored;
        if (read(capture->wake_fd, &ignored, sizeof ignored) < 0 && errno != EINTR)
            break;
        last = atomic_load(&capture->ended); /* read before emptying: the ring then holds the last entry */
        write_entries(capture);
    }
    return NULL;
}

static void wake_writer(struct pl_capture *capture)
{
    uint64_t one = 1;
    if (!capture->writer_runs)
        return;
    if (write(capture->wake_fd, &one, sizeof one) < 0)
        return; /* the counter is at its limit, so the writer is awake anyway */
}

static void end_writer(struct pl_capture *capture)
{
    if (!capture->writer_runs)
        return;
    atomic_store(&capture->ended, true);
    wake_writer(capture);
    pthread_join(capture->writer, NULL);
    capture->writer_runs = false;
}

/* Hands `len` bytes to the writing thread. False when the ring is full. */
static bool hand_over(struct pl_capture *capture, const struct ring_entry *entry, const void *data, size_t len)
{
    if (!capture->ring) {
        write_entry(capture, entry, data);
        return true;
    }
    struct ring_entry *place = pl_ring_reserve(capture->ring, sizeof *place + len);
    if (!place)
        return false;
    *place = *entry;
    memcpy(place + 1, data, len);
    pl_ring_commit(capture->ring, sizeof *place + len);
    return true;
}

/* Begins a new file in front of a packet whose block has `bytes`, where it is time. A full ring only puts it off. */
static void rotate_if_due(struct pl_capture *capture, uint32_t number, int64_t t_ns, uint64_t bytes)
{
    struct pl_point *point = &capture->points[number];
    const struct pl_rotation *rotation = &point->output.rotation;
    bool full = rotation->bytes && point->file_bytes && point->file_bytes + bytes > rotation->bytes;
    bool over = rotation->interval_ns && t_ns >= point->file_end_ns;
    if (full || over) {
        struct pl_drop_counts drops = pl_point_drops(point);
        const struct ring_entry entry = {.t_ns = t_ns, .point = number, .kind = ENTRY_ROTATION};
        if (!hand_over(capture, &entry, &drops, sizeof drops))
            return;
        point->file_bytes = 0;
    }
    if (over) { /* the ends of files are multiples of the interval, however long nothing came */
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
    if (pl_rotates(&point->output.rotation))
        rotate_if_due(capture, sink->point, t_ns, pl_writer_block_bytes(header->caplen));
    const struct ring_entry entry = {
        .t_ns = t_ns, .point = sink->point, .captured = header->caplen, .wire = header->len};
    if (hand_over(capture, &entry, data, header->caplen))
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
            wake_writer(capture);
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
        const struct ring_entry entry = {.t_ns = now_ns, .point = (uint32_t)i, .kind = ENTRY_COMMENT};
        if (!hand_over(capture, &entry, text, bytes)) {
            nc_log("no room for the comment '%.100s'; see --ring", text);
            return;
        }
        capture->points[i].file_bytes += bytes;
    }
    wake_writer(capture);
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
    ppoll(fds, n, &timeout, mask); /* the caller notices errors and signals by other means */
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
    return stop_requested || nc_now_ns() >= deadline_ns || all_over(capture) || atomic_load(&capture->write_error) ||
           (capture->packet_limit && capture->pushed >= capture->packet_limit);
}

/* Takes everything stamped before the stop. It ends with a packet stamped later, after a quiet time longer than the
 * kernel keeps a partly filled block, or at the time limit; a thread that did not run meanwhile still looks once. */
static void drain(struct pl_capture *capture)
{
    capture->stop_ns = (int64_t)nc_clock_pair_read().realtime_ns;
    uint64_t now = nc_now_ns(), end = now + DRAIN_MS * NC_NS_PER_MS, quiet_end = now + PL_POINT_QUIET_MS * NC_NS_PER_MS;
    while (!all_over(capture) && now < end && now < quiet_end) {
        wait_for_packets(capture, (int64_t)((end < quiet_end ? end : quiet_end) - now), NULL);
        now = nc_now_ns(); /* before the packets: where this thread did not run for a while, they count as waited for */
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
    end_writer(capture);
    errno = atomic_load(&capture->write_error);
    return errno ? -1 : 0;
}

static int open_stamping_socket(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1; /* less exact only: every capture then reads the clock itself, microseconds apart */
}

static bool begin_writer(struct pl_capture *capture, uint64_t ring_bytes, struct nc_error *error)
{
    uint64_t capacity = 1 << 20; /* rounded up to a power of two */
    while (capacity < ring_bytes)
        capacity *= 2;
    capture->wake_fd = eventfd(0, EFD_CLOEXEC);
    capture->ring = pl_ring_create(capacity);
    if (capture->ring && capture->wake_fd >= 0)
        capture->writer_runs = pthread_create(&capture->writer, NULL, writer_main, capture) == 0;
    if (!capture->writer_runs)
        nc_fail(error, NC_EXIT_MISSING, "cannot set up the ring of %llu bytes: %s; see --ring",
                (unsigned long long)capacity, strerror(errno));
    return capture->writer_runs;
}

struct pl_capture *pl_capture_new(struct pl_point *points, size_t n, uint64_t ring_bytes, struct nc_error *error)
{
    struct pl_capture *capture = calloc(1, sizeof *capture);
    if (!capture) {
        nc_fail(error, NC_EXIT_MISSING, "out of memory");
        return NULL;
    }
    *capture = (struct pl_capture){.points = points, .n = n, .stop_ns = INT64_MAX, .comments.fd = -1, .wake_fd = -1};
    capture->stamp_fd = open_stamping_socket();
    take_signals(capture);
    capture->start_ns = (int64_t)nc_clock_pair_read().realtime_ns;
    if (ring_bytes == 0 || begin_writer(capture, ring_bytes, error))
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
    end_writer(capture);
    if (capture->ring)
        pl_ring_destroy(capture->ring);
    if (capture->wake_fd >= 0)
        close(capture->wake_fd);
    if (capture->stamp_fd >= 0)
        close(capture->stamp_fd);
    free(capture);
}
