/* A second copy of the XXH3 header, compiled for AVX2 (CMakeLists.txt) and private to this file. */
#ifdef __AVX2__
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "digest.h"

void rttcp_digest_update_avx2(void *state, const uint8_t *data, size_t size)
{
    XXH3_128bits_update(state, data, size);
}
#else
typedef int rttcp_no_avx2; /* another architecture */
#endif
