/* Connects to the receiver through a proxy: SOCKS5 without authentication (RFC 1928) or HTTP CONNECT (RFC 9110, 9.3.6).
 * Names are resolved by the proxy. The proxy's answers are read octet by octet, so that no data of the connection that
 * follow them are consumed. Rejected: a library that intercepts connect(), which would connect streams one after the
 * other. */
#ifndef RTTCP_PROXY_H
#define RTTCP_PROXY_H

#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

enum rttcp_proxy_kind { RTTCP_PROXY_NONE, RTTCP_PROXY_SOCKS5, RTTCP_PROXY_HTTP };
enum { RTTCP_PROXY_TEXT = 256, RTTCP_PROXY_STEPS = 3, RTTCP_PROXY_ANSWER_MAX = 8192 };

struct rttcp_proxy {
    enum rttcp_proxy_kind kind;
    char host[RTTCP_PROXY_TEXT];
    uint16_t port;
};

/* Parses "socks5://HOST:PORT" or "http://HOST:PORT"; a host with colons must be in brackets. -1: usage error. */
int rttcp_proxy_parse(const char *text, struct rttcp_proxy *proxy, struct nc_error *error);

/* Does one of the steps 0, 1 … RTTCP_PROXY_STEPS - 1 of a connection to the proxy, after which the connection leads to
 * host and port. Each step waits for at most one answer, so many connections can take their steps in parallel. `fd` is
 * blocking. */
int rttcp_proxy_step(const struct rttcp_proxy *proxy, int fd, int step, const char *host, uint16_t port,
                     uint64_t deadline_ns, struct nc_error *error);

/* Writes the request of a step; returns its size, 0 if the step has no request, or -1 if the host does not fit. */
long rttcp_proxy_words(const struct rttcp_proxy *proxy, int step, const char *host, uint16_t port,
                       uint8_t words[RTTCP_PROXY_ANSWER_MAX], struct nc_error *error);

/* Checks the first n octets of the answer to a step. 1: complete and positive; 0: incomplete; -1: the proxy refuses, or
 * the octets are not an answer. */
int rttcp_proxy_answer(const struct rttcp_proxy *proxy, int step, const uint8_t *at, size_t n, struct nc_error *error);

#endif
