/* The tunnel's socket: UDP with segmentation offload in both directions, or raw ESP (IP protocol 50), over IPv4 or
 * IPv6. Datagrams are sent with "don't fragment"; the gateway's pmtu.h finds the size that path and device carry. A
 * batch that would block is kept, and sent first once the socket is writable again. A batch that fails otherwise is a
 * lost packet. */
#ifndef LFT_IO_H
#define LFT_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "address.h"
#include "link.h"
#include "loop.h"

enum io_carriage { IO_UDP, IO_ESP };
extern const char *const io_carriage_names[]; /* for nc_options */

struct io_settings {
    enum io_carriage carriage;
    struct sockaddr_storage local; /* the address to bind to; outer packets have its family */
    uint64_t socket_buffer_bytes;
    uint32_t mark; /* the gateway's own packets carry this mark, so that rules can tell them from the hosts' packets */
};

struct io_counters {
    uint64_t rx_reads, rx_datagrams, rx_overflows, tx_batches, tx_datagrams, tx_blocked, tx_too_big, tx_failed;
};

struct io;
/* NULL with the reason. */
struct io *io_open(const struct io_settings *settings, struct loop *loop, struct lft_link *link,
                   struct nc_error *error);
void io_close(struct io *io);
/* Sends all that the link wants to send now and returns the number of datagrams. It reads the clock, because the limit
 * applies to the time at which frames leave and not to the beginning of the turn. */
unsigned io_transmit(struct io *io);
/* True while the socket is full: io_transmit sends nothing until it has become writable. */
bool io_blocked(const struct io *io);
/* True when this turn has left datagrams in the socket. The caller must not rest then, or datagrams may be lost:
 * without GRO a turn takes 64 frames, and more may arrive during a rest. */
bool io_unread(struct io *io);
const struct io_counters *io_counters(const struct io *io);
/* True, once, after the kernel has refused a datagram as too big for the device. */
bool io_was_too_big(struct io *io);

/* Returns the octets of a datagram's outer headers: IP, and UDP if used. */
uint32_t io_outer_bytes(enum io_carriage carriage, int family);

#endif
