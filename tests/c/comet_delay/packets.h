/* Packets as a port would deliver them. */
#ifndef TEST_PACKETS_H
#define TEST_PACKETS_H

#include <stdint.h>

/* Writes an IPv4 TCP packet after its vnet header: `payload` bytes in parts of `mss` (0: not a super-packet). Payload
 * byte i is (uint8_t)(seq + i). Returns the total length. `out` has room for 66,000 bytes. */
uint32_t make_tcp4(uint8_t *out, uint32_t seq, uint32_t payload, uint16_t mss);

#endif
