/* In place of lft_engine_create in the link of a gateway for tests: numbers of its frames begin shortly before they
 * wrap around, which a gateway otherwise comes to after 16 million frames. Nothing of the protocol tells a peer
 * where numbers begin, so both ends must be such. */
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
