/* The near side's proxy model: listeners to which applications connect explicitly.
 *   forward       LISTEN=DEST: every connection goes to one destination
 *   socks5        RFC 1928, CONNECT without authentication; the far side looks names up
 *   http-connect  CONNECT of RFC 9110, 9.3.6, and plain requests (GET http://HOST/…) of RFC 9112, 3.2.2
 * A proxy has accepted its client before it knows whether the server accepts. So `forward` answers a refusal by RST,
 * the others by an error of their protocol. */
#ifndef LFT_PROXY_H
#define LFT_PROXY_H

#include "nc_error.h"
#include "proxy_request.h"

struct proxy;
struct relay;
/* `text` is "LISTEN=DEST" for forward, "LISTEN" for the others. NULL with the reason. */
struct proxy *proxy_open(struct relay *relay, enum proxy_kind kind, const char *text, struct nc_error *error);
void proxy_close(struct proxy *proxy);

#endif
