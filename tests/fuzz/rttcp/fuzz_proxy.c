/* A proxy's answer before it passes a connection on, judged octet by octet as it is read. An answer that is complete or
 * refused must stay so, and reading stops there. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proxy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[RTTCP_PROXY_TEXT + 32] = {0};
    struct rttcp_proxy proxy;
    struct nc_error error;
    memcpy(text, data, size < sizeof text - 1 ? size : sizeof text - 1);
    if (rttcp_proxy_parse(text, &proxy, &error) == 0)
        assert(proxy.port > 0 && memchr(proxy.host, 0, sizeof proxy.host) && proxy.host[0]);
    for (int kind = RTTCP_PROXY_SOCKS5; kind <= RTTCP_PROXY_HTTP; kind++)
        for (int step = 0; step < RTTCP_PROXY_STEPS; step++) {
            proxy = (struct rttcp_proxy){.kind = (enum rttcp_proxy_kind)kind, .host = "proxy", .port = 1};
            int judged = 0;
            for (size_t n = 0; judged == 0 && n <= size && n <= RTTCP_PROXY_ANSWER_MAX; n++)
                judged = rttcp_proxy_answer(&proxy, step, data, n, &error);
            assert(judged >= -1 && judged <= 1);
        }
    return 0;
}
