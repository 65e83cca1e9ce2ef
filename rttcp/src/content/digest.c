#include "digest.h"

#include <xxhash.h>

void rttcp_digest_update(void *state, const uint8_t *data, size_t size)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        rttcp_digest_update_avx2(state, data, size);
        return;
    }
#endif
    XXH3_128bits_update(state, data, size);
}
