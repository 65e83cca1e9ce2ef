#include "closing_socket.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 of;
};
/* An answer of sock_diag(7). `room` is space for attributes that the kernel adds although nobody asked for them. */
union answer {
    struct nlmsghdr head;
    struct {
        struct nlmsghdr head;
        struct inet_diag_msg found;
    } socket;
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
    } error;
    char room[4096];
};

static void put_end(const struct sockaddr_storage *end, __be16 *port, __be32 at[4])
{
    if (end->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)end;
        *port = v6->sin6_port;
        memcpy(at, &v6->sin6_addr, 16);
    } else {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)end;
        *port = v4->sin_port;
        memcpy(at, &v4->sin_addr, 4);
    }
}

static bool ask(int fd, struct question *question, uint16_t type, uint16_t flags, union answer *answer)
{
    question->head =
        (struct nlmsghdr){.nlmsg_len = sizeof *question, .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | flags};
    return send(fd, question, sizeof *question, 0) == (ssize_t)sizeof *question &&
           recv(fd, answer, sizeof *answer, 0) >= (ssize_t)sizeof answer->error;
}

static bool over(const union answer *answer)
{
    if (answer->head.nlmsg_type != SOCK_DIAG_BY_FAMILY || answer->head.nlmsg_len < sizeof answer->socket)
        return false;
    unsigned state = answer->socket.found.idiag_state;
    return state == TCP_TIME_WAIT || state == TCP_LAST_ACK || state == TCP_CLOSING;
}

bool closing_socket_destroy(const struct sockaddr_storage *local, const struct sockaddr_storage *remote)
{
    struct question question = {
        .of = {.sdiag_family = (__u8)local->ss_family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u}};
    struct inet_diag_sockid *id = &question.of.id;
    union answer answer = {0};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    put_end(local, &id->idiag_sport, id->idiag_src);
    put_end(remote, &id->idiag_dport, id->idiag_dst);
    id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    bool ended = fd >= 0 && ask(fd, &question, SOCK_DIAG_BY_FAMILY, 0, &answer) && over(&answer);
    if (ended) { /* the cookie identifies exactly this socket */
        memcpy(id->idiag_cookie, answer.socket.found.id.idiag_cookie, sizeof id->idiag_cookie);
        ended = ask(fd, &question, SOCK_DESTROY, NLM_F_ACK, &answer) && answer.head.nlmsg_type == NLMSG_ERROR &&
                answer.error.error.error == 0;
    }
    if (fd >= 0)
        close(fd);
    return ended;
}
