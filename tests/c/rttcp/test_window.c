/* The window on a kernel that limits it. The functions below replace the socket calls. */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "check.h"
#include "window.h"

static struct {
    bool privileged;
    int limit; /* net.core.rmem_max and wmem_max */
    int rcvbuf, sndbuf, unsent, clamp, locks;
} kernel;
static int other_socket; /* the buffer size of all descriptors except 0 */

int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    int n = *(const int *)value;
    (void)size;
    if (name == SO_BUF_LOCK && level == SOL_SOCKET)
        return kernel.locks = n, 0;
    if (level == IPPROTO_TCP && name == TCP_NOTSENT_LOWAT)
        return kernel.unsent = n, 0;
    if (level == IPPROTO_TCP && name == TCP_WINDOW_CLAMP)
        return kernel.clamp = n, 0;
    bool force = name == SO_RCVBUFFORCE || name == SO_SNDBUFFORCE;
    if (force && !kernel.privileged) {
        errno = EPERM;
        return -1;
    }
    n = !force && n > kernel.limit ? kernel.limit : n;
    bool receiving = name == SO_RCVBUF || name == SO_RCVBUFFORCE;
    *(fd ? &other_socket : receiving ? &kernel.rcvbuf : &kernel.sndbuf) = 2 * n;
    return 0;
}

int getsockopt(int fd, int level, int name, void *restrict value, socklen_t *restrict size)
{
    (void)size;
    int buffer = fd ? other_socket : name == SO_RCVBUF ? kernel.rcvbuf : kernel.sndbuf;
    *(int *)value = level == IPPROTO_TCP ? kernel.clamp : name == SO_BUF_LOCK ? kernel.locks : buffer;
    return 0;
}

static void refused_without_privilege(void)
{
    struct nc_error error = {0};
    kernel.privileged = false;
    kernel.limit = 212992;
    CHECK_EQ(rttcp_window_reserve(0, 104 << 10, &error), 0);
    CHECK_EQ(rttcp_window_reserve(0, 105 << 10, &error), -1);
    CHECK_EQ(error.status, NC_EXIT_USAGE);
    CHECK_STR(error.text, "--window 105KB: beyond the kernel's limit rmem_max on the receiver; the most is 104KB; "
                          "run as root or `sysctl -w net.core.rmem_max=215040` there");
    CHECK_EQ(rttcp_window_sndbuf(0, 208 << 10, &error), 0);
    CHECK_EQ(rttcp_window_sndbuf(0, 209 << 10, &error), -1);
    CHECK(strstr(error.text, "--window 209KB") && strstr(error.text, "wmem_max on the sender; the most is 208KB"));
    kernel.limit = 215040; /* as the advice said */
    CHECK_EQ(rttcp_window_reserve(0, 105 << 10, &error), 0);
}

static void root_is_bound_by_the_largest_buffer_only(void)
{
    struct nc_error error = {0};
    kernel.privileged = true;
    CHECK_EQ(rttcp_window_reserve(0, 511 << 20, &error), 0);
    CHECK_EQ(rttcp_window_reserve(0, 1 << 30, &error), -1);
    CHECK(strstr(error.text, "--window 1GB: beyond the kernel's largest socket buffer"));
}

/* The buffer begins small, so that the first offer is small. After accept it gets its size and its clamp. */
static void small_first_then_room(void)
{
    struct nc_error error = {0};
    kernel.privileged = true;
    CHECK_EQ(rttcp_window_reserve(0, 1 << 20, &error), 0);
    CHECK_EQ(kernel.rcvbuf, 2 << 20);
    CHECK_EQ(rttcp_window_set(0, 1 << 20, &error), 0);
    CHECK_EQ(kernel.rcvbuf, 4 << 20);
    CHECK_EQ(kernel.clamp, 1 << 20);
    CHECK(!rttcp_window_hold(0, 1 << 20));
    kernel.clamp = 3 << 20; /* the kernel moved it */
    CHECK(rttcp_window_hold(0, 1 << 20));
    CHECK_EQ(kernel.clamp, 1 << 20);
}

/* The sockets of a namespace may begin with a larger buffer than an ordinary user could set. Then the buffer is kept,
 * and not tuned. */
static void a_buffer_from_the_namespace_is_kept(void)
{
    struct nc_error error = {0};
    kernel.privileged = false;
    kernel.limit = 212992;
    kernel.rcvbuf = 4 << 20;
    kernel.sndbuf = 5 << 20;
    kernel.clamp = kernel.locks = 0;
    CHECK_EQ(rttcp_window_reserve(0, 1 << 20, &error), 0);
    CHECK_EQ(kernel.rcvbuf, 4 << 20);
    CHECK_EQ(kernel.clamp, 1 << 20); /* otherwise the first offer would be 2 MB */
    CHECK_EQ(kernel.locks, SOCK_RCVBUF_LOCK);
    CHECK_EQ(rttcp_window_set(0, 1 << 20, &error), 0);
    CHECK_EQ(kernel.rcvbuf, 4 << 20);
    CHECK_EQ(rttcp_window_sndbuf(0, 1 << 20, &error), 0);
    CHECK_EQ(kernel.sndbuf, 5 << 20);
    CHECK_EQ(kernel.unsent, 2 << 20);
    CHECK_EQ(kernel.locks, SOCK_RCVBUF_LOCK | SOCK_SNDBUF_LOCK);
}

/* If the size can be set, it is set as usual: the first offer is small whatever the socket began with. */
static void a_window_below_the_limit_is_set(void)
{
    struct nc_error error = {0};
    kernel.privileged = false;
    kernel.limit = 212992;
    kernel.rcvbuf = 4 << 20;
    CHECK_EQ(rttcp_window_reserve(0, 64 << 10, &error), 0);
    CHECK_EQ(kernel.rcvbuf, 256 << 10);
}

static void granted_is_a_multiple_of_the_scale(void)
{
    CHECK_EQ(rttcp_window_granted(8192, 2), 8192);
    CHECK_EQ(rttcp_window_granted(8193, 2), 8196);
    CHECK_EQ(rttcp_window_granted(1000001, 14), 1015808);
}

int main(void)
{
    RUN(refused_without_privilege);
    RUN(root_is_bound_by_the_largest_buffer_only);
    RUN(small_first_then_room);
    RUN(a_buffer_from_the_namespace_is_kept);
    RUN(a_window_below_the_limit_is_set);
    RUN(granted_is_a_multiple_of_the_scale);
    return 0;
}
