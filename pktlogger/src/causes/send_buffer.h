/* Whether a sender's silence waited for room in its send buffer. Linux wakes a writer when a third of the buffer is
 * free. The writer then writes as much as the congestion window allows, even beyond the buffer, because the kernel adds
 * data to an unsent segment with room without checking the buffer. So the flight size is not constant. But each silence
 * ends right after an acknowledgement, with the same amount left in flight. Rejected: looking at the flight size alone.
 * An application that writes the same amount periodically leaves the same flight, too. */
#ifndef PL_SEND_BUFFER_H
#define PL_SEND_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

struct pl_send_buffer {
    uint64_t left_bytes; /* octets in flight at the end of the latest silence that an acknowledgement ended */
    bool woken;          /* one ended the last silence */
    bool known;          /* two such silences have left the same amount in flight */
};

/* Takes a silence that a packet of `len` bytes ended; `at_once`: right after an acknowledgement. Returns true if it
 * waited for the buffer; then the `woken` silences before it did, too. */
bool pl_send_buffer_silence(struct pl_send_buffer *buffer, uint64_t left_bytes, bool at_once, uint32_t len,
                            uint32_t mss);

#endif
