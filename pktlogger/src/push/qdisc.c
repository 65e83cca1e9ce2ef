/* Implements qdisc.h over rtnetlink: finds the route's interface, then that interface's queueing disciplines. Under a
 * root `mq` each hardware queue has a discipline; all of them must be `fq`.
 * `etf` is refused: it needs CLOCK_TAI and an offset that its user configures, and neither can be guessed. */
#include "qdisc.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 32768 };

struct request {
    struct nlmsghdr head;
    union {
        struct rtmsg route;
        struct tcmsg discipline;
    } body;
    uint8_t attributes[64];
};

/* Visits the queueing disciplines of an interface. */
struct found {
    int index;
    bool any, all_fq;
    char other[32]; /* the first discipline that is not fq */
};

static int talk(int fd, const struct request *request)
{
    return send(fd, request, request->head.nlmsg_len, 0) < 0 ? -1 : 0;
}

/* The interface of the route to `to`; 0 with errno. */
static unsigned route_interface(int fd, const struct sockaddr_storage *to)
{
    bool v6 = to->ss_family == AF_INET6;
    const void *address = v6 ? (const void *)&((const struct sockaddr_in6 *)to)->sin6_addr
                             : (const void *)&((const struct sockaddr_in *)to)->sin_addr;
    size_t len = v6 ? 16 : 4;
    struct request request = {
        .head = {.nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST},
        .body.route = {.rtm_family = (unsigned char)to->ss_family, .rtm_dst_len = (unsigned char)(8 * len)}};
    struct rtattr *attribute = (struct rtattr *)(void *)((char *)&request + NLMSG_SPACE(sizeof request.body.route));
    attribute->rta_type = RTA_DST;
    attribute->rta_len = (unsigned short)RTA_LENGTH(len);
    memcpy(RTA_DATA(attribute), address, len);
    request.head.nlmsg_len = (unsigned)(NLMSG_SPACE(sizeof request.body.route) + RTA_SPACE(len));
    _Alignas(struct nlmsghdr) char answer[BUFFER];
    ssize_t got = talk(fd, &request) < 0 ? -1 : recv(fd, answer, sizeof answer, 0);
    const struct nlmsghdr *message = (const struct nlmsghdr *)(const void *)answer;
    if (got < 0 || !NLMSG_OK(message, (size_t)got) || message->nlmsg_type != RTM_NEWROUTE)
        return 0;
    size_t left = RTM_PAYLOAD(message);
    for (const struct rtattr *at = RTM_RTA(NLMSG_DATA(message)); RTA_OK(at, left); at = RTA_NEXT(at, left))
        if (at->rta_type == RTA_OIF)
            return *(const unsigned *)RTA_DATA(at);
    return 0;
}

static void take_discipline(const struct nlmsghdr *message, struct found *found)
{
    const struct tcmsg *discipline = NLMSG_DATA(message);
    size_t left = message->nlmsg_len - NLMSG_LENGTH(sizeof *discipline);
    if (discipline->tcm_ifindex != found->index || discipline->tcm_parent == TC_H_INGRESS)
        return;
    const struct rtattr *at =
        (const struct rtattr *)(const void *)((const char *)discipline + NLMSG_ALIGN(sizeof *discipline));
    for (; RTA_OK(at, left); at = RTA_NEXT(at, left)) {
        const char *kind = RTA_DATA(at);
        if (at->rta_type != TCA_KIND || strcmp(kind, "mq") == 0)
            continue;
        found->any = true;
        if (strcmp(kind, "fq") != 0 && found->all_fq) {
            found->all_fq = false;
            snprintf(found->other, sizeof found->other, "%s", kind);
        }
    }
}

static int list_disciplines(int fd, struct found *found)
{
    struct request request = {.head = {.nlmsg_len = NLMSG_LENGTH(sizeof request.body.discipline),
                                       .nlmsg_type = RTM_GETQDISC,
                                       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
                              .body.discipline = {.tcm_family = AF_UNSPEC}};
    _Alignas(struct nlmsghdr) char answer[BUFFER];
    if (talk(fd, &request) < 0)
        return -1;
    for (;;) {
        ssize_t got = recv(fd, answer, sizeof answer, 0);
        if (got <= 0)
            return -1;
        size_t left = (size_t)got;
        for (const struct nlmsghdr *at = (const void *)answer; NLMSG_OK(at, left); at = NLMSG_NEXT(at, left)) {
            if (at->nlmsg_type == NLMSG_DONE)
                return 0;
            if (at->nlmsg_type == NLMSG_ERROR)
                return -1;
            if (at->nlmsg_type == RTM_NEWQDISC)
                take_discipline(at, found);
        }
    }
}

int pl_qdisc_check_txtime(const struct sockaddr_storage *to, struct nc_error *error)
{
    char name[IF_NAMESIZE] = "?";
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0)
        return nc_fail(error, NC_EXIT_MISSING, "--txtime: no netlink socket: %s", strerror(errno));
    struct found found = {.index = (int)route_interface(fd, to), .all_fq = true};
    int status = found.index ? list_disciplines(fd, &found) : -1;
    close(fd);
    if (found.index)
        if_indextoname((unsigned)found.index, name);
    if (status < 0)
        return nc_fail(error, NC_EXIT_MISSING, "--txtime: cannot find out the queueing discipline of the way there");
    if (found.any && found.all_fq)
        return 0;
    return nc_fail(error, NC_EXIT_MISSING,
                   "--txtime: '%s' has the queueing discipline %s, which ignores times of departure; want fq: "
                   "tc qdisc replace dev %s root fq; or leave --txtime out",
                   name, found.any ? found.other : "noqueue", name);
}
