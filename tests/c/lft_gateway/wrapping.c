/* Replaces lft_engine_create when a gateway is linked for tests. Its frame numbers begin shortly before they wrap
 * around, which otherwise takes 16 million frames. The protocol does not tell a peer where numbers begin, so both ends
 * must use this build. */
#include "engine.h"

enum { BEFORE_WRAP = 2000 };

struct lft_engine *lft_engine_create_near_wrap(const struct lft_engine_config *config, const struct lft_source *source,
                                               uint64_t now_ns);

struct lft_engine *lft_engine_create_near_wrap(const struct lft_engine_config *config, const struct lft_source *source,
                                               uint64_t now_ns)
{
    struct lft_engine_config near_wrap = *config;
    near_wrap.first_number = LFT_NUMBER_MASK + 1 - BEFORE_WRAP;
    return lft_engine_create(&near_wrap, source, now_ns);
}
