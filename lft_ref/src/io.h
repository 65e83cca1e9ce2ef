/* The tunnel's datagrams: UDP with segmentation offload both ways, or raw ESP (IP protocol 50); IPv4 or IPv6 outside.
 * Always sent with "don't fragment"; what path and device take is found by pmtu.h.
 * A batch that would block is kept and sent first when the socket is writable again; one that fails otherwise is a lost packet. */
#ifndef LFT_IO_H
#define LFT_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "link.h"
#include "loop.h"

enum io_carriage { IO_UDP, IO_ESP };
extern const char *const io_carriage_names[]; /* for nc_options */

struct io_settings {
    enum io_carriage carriage;
    struct sockaddr_storage local; /* to bind to; its family is the outer one */
    uint64_t socket_buffer_bytes;
    uint32_t mark;                 /* of everything the gateway itself sends */
};

struct io_counters {
    uint64_t rx_reads, rx_datagrams, rx_overflows, tx_batches, tx_datagrams, tx_blocked, tx_too_big, tx_failed;
};

struct io;
/* NULL with a one-line reason. */
struct io *io_open(const struct io_settings *settings, struct loop *loop, struct lft_link *link, char *why, size_t why_size);
void io_close(struct io *io);
/* All the link wants to send now. Returns how many datagrams. Reads the clock: the limit holds for when frames leave, not for when
 * the turn began. */
unsigned io_transmit(struct io *io);
/* Whether the socket is full: transmit again only after it has become writable. */
bool io_blocked(const struct io *io);
const struct io_counters *io_counters(const struct io *io);
/* True once after the kernel said that a datagram was too big for the device. */
bool io_was_too_big(struct io *io);

/* IP and UDP header octets of a datagram. */
uint32_t io_outer_bytes(enum io_carriage carriage, int family);
/* Largest MTU of the interfaces of this namespace that are up, loopback only if there is no other. */
uint32_t io_device_mtu(void);

/* "HOST:PORT", "[V6]:PORT", "HOST" (then default_port) to an address; `passive` resolves for bind. 0, or -1 with a reason. Blocks on names. */
int io_resolve(const char *text, uint16_t default_port, bool passive, struct sockaddr_storage *out, char *why, size_t why_size);
socklen_t io_address_bytes(const struct sockaddr_storage *address);
/* "192.0.2.1:80", "[2001:db8::1]:80". */
const char *io_address_text(const struct sockaddr_storage *address, char *out, size_t size);

#endif
