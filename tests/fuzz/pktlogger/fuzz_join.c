/* Any bytes as the captures of both ends. The first byte says where the input is divided (in 255ths; 255: both captures
 * are the whole input). analysis.h has the checks. */
#include "analysis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t first = data[0] == 255 ? size - 1 : (size - 1) * data[0] / 255;
    struct pl_source captures[PL_END_N] = {{.data = data + 1, .len = first},
                                           {.data = data + 1 + first, .len = size - 1 - first}};
    if (data[0] == 255)
        captures[PL_RECEIVER] = captures[PL_SENDER];
    analyse(captures, NULL);
    return 0;
}
