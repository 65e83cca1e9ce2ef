#include "host_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* The most unsent octets in a socket towards a host; the rest waits in the tunnel's memory. */
enum { NOTSENT_LOWAT_BYTES = 256 << 10 };

void host_socket_prepare(int fd, uint32_t mark)
{
    const int on = 1, lowat = NOTSENT_LOWAT_BYTES;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &lowat, sizeof lowat);
    if (mark)
        setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof mark);
}

void host_socket_reset_on_close(int fd, bool on)
{
    const struct linger linger = {.l_onoff = on, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

int host_socket_make_transparent(int fd, int family)
{
    int on = 1;
    return family == AF_INET6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_TRANSPARENT, &on, sizeof on)
                              : setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &on, sizeof on);
}

struct lft_result host_socket_result(int error)
{
    static const struct {
        int error;
        enum lft_result_code code;
    } table[] = {
        {ECONNREFUSED, LFT_RESULT_REFUSED},
        {ETIMEDOUT, LFT_RESULT_TIMED_OUT},
        {ENETUNREACH, LFT_RESULT_NET_UNREACHABLE},
        {EHOSTUNREACH, LFT_RESULT_HOST_UNREACHABLE},
        {ECONNRESET, LFT_RESULT_RESET},
        {EACCES, LFT_RESULT_NOT_ALLOWED},
        {EPERM, LFT_RESULT_NOT_ALLOWED},
        {ENETDOWN, LFT_RESULT_NET_UNREACHABLE},
        {EHOSTDOWN, LFT_RESULT_HOST_UNREACHABLE},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].error == error)
            return (struct lft_result){.code = (uint8_t)table[i].code};
    return (struct lft_result){.code = LFT_RESULT_NO_RESOURCES};
}
