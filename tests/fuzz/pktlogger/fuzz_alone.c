/* Any bytes as the only capture: the sender's if the first byte is even, else the receiver's. */
#include "analysis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct pl_source captures[PL_END_N] = {{.data = NULL}, {.data = NULL}};
    captures[data[0] % 2 ? PL_RECEIVER : PL_SENDER] = (struct pl_source){.data = data + 1, .len = size - 1};
    analyse(captures, NULL);
    return 0;
}
