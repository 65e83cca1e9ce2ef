/* Parses and prints socket addresses, and finds the MTU that the machine's interfaces allow. */
#ifndef LFT_ADDRESS_H
#define LFT_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "nc_error.h"

/* Parses "HOST:PORT", "[V6]:PORT" or "HOST"; the last uses default_port. `passive` resolves for bind. Returns 0, or -1
 * with the reason. Looking up a name may block. */
int address_resolve(const char *text, uint16_t default_port, bool passive, struct sockaddr_storage *out,
                    struct nc_error *error);
socklen_t address_bytes(const struct sockaddr_storage *address);
/* Sets the port to 0, because a raw socket accepts only the protocol number or 0 there. */
void address_clear_port(struct sockaddr_storage *address);
/* True for addresses that lead to this machine only: loopback, the unspecified address, which connect() treats as
 * loopback, and IPv4 ones mapped into IPv6. */
bool address_is_loopback(const struct sockaddr_storage *address);
/* "192.0.2.1:80", "[2001:db8::1]:80", "none". Returns `out`. */
const char *address_text(const struct sockaddr_storage *address, char *out, size_t size);

/* Returns advice for a user whose socket could not be bound, by errno: "; choose another port, …", or "". */
const char *address_bind_advice(int error);

/* Returns the largest MTU of the interfaces of this namespace that are up, without loopback. 9000: no such interface is
 * up. */
uint32_t address_device_mtu(void);

#endif
