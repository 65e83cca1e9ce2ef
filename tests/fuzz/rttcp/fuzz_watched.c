/* Any bytes as the kernel's answers about connections. Checked: the numbers of connections are within their bound, each
 * sample names its ports, and a reason for refusal is an errno. */
#include <assert.h>
#include <stdlib.h>

#include "watched.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rttcp_watched *watched = calloc(1, sizeof *watched);
    int refused = 0;
    if (!watched)
        return 0;
    enum rttcp_answer said = rttcp_watched_read(watched, 1, data, data + size, &refused);
    assert((said == RTTCP_ANSWER_REFUSED) == (refused > 0));
    assert(watched->n <= RTTCP_WATCHED_MAX && watched->n <= watched->samples.n);
    rttcp_samples_release(&watched->samples);
    free(watched);
    return 0;
}
