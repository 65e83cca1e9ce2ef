#include "ready.h"

#include "check.h"

void direction_ready(struct direction *d, struct params params, uint64_t granularity_ns)
{
    struct models models;
    struct nc_error error;
    for (size_t i = 0; i < param_rows_n; i++) {
        const struct nc_option *row = &param_rows[i].option;
        char *at = (char *)&params + row->offset;
        if (row->kind == NC_OPT_TEXT && !at[0])
            CHECK_EQ(nc_option_set(row, row->default_text, &params, &error), 0);
    }
    CHECK_EQ(direction_init(d, 0, READY_SEED, granularity_ns, READY_MEMORY_BYTES, 0), 0);
    CHECK_EQ(models_build(&params, &models, &error), 0);
    direction_set(d, &params, &models, 0);
}
