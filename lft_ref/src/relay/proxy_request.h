/* Parses the request of a proxy's client, and writes the reply. Pure functions over at most PROXY_REQUEST_MAX octets.
 * Nothing that the client sends is trusted. */
#ifndef LFT_PROXY_REQUEST_H
#define LFT_PROXY_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

enum { PROXY_REQUEST_MAX = 8192 };
/* The protocol of a listener. The last value is not a listener's: it marks a client of PROXY_HTTP that has sent a plain
 * request instead of CONNECT. */
enum proxy_kind { PROXY_FORWARD, PROXY_SOCKS5, PROXY_HTTP, PROXY_HTTP_PLAIN };
enum proxy_parsed {
    PROXY_MORE,  /* the request is not complete */
    PROXY_REPLY, /* send `reply`; the request continues */
    PROXY_GO,    /* connect to `where` */
    PROXY_BAD    /* send `reply` and close */
};

struct proxy_request {
    void *dead; /* the loop's, once freed */
    enum proxy_kind kind;
    unsigned step; /* of SOCKS: 0 methods, 1 request */
    size_t used;   /* octets from the client that are in `text` */
    size_t looked; /* HTTP: octets already searched for the end of the head, which may arrive an octet at a time */
    uint8_t text[PROXY_REQUEST_MAX];
    uint8_t reply[128];
    size_t reply_bytes;
    struct lft_open where;
};

/* Parses the octets so far and removes those it has understood from `text`. What is left after PROXY_GO is data. */
enum proxy_parsed proxy_request_parse(struct proxy_request *request);
/* Writes the reply to the client and returns its length. `result` NULL: connected. */
size_t proxy_request_answer(enum proxy_kind kind, const struct lft_result *result, uint8_t out[128]);
/* Parses "HOST:PORT", where HOST is an address or a name. Returns 0 or -1. */
int proxy_destination(const char *text, size_t n, struct lft_open *where);

#endif
