/* Options of the data sockets; sock.h has the interface. */
#include <errno.h>
#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nc_range.h"
#include "pacer.h"
#include "sock.h"
#include "window.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static int set_mss(int fd, uint64_t mss_bytes, struct nc_error *error)
{
    int mss = (int)mss_bytes;
    if (!mss || setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof mss) == 0)
        return 0;
    return nc_fail(error, NC_EXIT_USAGE, "--mss %d: %s; allowed is what the kernel takes, 88 to 32767", mss,
                   strerror(errno));
}

static int set_sending(int fd, const struct rttcp_params *params, struct nc_error *error)
{
    int one = 1;
    if (params->window_bytes && rttcp_window_sndbuf(fd, params->window_bytes, error) < 0)
        return -1;
    if (params->congestion[0] && rttcp_congestion_set(fd, params->congestion, error) < 0)
        return -1;
    if (params->nodelay)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return set_mss(fd, params->mss_bytes, error);
}

/* A receiver also sets the congestion control, if its kernel has it. A control such as DCTCP needs this: Linux accepts
 * ECN from an ECT SYN only at a listener with such a control, and the receiver must echo marks in the control's way. If
 * the kernel refuses the name, the results say which control ran (`congestion`). */
static int set_receiving(int fd, const struct rttcp_params *params, struct nc_error *error)
{
    struct nc_error ignored;
    if (params->congestion[0])
        rttcp_congestion_set(fd, params->congestion, &ignored);
    return params->window_bytes ? rttcp_window_reserve(fd, params->window_bytes, error) : 0;
}

/* With request and response both ends send.
 * Rejected: TCP_USER_TIMEOUT. Linux counts it from the first retransmission of a recovery. At 1 % loss with 40,000
 * packets in flight a recovery never ends, so the first RTO after that time would kill a connection that moves data.
 * transfer.c watches the progress instead. */
int rttcp_data_socket(int family, const struct rttcp_params *params, bool sending, struct nc_error *error)
{
    int tos = (int)params->dscp << 2;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, params->mptcp ? IPPROTO_MPTCP : 0);
    if (fd < 0 && params->mptcp)
        return nc_fail(error, NC_EXIT_MISSING, "--mptcp: %s; the kernel has no MPTCP, or net.mptcp.enabled is 0",
                       strerror(errno));
    if (fd < 0)
        return nc_fail(error, NC_EXIT_FAILED, "data socket: %s", strerror(errno));
    if (tos)
        setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof tos);
    if (tos && family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof tos);
    bool sends = sending || params->request_bytes;
    int status = sends ? set_sending(fd, params, error) : set_receiving(fd, params, error);
    if (status == 0)
        return fd;
    close(fd);
    return -1;
}

struct rttcp_pace rttcp_pace_of(int fd, const struct rttcp_params *params, uint64_t streams)
{
    int mss = 0;
    getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &(socklen_t){sizeof mss});
    struct rttcp_pace pace = {.mss = (uint64_t)mss};
    pace.bytes_per_s = params->pacing_bps ? params->pacing_bps / 8 : params->pacing_pps * pace.mss;
    if (pace.bytes_per_s)
        pace.bytes_per_s = nc_max(pace.bytes_per_s / streams, 1);
    return pace;
}

/* The kernel's pacing counts payload, so pps times the MSS gives exactly pps full segments per second. When the writes
 * are paced, a rate is set and then removed: the kernel then still paces, but by window and round-trip time only.
 * Without any pacing CUBIC's HyStart takes the bunched acknowledgements for a full path and ends slow start a window
 * earlier. */
static void set_pacing(int fd, const struct rttcp_params *params, uint64_t streams)
{
    struct rttcp_pace pace = rttcp_pace_of(fd, params, streams);
    uint64_t rate = pace.bytes_per_s, burst = params->pace_burst_bytes;
    int unsent = (int)nc_min(burst ? burst : rttcp_pacer_ahead(rate), INT_MAX), waiting = 0;
    if (rate == 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate);
    if (burst) {
        rate = UINT64_MAX;
        setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate);
    }
    getsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &waiting, &(socklen_t){sizeof waiting});
    if (waiting <= 0 || unsent < waiting) /* --window has set one, too */
        setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
}

int rttcp_data_established(int fd, const struct rttcp_params *params, bool sending, uint64_t streams,
                           struct nc_error *error)
{
    if (sending)
        set_pacing(fd, params, streams);
    else if (params->window_bytes)
        return rttcp_window_set(fd, params->window_bytes, error);
    return 0;
}
