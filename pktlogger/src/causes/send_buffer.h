/* Whether a sender's silence waited for room in its send buffer. Linux wakes a writer when a third of the buffer is
 * free. Then the writer fills as much as the congestion window allows, even beyond the buffer, because an unsent
 * segment with room takes more data without a check of the buffer. So the flight size is not constant. But an
 * acknowledgement ends each silence at once, and the same amount is left in flight each time. Rejected: looking at the
 * flight size alone. An application that writes the same amount periodically leaves the same flight, too. */
#ifndef PL_SEND_BUFFER_H
#define PL_SEND_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

struct pl_send_buffer {
    uint64_t left_bytes; /* in flight when an acknowledgement last ended a silence */
    bool woken;          /* one ended the last silence */
    bool known;          /* two such silences left the same amount in flight */
};

/* Takes a silence, which a packet of `len` bytes ended: `at_once` after an acknowledgement or not. True: it waited for
 * the buffer, and so did those before it that were `woken`. */
bool pl_send_buffer_silence(struct pl_send_buffer *buffer, uint64_t left_bytes, bool at_once, uint32_t len,
                            uint32_t mss);

#endif
