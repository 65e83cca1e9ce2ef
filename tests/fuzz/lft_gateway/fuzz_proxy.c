/* A proxy's client. The first octet chooses the protocol; the client sends the rest. */
#include <assert.h>
#include <string.h>

#include "proxy_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct proxy_request request = {.kind = size && (data[0] & 1) ? PROXY_HTTP : PROXY_SOCKS5};
    enum proxy_parsed parsed = PROXY_MORE;
    for (size_t i = 1;
         i < size && (parsed == PROXY_MORE || parsed == PROXY_REPLY) && request.used < sizeof request.text; i++) {
        request.text[request.used++] = data[i];
        parsed = proxy_request_parse(&request);
        assert(request.used <= sizeof request.text && request.reply_bytes <= sizeof request.reply);
    }
    if (parsed == PROXY_GO)
        assert(request.where.family == LFT_FAMILY_IPV4 || request.where.family == LFT_FAMILY_IPV6 ||
               request.where.family == LFT_FAMILY_NAME);
    return 0;
}
