/* Any bytes as a capture file, plain or compressed, read a window at a time. Every byte of a frame must be readable,
 * and frame numbers must increase by one. A plain file must give the same frames as when it is read from memory. */
#include <stdlib.h>

#include "reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_reader reader, whole;
    struct pl_frame frame, same;
    struct nc_error error;
    enum pl_next next = PL_END;
    struct pl_input *input = pl_input_memory(data, size, &error);
    if (!input)
        return 0;
    bool opened = pl_reader_open_input(&reader, input, &error) == 0;
    bool plain = pl_reader_open(&whole, data, size) == 0;
    if (plain && !opened)
        abort();
    uint64_t frames = 0;
    while (opened && (next = pl_reader_next(&reader, &frame)) == PL_FRAME) {
        if (frame.number != ++frames)
            abort();
        for (uint32_t i = 0; i < frame.captured; i++)
            sink ^= frame.data[i];
        if (plain && (pl_reader_next(&whole, &same) != PL_FRAME || same.data != frame.data || same.t_ns != frame.t_ns))
            abort();
    }
    if (plain && (pl_reader_next(&whole, &same) != next || whole.truncated != reader.truncated))
        abort();
    pl_reader_close(&reader);
    pl_reader_close(&whole);
    return 0;
}
