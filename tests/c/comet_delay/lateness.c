/* The verdict's text about late packets: it gives the limit in force, with as many digits as the histogram resolves. */
#include "lateness.h"

#include "check.h"

static void what_was_asked_for_is_no_fault(void)
{
    CHECK_EQ(lateness_limit_ns(1000000, 60000, 50000), 1000000);
    CHECK_EQ(lateness_limit_ns(1000000, 1500000, 1500000), 3000000);
    CHECK_EQ(lateness_limit_ns(5000000, 1500000, 1500000), 5000000);
}

static void a_reason_has_two_digits_and_the_limit(void)
{
    static const struct {
        uint64_t p99_ns, limit_ns;
        const char *says;
    } cases[] = {
        {41943039, 1000000, "ab: p99 lateness 42 ms (limit 1 ms)"},
        {1048575, 1000000, "ab: p99 lateness 1.1 ms (limit 1 ms)"}, /* never "1 ms (limit 1 ms)" */
        {3000001, 3000000, "ab: p99 lateness 3.1 ms (limit 3 ms)"},
        {9999999, 4980123, "ab: p99 lateness 10 ms (limit 4.98 ms)"},
        {250001, 250000, "ab: p99 lateness 260 us (limit 250 us)"},
        {2147483647, 84000, "ab: p99 lateness 2.2 s (limit 84 us)"},
        {7, 3, "ab: p99 lateness 7 ns (limit 3 ns)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[100];
        CHECK_STR(lateness_reason("ab", cases[i].p99_ns, cases[i].limit_ns, text, sizeof text), cases[i].says);
    }
    char text[100];
    CHECK(strstr(lateness_reason("ba", UINT64_MAX, UINT64_MAX, text, sizeof text), "ba: p99 lateness ") == text);
}

int main(void)
{
    RUN(what_was_asked_for_is_no_fault);
    RUN(a_reason_has_two_digits_and_the_limit);
    return 0;
}
