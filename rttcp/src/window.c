/* Making the TCP window itself W, not a buffer of which the kernel offers a part.
 *
 * 1. The listener's SO_RCVBUF is about 2 W: that locks autotuning, and the connection begins with an offer of about W,
 *    because the kernel takes half of the buffer (recent kernels, 6.18 among them, without a cap at 64 KB) and never takes an offer back.
 *    But at least 256 KB, so that the window scale is 1 or more: with scale 0 Linux rounds what it offers down to a multiple
 *    of the MSS (__tcp_select_window): 8 KB would become 4,300. Setting TCP_WINDOW_CLAMP here would have that effect too.
 * 2. After accept, SO_RCVBUF grows to 4 W (a packet's whole memory is charged to it), and TCP_WINDOW_CLAMP = W.
 * 3. Recent kernels (seen on 6.18) recompute the clamp from SO_RCVBUF whenever its estimate of payload per memory changes
 *    (tcp_measure_rcv_mss), which undoes 2 at the first full-sized segment and now and then later. So the receiving loop
 *    looks after every recv() and sets it again; how often is in the results (window_clamp_resets).
 * 4. What was offered too much by 1 or 3 has to be used up: the sender begins a window at a time (transfer.c, "opening").
 * Rejected: a buffer sized so that the kernel's share of it is W; the share depends on packet sizes and changes.
 * Rejected: a window in the route (`ip route … window W`): needs the route to be ours, and has scale 0 too. */
#include "window.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "nc_quantity.h"

#define MEMORY_A_WINDOW 4                          /* buffer bytes a byte of window: the kernel's first estimate is 3.94 */
#define SNDBUF_SLACK (UINT64_C(1) << 20)           /* so that short windows do not mean short send queues */
#define BEGIN_A_WINDOW 2                           /* … and the share it offers at first */
#define BUFFER_MIN (UINT64_C(256) << 10)           /* even a quarter of it is 64 KB: the scale is 1 or more */
#define BUFFER_MAX ((UINT64_C(1) << 31) - 65536)   /* socket buffers are int */

static uint64_t share_of(uint64_t factor, uint64_t window)
{
    return factor * window < BUFFER_MIN ? BUFFER_MIN : factor * window;
}

/* Sets the buffer to `bytes` as getsockopt reports it (the kernel doubles what it is given); by force where privileged.
 * Returns what it became. */
static uint64_t set_buffer(int fd, int force_option, int option, uint64_t bytes)
{
    int half = (int)((bytes > BUFFER_MAX ? BUFFER_MAX : bytes) / 2), got = 0;
    if (setsockopt(fd, SOL_SOCKET, force_option, &half, sizeof half) < 0)
        setsockopt(fd, SOL_SOCKET, option, &half, sizeof half);
    getsockopt(fd, SOL_SOCKET, option, &got, &(socklen_t){sizeof got});
    return (uint64_t)got;
}

static int refuse(uint64_t window, uint64_t got, uint64_t need, const char *which, uint64_t share,
                  struct rttcp_error *error)
{
    char wanted[32], most[32];
    nc_quantity_format(NC_UNIT_BYTES, window, wanted, sizeof wanted);
    nc_quantity_format(NC_UNIT_BYTES, got / share / 1024 * 1024, most, sizeof most);
    if (need > BUFFER_MAX)
        return rttcp_fail(error, NC_EXIT_USAGE, "--window %s: beyond the kernel's largest socket buffer; the most is %s", wanted,
                          most);
    return rttcp_fail(error, NC_EXIT_USAGE,
                      "--window %s: beyond the kernel's limit %s on the %s; the most is %s; run as root or "
                      "`sysctl -w net.core.%s=%" PRIu64 "` there",
                      wanted, which, which[0] == 'r' ? "receiver" : "sender", got < BUFFER_MIN ? "0" : most, which,
                      (need + 1) / 2);
}

int rttcp_window_reserve(int fd, uint64_t window_bytes, struct rttcp_error *error)
{
    uint64_t need = share_of(MEMORY_A_WINDOW, window_bytes), got = set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, need);
    if (got < need)
        return refuse(window_bytes, got, need, "rmem_max", MEMORY_A_WINDOW, error);
    set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, share_of(BEGIN_A_WINDOW, window_bytes)); /* it could be enough: now small */
    return 0;
}

int rttcp_window_sndbuf(int fd, uint64_t window_bytes, struct rttcp_error *error)
{
    uint64_t got = set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, 2 * window_bytes + SNDBUF_SLACK);
    return got >= 2 * window_bytes ? 0 : refuse(window_bytes, got, 2 * window_bytes, "wmem_max", 2, error);
}

uint64_t rttcp_window_clamp(int fd)
{
    int clamp = 0;
    getsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, &(socklen_t){sizeof clamp});
    return (uint64_t)clamp;
}

int rttcp_window_set(int fd, uint64_t window_bytes, struct rttcp_error *error)
{
    int clamp = (int)window_bytes;
    set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, share_of(MEMORY_A_WINDOW, window_bytes));
    if (setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof clamp) < 0)
        return rttcp_fail(error, NC_EXIT_USAGE, "--window %d: %s", clamp, strerror(errno));
    if (rttcp_window_clamp(fd) != window_bytes)
        return rttcp_fail(error, NC_EXIT_USAGE, "--window %d: the kernel made it %" PRIu64, clamp, rttcp_window_clamp(fd));
    return 0;
}

bool rttcp_window_hold(int fd, uint64_t window_bytes)
{
    int clamp = (int)window_bytes;
    if (rttcp_window_clamp(fd) == window_bytes)
        return false;
    setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof clamp);
    return true;
}

uint64_t rttcp_window_granted(uint64_t window_bytes, uint64_t scale)
{
    uint64_t step = UINT64_C(1) << scale;
    return (window_bytes + step - 1) / step * step;
}

/* One line of /proc, without its newline. */
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

int rttcp_congestion_set(int fd, const char *name, struct rttcp_error *error)
{
    char allowed[200], path[80], hint[80] = " (more: modprobe tcp_NAME)";
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) == 0)
        return 0;
    bool privilege = errno == EPERM;
    const char *which = privilege ? "tcp_allowed_congestion_control" : "tcp_available_congestion_control";
    snprintf(path, sizeof path, "/proc/sys/net/ipv4/%s", which);
    read_line(path, allowed, sizeof allowed);
    if (strncmp(name, "lfp_", 4) == 0) /* with --reverse, who asks for it is not who sends */
        snprintf(hint, sizeof hint, " (where the data are sent: rttcp cc load %.15s)", name);
    return rttcp_fail(error, privilege ? NC_EXIT_MISSING : NC_EXIT_USAGE, "--congestion '%s': %s; net.ipv4.%s: %s%s", name,
                      privilege ? "needs root here" : "the kernel has none of this name", which, allowed, privilege ? "" : hint);
}
