/* Implements outages.h. */
#include "outages.h"

int pl_down_add(struct pl_time_spans *spans, const struct pl_outages *known, int64_t first_ns, int64_t last_ns,
                bool sent_before, const int64_t back_ns[2])
{
    bool found = false;
    for (size_t i = 0; i < known->n && known->down_ns[i] <= last_ns; i++) {
        int64_t begin_ns = known->down_ns[i], until_ns = known->up_ns[i];
        if (until_ns < first_ns)
            continue;
        if (begin_ns < first_ns && (!sent_before || begin_ns == INT64_MIN))
            begin_ns = first_ns;
        if (pl_time_spans_add(spans, begin_ns + back_ns[0], until_ns + back_ns[1]) < 0)
            return -1;
        found = true;
    }
    bool lasted = !found && last_ns > first_ns;
    return lasted ? pl_time_spans_add(spans, first_ns + back_ns[0], last_ns + back_ns[1]) : 0;
}
