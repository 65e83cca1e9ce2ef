/* Any bytes as a file of samples. Checked: the samples are in order, and an error is one line that names the file. */
#include <stdlib.h>
#include <string.h>

#include "send_samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_send_samples samples = {0};
    struct nc_error error;
    if (pl_send_samples_parse(&samples, "file", data, data + size, &error) < 0)
        check(error.status == NC_EXIT_USAGE && strncmp(error.text, "'file'", 6) == 0 && !strchr(error.text, '\n'));
    else if (samples.list.n) {
        struct pl_send_sample first = samples.list.at[0];
        struct pl_samples_of of = pl_send_samples_of(&samples, first.local_port, first.remote_port);
        check(of.n > 0 && of.n <= samples.list.n);
        for (size_t i = 1; i < of.n; i++)
            check(of.first[i].t_ns >= of.first[i - 1].t_ns);
        struct pl_samples_seen seen = pl_samples_over(&of, 0, INT64_MAX, 1);
        check(seen.n == of.n && seen.unsent <= seen.n && seen.unsent + seen.idle <= seen.n);
        check(pl_samples_timeout(&of, of.first[of.n - 1].t_ns) == PL_COUNTED_UNKNOWN);
    }
    pl_send_samples_free(&samples);
    return 0;
}
