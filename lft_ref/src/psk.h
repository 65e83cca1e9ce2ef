/* The pre-shared key's file: a regular file of this user that nobody else may read or write. */
#ifndef LFT_PSK_H
#define LFT_PSK_H

#include <stddef.h>
#include <stdint.h>

#include "crypto.h"

/* Fills `key` with the file's octets, one newline at the end taken off. Returns how many, or -1 with a one-line reason. */
long psk_read(const char *path, uint8_t key[LFT_PSK_MAX], char *why, size_t why_size);

#endif
