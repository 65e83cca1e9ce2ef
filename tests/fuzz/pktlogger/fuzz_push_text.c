/* Any bytes as a file of departure times and as a mix of sizes. Checked: times do not decrease, sizes are within their
 * bounds, and an error is one line. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "departures.h"
#include "sizes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static void check_sizes(const uint8_t *data, size_t size)
{
    struct pl_sizes sizes;
    struct nc_error error;
    char *text = malloc(size + 1);
    check(text);
    memcpy(text, data, size);
    text[size] = '\0';
    if (pl_sizes_read(&sizes, text, 60, 65500, &error) == 0) {
        check(sizes.n > 0 && pl_sizes_largest(&sizes) <= 65500);
        for (int i = 0; i < 100; i++) {
            uint32_t next = pl_sizes_next(&sizes);
            check(next >= 60 && next <= pl_sizes_largest(&sizes));
        }
    } else
        check(error.status == NC_EXIT_USAGE && !strchr(error.text, '\n'));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_departures departures;
    struct nc_error error;
    if (pl_departures_read(&departures, "times", data, size, &error) == 0) {
        check(departures.n > 0);
        for (size_t i = 1; i < departures.n; i++)
            check(departures.at_ns[i] >= departures.at_ns[i - 1]);
    } else
        check(error.status == NC_EXIT_USAGE && strncmp(error.text, "'times'", 7) == 0 && !strchr(error.text, '\n'));
    pl_departures_free(&departures);
    check_sizes(data, size);
    return 0;
}
