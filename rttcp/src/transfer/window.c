/* How the TCP window itself is set to W; setting a buffer is not enough, because the kernel offers only a part of it.
 *
 * 1. The listener's SO_RCVBUF is about 2 W. This switches autotuning off, and the connection begins with an offer of
 *    about W, because the kernel offers half of the buffer (recent kernels, such as 6.18, without a cap at 64 KB).
 *    The kernel never takes an offer back. SO_RCVBUF is at least 256 KB, so that the window scale is 1 or more: with
 *    scale 0 Linux rounds the offer down to a multiple of the MSS (__tcp_select_window), so that 8 KB would become
 *    4,300. Setting TCP_WINDOW_CLAMP on the listener would have the same effect.
 * 2. After accept, SO_RCVBUF grows to 4 W, because the whole memory of a packet is charged to it, and TCP_WINDOW_CLAMP
 *    becomes W.
 * 3. Recent kernels (seen on 6.18) recompute the clamp from SO_RCVBUF whenever their estimate of payload per memory
 *    changes (tcp_measure_rcv_mss). This undoes step 2 at the first full-sized segment and sometimes later. So the
 *    receiving loop checks the clamp after every recv() and sets it again; the results count this
 *    (window_clamp_resets).
 * 4. The excess over W that steps 1 and 3 offered has to be used up, so the sender begins by sending one window at a
 *    time (opening.c).
 * 5. Root of a user namespace may not set buffers beyond net.core.rmem_max. It sets the namespace's net.ipv4.tcp_rmem
 *    instead, and the listener begins with 4 W. In this case TCP_WINDOW_CLAMP on the listener keeps the first offer at
 *    W. The clamp does not make the scale 0 here: such windows exceed half of rmem_max, so their scale is 1 or more.
 *    Scale, offer and buffers are the same as for root.
 * Rejected: a buffer sized so that the kernel's share of it is W. The share depends on packet sizes and changes.
 * Rejected: a window in the route (`ip route … window W`). It needs a route that we may change, and it has scale 0,
 * too. */
#include "window.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nc_quantity.h"

/* Bytes of receive or send buffer for each byte of window. The kernel's first estimate is 3.94. */
#define MEMORY_A_WINDOW 4
/* extra room for unsent data, so that a short window does not make the send queue short */
#define UNSENT_SLACK (UINT64_C(1) << 20)
#define BEGIN_A_WINDOW 2 /* bytes of buffer for each byte of window at the listener, which offers half of its buffer */
/* a quarter of the buffer is then at least 64 KB, so the window scale is 1 or more */
#define BUFFER_MIN (UINT64_C(256) << 10)
#define BUFFER_MAX ((UINT64_C(1) << 31) - 65536) /* socket buffers are int */

static uint64_t share_of(uint64_t factor, uint64_t window)
{
    return factor * window < BUFFER_MIN ? BUFFER_MIN : factor * window;
}

/* The socket's current buffer, as getsockopt reports it. */
static uint64_t buffer_of(int fd, int option)
{
    int got = 0;
    getsockopt(fd, SOL_SOCKET, option, &got, &(socklen_t){sizeof got});
    return (uint64_t)got;
}

/* Sets the buffer to `bytes` as getsockopt reports it (the kernel doubles the given value), beyond the kernel's limit
 * if privileged. Returns the resulting size. */
static uint64_t set_buffer(int fd, int option, uint64_t bytes)
{
    int half = (int)((bytes > BUFFER_MAX ? BUFFER_MAX : bytes) / 2);
    int force_option = option == SO_RCVBUF ? SO_RCVBUFFORCE : SO_SNDBUFFORCE;
    if (setsockopt(fd, SOL_SOCKET, force_option, &half, sizeof half) < 0)
        setsockopt(fd, SOL_SOCKET, option, &half, sizeof half);
    return buffer_of(fd, option);
}

/* Returns the size that set_buffer would reach. It tries this on a new socket, because the given one may already have a
 * larger buffer. */
static uint64_t settable(int option, uint64_t bytes)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    uint64_t got = fd < 0 ? 0 : set_buffer(fd, option, bytes);
    if (fd >= 0)
        close(fd);
    return got;
}

/* Returns true when the socket began with a buffer of `bytes` that set_buffer could not reach; then it keeps the buffer
 * and switches autotuning off. Root of a user namespace may not exceed net.core.rmem_max, but may set the initial
 * buffer of its sockets in net.ipv4.tcp_rmem. */
static bool keeps_buffer(int fd, int option, uint64_t bytes)
{
    if (buffer_of(fd, option) < bytes || settable(option, bytes) >= bytes)
        return false;
    int locks = 0;
    getsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &locks, &(socklen_t){sizeof locks});
    locks |= option == SO_RCVBUF ? SOCK_RCVBUF_LOCK : SOCK_SNDBUF_LOCK; /* no autotuning, as after SO_RCVBUF */
    return setsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &locks, sizeof locks) == 0;
}

static int set_clamp(int fd, uint64_t window_bytes)
{
    int clamp = (int)window_bytes;
    return setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof clamp);
}

static int refuse(uint64_t window, uint64_t got, uint64_t need, const char *which, uint64_t share,
                  struct nc_error *error)
{
    char wanted[32], most[32];
    nc_quantity_format(NC_UNIT_BYTES, window, wanted, sizeof wanted);
    nc_quantity_format(NC_UNIT_BYTES, got / share / 1024 * 1024, most, sizeof most);
    if (need > BUFFER_MAX)
        return nc_fail(error, NC_EXIT_USAGE, "--window %s: beyond the kernel's largest socket buffer; the most is %s",
                       wanted, most);
    return nc_fail(error, NC_EXIT_USAGE,
                   "--window %s: beyond the kernel's limit %s on the %s; the most is %s; run as root or "
                   "`sysctl -w net.core.%s=%" PRIu64 "` there",
                   wanted, which, which[0] == 'r' ? "receiver" : "sender", got < BUFFER_MIN ? "0" : most, which,
                   (need + 1) / 2);
}

int rttcp_window_reserve(int fd, uint64_t window_bytes, struct nc_error *error)
{
    uint64_t need = share_of(MEMORY_A_WINDOW, window_bytes);
    if (keeps_buffer(fd, SO_RCVBUF, need)) /* beyond rmem_max: the window is long enough for a scale of 1 or more */
        return set_clamp(fd, window_bytes);
    uint64_t got = set_buffer(fd, SO_RCVBUF, need);
    if (got < need)
        return refuse(window_bytes, got, need, "rmem_max", MEMORY_A_WINDOW, error);
    set_buffer(fd, SO_RCVBUF,
               share_of(BEGIN_A_WINDOW, window_bytes)); /* there is room for the window, although the buffer itself
                                                         * begins small */
    return 0;
}

/* The kernel charges a packet's whole memory to the buffer, 2,280 bytes for 1,448 of data, and wakes the writer when a
 * third of the buffer is free. With a buffer of 2 W and single packets, the flight stayed below W from W = 3 MB on, at
 * 8 MB by a tenth. Unsent data have a limit of their own; otherwise super-packets would fill the buffer with three
 * windows of unsent data. */
int rttcp_window_sndbuf(int fd, uint64_t window_bytes, struct nc_error *error)
{
    uint64_t wanted = MEMORY_A_WINDOW * window_bytes + UNSENT_SLACK;
    int unsent = (int)(window_bytes + UNSENT_SLACK);
    uint64_t got = keeps_buffer(fd, SO_SNDBUF, wanted) ? wanted : set_buffer(fd, SO_SNDBUF, wanted);
    if (got < 2 * window_bytes)
        return refuse(window_bytes, got, 2 * window_bytes, "wmem_max", 2, error);
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
    return 0;
}

uint64_t rttcp_window_clamp(int fd)
{
    int clamp = 0;
    getsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, &(socklen_t){sizeof clamp});
    return (uint64_t)clamp;
}

int rttcp_window_set(int fd, uint64_t window_bytes, struct nc_error *error)
{
    uint64_t need = share_of(MEMORY_A_WINDOW, window_bytes);
    if (!keeps_buffer(fd, SO_RCVBUF, need))
        set_buffer(fd, SO_RCVBUF, need);
    if (set_clamp(fd, window_bytes) < 0)
        return nc_fail(error, NC_EXIT_USAGE, "--window %" PRIu64 ": %s", window_bytes, strerror(errno));
    if (rttcp_window_clamp(fd) != window_bytes)
        return nc_fail(error, NC_EXIT_USAGE, "--window %" PRIu64 ": the kernel made it %" PRIu64, window_bytes,
                       rttcp_window_clamp(fd));
    return 0;
}

bool rttcp_window_hold(int fd, uint64_t window_bytes)
{
    if (rttcp_window_clamp(fd) == window_bytes)
        return false;
    set_clamp(fd, window_bytes);
    return true;
}

uint64_t rttcp_window_granted(uint64_t window_bytes, uint64_t scale)
{
    uint64_t step = UINT64_C(1) << scale;
    return (window_bytes + step - 1) / step * step;
}

/* Reads one line of a file in /proc, without its newline. */
static void read_line(const char *path, char *out, int size)
{
    FILE *file = fopen(path, "re");
    out[0] = '\0';
    if (!file)
        return;
    if (fgets(out, size, file))
        out[strcspn(out, "\n")] = '\0';
    fclose(file);
}

int rttcp_congestion_set(int fd, const char *name, struct nc_error *error)
{
    char allowed[200], path[80], hint[80] = " (more: modprobe tcp_NAME)";
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) == 0)
        return 0;
    bool privilege = errno == EPERM;
    const char *which = privilege ? "tcp_allowed_congestion_control" : "tcp_available_congestion_control";
    snprintf(path, sizeof path, "/proc/sys/net/ipv4/%s", which);
    read_line(path, allowed, sizeof allowed);
    /* "where the data are sent": with --reverse that is not the end that has the option */
    if (strncmp(name, "lfp_", 4) == 0)
        snprintf(hint, sizeof hint, " (where the data are sent: rttcp cc load %.15s)", name);
    return nc_fail(error, privilege ? NC_EXIT_MISSING : NC_EXIT_USAGE, "--congestion '%s': %s; net.ipv4.%s: %s%s", name,
                   privilege ? "needs root here" : "the kernel has none of this name", which, allowed,
                   privilege ? "" : hint);
}
