/* The first octets of a connection, which anybody may send: on a control connection a frame or a TLS record, on a data
 * connection a token. The result must not depend on whether octets arrive one by one or at once. Invalid octets must
 * stay invalid when more arrive. Only this session's token is valid. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "first_message.h"
#include "join.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct rttcp_join_key key = {.wanted = true};
    uint8_t token[RTTCP_JOIN_OCTETS];
    rttcp_join_encode(&key, 5, token);
    enum rttcp_first first = rttcp_first_message(data, data + size);
    enum rttcp_join join = rttcp_join_check(&key, 5, data, data + size);
    for (size_t n = 0; n < size && n < 64; n++) {
        if (rttcp_first_message(data, data + n) == FIRST_INVALID)
            assert(first == FIRST_INVALID);
        if (rttcp_join_check(&key, 5, data, data + n) == JOIN_INVALID)
            assert(join == JOIN_INVALID);
    }
    bool ours = size >= sizeof token && memcmp(data, token, sizeof token) == 0;
    assert((join == JOIN_VALID) == ours);
    return 0;
}
