/* Implements send_buffer.h. */
#include "send_buffer.h"

#include "thresholds.h"

bool pl_send_buffer_silence(struct pl_send_buffer *buffer, uint64_t left_bytes, bool at_once, uint32_t len,
                            uint32_t mss)
{
    uint64_t before = buffer->left_bytes, near_bytes = left_bytes / PL_BUFFER_ALIKE;
    bool nagle = len < mss; /* a short segment also waits for an acknowledgement */
    buffer->woken = at_once && !nagle && left_bytes > PL_BUFFER_SEGMENTS * (uint64_t)mss;
    if (buffer->woken) {
        buffer->known |= left_bytes <= before + near_bytes && before <= left_bytes + near_bytes;
        buffer->left_bytes = left_bytes;
    }
    return buffer->known && left_bytes + near_bytes >= buffer->left_bytes;
}
