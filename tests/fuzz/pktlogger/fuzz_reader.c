/* Any bytes as a capture file. Every frame must lie inside the input, and frame numbers must increase by one. */
#include <stdlib.h>

#include "reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_reader reader;
    struct pl_frame frame;
    uint64_t expected = 0;
    if (pl_reader_open(&reader, data, size) == 0)
        while (pl_reader_next(&reader, &frame) == PL_FRAME)
            if (frame.number != ++expected || frame.data < data || frame.captured > frame.wire || frame.t_ns < -1 ||
                frame.captured > (size_t)(data + size - frame.data))
                abort();
    pl_reader_drops(&reader);
    pl_reader_close(&reader);
    return 0;
}
