/* Implements base.h. */
#include "base.h"

int pl_base_append(struct pl_base *base, int64_t t_ns, int64_t delay_ns)
{
    struct pl_base_level level = {t_ns, delay_ns};
    if (base->levels.n == 0 || delay_ns < base->least_ns)
        base->least_ns = delay_ns;
    return PL_APPEND(&base->levels, level);
}

int64_t pl_base_at(const struct pl_base *base, int64_t t_ns)
{
    size_t low = 0, high = base->levels.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (base->levels.at[middle].t_ns <= t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return base->levels.n ? base->levels.at[low ? low - 1 : 0].delay_ns : 0;
}

int64_t pl_base_moved_ns(const struct pl_base *base, int64_t t_ns)
{
    return base->levels.n > 1 ? pl_base_at(base, t_ns) - base->least_ns : 0;
}

void pl_base_free(struct pl_base *base)
{
    free(base->levels.at);
    *base = (struct pl_base){0};
}
