/* What the model did beside what it was told, for `show`: of jitter, of loss, of the bottleneck's line. Counted where it
 * happens and since the parameter was last set, in theoretical times: how far behind those packets left is `lateness`. */
#ifndef COMET_ACHIEVED_H
#define COMET_ACHIEVED_H

#include "direction.h"

/* Before `params` come into force: counting begins anew for what they change. */
void achieved_restart(struct direction *direction, const struct params *params);

/* {"rate":{"bytes","busy_ns","bps"},"loss":{"packets","lost","bursts","ratio_ppb","mean_burst"},"loss_after":{…},
 * "jitter":null or {"drawn":{…},"added":{…}}}, the last as moments_json. */
json_t *achieved_json(const struct direction *direction);

#endif
