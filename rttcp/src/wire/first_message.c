#include "first_message.h"

#include <assert.h>
#include <stddef.h>

#define TLS_HANDSHAKE 22 /* content type of the record */
#define TLS_HEADER 5     /* content type, version (two octets), length (two octets) */
#define FRAME_HEADER 4   /* length */

bool rttcp_first_is_tls(const uint8_t *at, const uint8_t *end)
{
    assert(at < end);
    return at[0] == TLS_HANDSHAKE;
}

static enum rttcp_first has(size_t octets, size_t header, size_t length)
{
    if (length < 2 || length > RTTCP_FIRST_MESSAGE_MAX)
        return FIRST_INVALID;
    return octets >= header + length ? FIRST_WHOLE : FIRST_PART;
}

enum rttcp_first rttcp_first_message(const uint8_t *at, const uint8_t *end)
{
    size_t octets = (size_t)(end - at);
    if (octets == 0)
        return FIRST_PART;
    if (rttcp_first_is_tls(at, end)) {
        if (octets >= 2 && at[1] != 3) /* the version's first octet, in every version since SSL 3.0 */
            return FIRST_INVALID;
        return octets < TLS_HEADER ? FIRST_PART : has(octets, TLS_HEADER, (size_t)at[3] << 8 | at[4]);
    }
    if (octets < FRAME_HEADER)
        return at[0] ? FIRST_INVALID : FIRST_PART;
    return has(octets, FRAME_HEADER, (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3]);
}
