/* Which parts arrived after parts that were sent later, and how late. */
#include "order.h"

#include "check.h"

/* Parts are sent a second apart, in order; `at` is when each arrives. */
static struct pl_order after(const int64_t *at, size_t n)
{
    struct pl_order order = {.first = 0};
    for (size_t i = 0; i < n; i++)
        CHECK_EQ(pl_order_add(&order, (int64_t)i, at[i]), 0);
    pl_order_end(&order);
    return order;
}

static void order_that_is_kept_is_no_reordering(void)
{
    const int64_t at[] = {10, 11, 11, 11, 14};
    struct pl_order order = after(at, 5);
    CHECK(order.reordered == 0 && order.extent_max == 0 && order.late_max_ns == 0);
}

static void each_part_counts_those_that_overtook_it(void)
{
    const int64_t at[] = {10, 20, 12, 13, 19, 14};
    struct pl_order order = after(at, 6);
    CHECK_EQ(order.reordered, 2); /* four parts overtook the second part, and one the fifth */
    CHECK_EQ(order.extent_max, 4);
    CHECK_EQ(order.extent_sum, 5);
    CHECK_EQ(order.late_max_ns, 8);
}

static void one_that_overtakes_more_than_is_counted_changes_nothing_else(void)
{
    struct pl_order order = {.first = 0};
    for (int64_t i = 0; i < 10000; i++)
        CHECK_EQ(pl_order_add(&order, i, 100000 + i), 0);
    CHECK_EQ(pl_order_add(&order, 10000, 50000), 0);
    pl_order_end(&order);
    CHECK_EQ(order.reordered, 4096);
    CHECK_EQ(order.extent_max, 1);
}

int main(void)
{
    order_that_is_kept_is_no_reordering();
    each_part_counts_those_that_overtook_it();
    one_that_overtakes_more_than_is_counted_changes_nothing_else();
    return 0;
}
