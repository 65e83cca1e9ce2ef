/* The file of the pre-shared key: a regular file of this user that nobody else may read or write. */
#ifndef LFT_PSK_H
#define LFT_PSK_H

#include <stddef.h>
#include <stdint.h>

#include "crypto.h"
#include "nc_error.h"

/* Reads the key, without a newline at its end. Returns the number of octets, or -1 with the reason. */
long psk_read(const char *path, uint8_t key[LFT_PSK_MAX], struct nc_error *error);

#endif
