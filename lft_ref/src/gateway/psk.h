/* The file of the pre-shared key (nc_secret.h says who may read it). It holds 64 hexadecimal digits (`lft-gateway
 * genkey`), 32 octets, or a text of 16 octets or more. A text is stretched by scrypt with both gateways' names as salt,
 * because an attacker who has recorded one handshake can try texts offline. */
#ifndef LFT_PSK_H
#define LFT_PSK_H

#include "keys.h"
#include "nc_error.h"
#include "settings.h"

/* Reads the key of settings->psk_file. Returns 0, or -1 with the reason. */
int psk_read(const struct settings *settings, uint8_t key[LFT_PSK_BYTES], struct nc_error *error);

#endif
