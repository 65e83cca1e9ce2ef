/* The shared key of --key: the 32 octets that TLS 1.3 takes as its pre-shared key, and the file they come from
 * (nc_secret.h says who may read it).
 * 64 hexadecimal digits are the key itself. Anything else is taken for a text that a person invented and is stretched
 * by scrypt, because an attacker who records one TLS hello can try keys against it offline (RFC 9257, 4.1).
 * Rejected: refusing texts; without them people would measure without a key. */
#ifndef RTTCP_KEY_H
#define RTTCP_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

#define RTTCP_KEY_OCTETS 32
#define RTTCP_HOST_TEXT 33    /* 128 bits in hexadecimal digits */
#define RTTCP_KEY_FILE_MIN 16 /* octets in the file, without the newline at its end */
#define RTTCP_KEY_FILE_MAX 1024

struct rttcp_key {
    bool given; /* false: no --key */
    uint8_t octets[RTTCP_KEY_OCTETS];
    char host[RTTCP_HOST_TEXT]; /* mark of this host and network namespace, made with the key; "": unknown */
};

/* Reads the file and makes the key of it. A newline at the end of the file does not count. */
int rttcp_key_read(struct rttcp_key *key, const char *path, struct nc_error *error);

#endif
