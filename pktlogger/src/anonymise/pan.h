/* Maps addresses and ports by a secret key. The mapping of addresses preserves prefixes: two addresses that share
 * exactly their first n bits share exactly the first n bits of their images. This is Crypto-PAn (Xu, Fan, Ammar, Moon,
 * "Prefix-Preserving IP Address Anonymization", ICNP 2002) with AES-128: bit i is flipped by the first bit of AES(the
 * first i bits, then the pad). IPv6 addresses have 128 bits instead of 32. Ports go through a permutation of 1 to 65535
 * that depends on the same key; 0 stays. Rejected: leaving well-known ports as they are, because a port reveals which
 * service its owner runs. */
#ifndef PL_PAN_H
#define PL_PAN_H

#include <stdint.h>

enum { PL_PAN_KEY = 32 };

struct pl_pan;

/* Returns NULL without memory, or if the library has no AES. */
struct pl_pan *pl_pan_create(const uint8_t key[PL_PAN_KEY]);
void pl_pan_free(struct pl_pan *pan);

/* The image of an address; an IPv4 address is the first 4 octets, and the rest is 0. */
void pl_pan_address(struct pl_pan *pan, unsigned ip_version, const uint8_t address[16], uint8_t out[16]);

uint16_t pl_pan_port(const struct pl_pan *pan, uint16_t port);

#endif
