#include "watched.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <string.h>

#include "nc_range.h"

#define WITH(attribute) (1 << ((attribute) - 1))
/* The states of connections that may have data to send or to retransmit. */
#define STATES                                                                                                         \
    (1U << TCP_ESTABLISHED | 1U << TCP_FIN_WAIT1 | 1U << TCP_CLOSE_WAIT | 1U << TCP_LAST_ACK | 1U << TCP_CLOSING)

#define STEP 4 /* octets of a step of a condition */

size_t rttcp_watched_ask(uint8_t *out, uint8_t family, uint16_t port)
{
    /* Tests the local port, then the remote one. The first number is the offset of the next instruction if the
     * condition holds, the second one if it does not. An offset beyond the end rejects the connection
     * (inet_diag_bc_run). */
    const struct inet_diag_bc_op condition[] = {
        {INET_DIAG_BC_S_EQ, 2 * STEP, 3 * STEP}, {0, 0, port}, {INET_DIAG_BC_JMP, STEP, 3 * STEP},
        {INET_DIAG_BC_D_EQ, 2 * STEP, 3 * STEP}, {0, 0, port},
    };
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
        struct rtattr attribute;
        struct inet_diag_bc_op condition[sizeof condition / sizeof condition[0]];
    } question = {
        .header = {.nlmsg_len = sizeof question,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .request = {.sdiag_family = family,
                    .sdiag_protocol = IPPROTO_TCP,
                    .idiag_ext = WITH(INET_DIAG_INFO) | WITH(INET_DIAG_SKMEMINFO) | WITH(INET_DIAG_VEGASINFO),
                    .idiag_states = STATES},
        .attribute = {.rta_len = RTA_LENGTH(sizeof condition), .rta_type = INET_DIAG_REQ_BYTECODE},
    };
    _Static_assert(sizeof question <= RTTCP_QUESTION_BYTES, "a question has room");
    _Static_assert(sizeof condition[0] == STEP, "steps");
    memcpy(question.condition, condition, sizeof condition);
    memcpy(out, &question, sizeof question);
    return sizeof question;
}

static void take_attribute(struct rttcp_tcpinfo *info, uint16_t type, const uint8_t *at, size_t len)
{
    uint32_t memory[SK_MEMINFO_VARS];
    switch (type) {
    case INET_DIAG_INFO:
        info->filled = (uint32_t)nc_min(len, sizeof info->raw);
        memcpy(info->raw, at, info->filled);
        break;
    case INET_DIAG_SKMEMINFO:
        if (len < sizeof memory)
            break;
        memcpy(memory, at, sizeof memory);
        info->queued_bytes = memory[SK_MEMINFO_WMEM_QUEUED];
        info->sndbuf_bytes = memory[SK_MEMINFO_SNDBUF];
        break;
    case INET_DIAG_VEGASINFO: /* each congestion control has an attribute of its own */
    case INET_DIAG_DCTCPINFO:
    case INET_DIAG_BBRINFO:
        info->cc_words = (uint32_t)(nc_min(len, sizeof info->cc) / sizeof info->cc[0]);
        memcpy(info->cc, at, info->cc_words * sizeof info->cc[0]);
        break;
    default:
        break;
    }
}

/* Decodes a connection's message. False if it is malformed; `filled` is 0 if the kernel gives no TCP_INFO. */
static bool decode(const uint8_t *at, const uint8_t *end, struct rttcp_tcpinfo *info, uint64_t *cookie)
{
    struct inet_diag_msg message;
    struct rtattr attribute;
    if ((size_t)(end - at) < sizeof message)
        return false;
    memcpy(&message, at, sizeof message);
    info->local_port = ntohs(message.id.idiag_sport);
    info->remote_port = ntohs(message.id.idiag_dport);
    *cookie = (uint64_t)message.id.idiag_cookie[1] << 32 | message.id.idiag_cookie[0];
    for (at += sizeof message; (size_t)(end - at) >= sizeof attribute;) {
        size_t left = (size_t)(end - at);
        memcpy(&attribute, at, sizeof attribute);
        if (attribute.rta_len < sizeof attribute || attribute.rta_len > left)
            return false;
        take_attribute(info, attribute.rta_type, at + sizeof attribute, attribute.rta_len - sizeof attribute);
        at += nc_min(RTA_ALIGN(attribute.rta_len), left);
    }
    return info->local_port != 0;
}

/* Returns the index of a connection; RTTCP_WATCHED_MAX when there are too many. */
static uint32_t stream_of(struct rttcp_watched *watched, uint64_t cookie)
{
    uint32_t stream = 0;
    while (stream < watched->n && watched->cookies[stream] != cookie)
        stream++;
    if (stream == watched->n && stream < RTTCP_WATCHED_MAX)
        watched->cookies[watched->n++] = cookie;
    return stream;
}

static void add(struct rttcp_watched *watched, uint64_t now_ns, const uint8_t *at, const uint8_t *end)
{
    struct rttcp_tcpinfo info = {.t_ns = now_ns};
    uint64_t cookie = 0;
    if (!decode(at, end, &info, &cookie)) {
        watched->malformed++;
        return;
    }
    if (!info.filled)
        return;
    info.stream = stream_of(watched, cookie);
    if (info.stream == RTTCP_WATCHED_MAX)
        watched->samples.dropped++;
    else
        rttcp_samples_add(&watched->samples, &info);
}

enum rttcp_answer rttcp_watched_read(struct rttcp_watched *watched, uint64_t now_ns, const uint8_t *at,
                                     const uint8_t *end, int *refused)
{
    struct nlmsghdr header;
    while ((size_t)(end - at) >= sizeof header) {
        size_t left = (size_t)(end - at);
        memcpy(&header, at, sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > left) {
            watched->malformed++;
            return RTTCP_ANSWER_MORE;
        }
        const uint8_t *payload = at + sizeof header, *behind = at + header.nlmsg_len;
        if (header.nlmsg_type == NLMSG_DONE)
            return RTTCP_ANSWER_DONE;
        if (header.nlmsg_type == NLMSG_ERROR) {
            *refused = 0;
            if ((size_t)(behind - payload) >= sizeof *refused)
                memcpy(refused, payload, sizeof *refused); /* struct nlmsgerr begins with the negative errno */
            *refused = *refused < 0 && *refused > -4096 ? -*refused : EPROTO;
            return RTTCP_ANSWER_REFUSED;
        }
        if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY)
            add(watched, now_ns, payload, behind);
        at += nc_min(NLMSG_ALIGN(header.nlmsg_len), left);
    }
    return RTTCP_ANSWER_MORE;
}
