/* Near side, proxy model: listeners that applications connect to by themselves.
 *   forward   LISTEN=DEST: everything goes to one destination
 *   socks5    RFC 1928, no authentication, CONNECT; names are looked up on the far side
 *   http      CONNECT of RFC 9110, 9.3.6
 * A proxy has accepted the client before it knows of the server: forward answers a refusal by RST, the others by their protocol's words. */
#ifndef LFT_RELAY_PROXY_H
#define LFT_RELAY_PROXY_H

#include <stddef.h>

#include "relay.h"

enum proxy_kind { PROXY_FORWARD, PROXY_SOCKS5, PROXY_HTTP };

struct proxy;
/* `text`: "LISTEN=DEST" for forward, else "LISTEN". NULL with a one-line reason. */
struct proxy *proxy_open(struct relay *relay, enum proxy_kind kind, const char *text, char *why, size_t why_size);
void proxy_close(struct proxy *proxy);

/* proxy_request.c: pure parsers of what a client sends first; bounded by PROXY_REQUEST_MAX. */
enum { PROXY_REQUEST_MAX = 2048 };
enum proxy_parsed { PROXY_MORE, PROXY_REPLY, PROXY_GO, PROXY_BAD };
struct proxy_request {
    void *dead; /* the loop's, once freed */
    enum proxy_kind kind;
    unsigned step;         /* of SOCKS: 0 methods, 1 request */
    size_t used;           /* octets of the client in `text` */
    uint8_t text[PROXY_REQUEST_MAX];
    uint8_t reply[128];    /* PROXY_REPLY, PROXY_BAD: to be sent to the client */
    size_t reply_bytes;
    struct lft_open where; /* PROXY_GO */
};
/* Looks at the octets so far; takes the ones it understood out of `text` (what follows a PROXY_GO is data). */
enum proxy_parsed proxy_request_parse(struct proxy_request *request);
/* What the client is told; result NULL: connected. Returns its length. */
size_t proxy_request_answer(enum proxy_kind kind, const struct lft_result *result, uint8_t out[128]);
/* "HOST:PORT" to where: an address or a name. 0, or -1. */
int proxy_destination(const char *text, size_t n, struct lft_open *where);

#endif
