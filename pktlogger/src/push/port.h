/* Ports, through which packets leave: three kinds with one interface. A port sends a batch of packets that are due with
 * as few system calls as possible.
 *
 * `udp`: one UDP socket per flow, sendmmsg, and segmentation offload (UDP_SEGMENT) for packets of a batch that belong
 * to one flow and have one size. `tcp`: a raw IP socket; the packets have TCP headers and belong to no connection.
 * `frames`: a packet socket at an interface, for the frames of a capture.
 *
 * Packets per second, for 1,442-byte packets over a veth pair to a socket that reads them (medians of four alternating
 * rounds on two busy processors):
 *
 *     UDP, sendmmsg with UDP_SEGMENT             354,000  (with a number and a time in each packet, as here: 345,000)
 *     packet socket, sendmmsg, without qdisc      84,000
 *     UDP, sendmmsg                               51,000
 *     packet socket, PACKET_TX_RING               38,000
 *
 * So a batch is eight messages of 64 KB in separate memory. With fewer messages the system calls cost more, and with
 * more messages copying costs more. flood.h has the measurements without a rate.
 * Rejected: PACKET_TX_RING. It is the slowest, has no UDP_SEGMENT, and would have to resolve addresses. */
#ifndef PL_PORT_H
#define PL_PORT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "nc_error.h"
#include "replay_frames.h"

enum { PL_BATCH_MAX = 512 };

/* A packet to send. */
struct pl_departure {
    uint64_t number;   /* number among all packets, from 0 */
    uint64_t sequence; /* number in its flow, from 0; in an `end` packet: the flow's number of packets */
    uint64_t due_ns;   /* CLOCK_MONOTONIC; used with SO_TXTIME */
    uint64_t sent_ns;  /* CLOCK_REALTIME; goes into the packet */
    uint32_t size;     /* length of the IP packet */
    uint16_t flow;
    bool end;
};

struct pl_port_counts {
    uint64_t refused;        /* packets after which ICMP reported that no socket listens; they had been sent */
    uint64_t dropped;        /* the interface had no buffer (ENOBUFS) */
    uint64_t too_long;       /* frames longer than the interface's MTU; not sent */
    uint64_t too_long_bytes; /* octets of these frames */
    uint64_t calls;          /* system calls */
};

struct pl_port_settings {
    struct sockaddr_storage to; /* udp, tcp: address and port */
    socklen_t to_len;
    uint16_t flows;
    uint32_t session;
    uint32_t largest;                        /* size of the largest packet */
    bool txtime;                             /* udp: the qdisc sends at due_ns */
    const char *interface;                   /* frames: NAME[@NETNS] */
    const struct pl_replay_frames *replayed; /* frames */
};

struct pl_port {
    const struct pl_port_ops *ops;
    struct pl_port_counts counts;
    uint16_t flows;
    uint32_t session;
    size_t batch_max; /* largest number of packets per call of `send`, at most PL_BATCH_MAX */
    size_t flood_max; /* largest number of packets per call of `flood`; 0: the port has no `flood` */
    size_t stride;    /* octets between two packets in `memory` */
    uint8_t *memory;  /* zeros, except for the headers */
};

/* send: returns 0, or -1 with the error (status 1). flood: the same for `n` packets of one flow, with consecutive
 * numbers from `first` on, all of the port's largest size. close: frees the port. */
struct pl_port_ops {
    int (*send)(struct pl_port *port, const struct pl_departure *batch, size_t n, struct nc_error *error);
    int (*flood)(struct pl_port *port, const struct pl_departure *first, size_t n, struct nc_error *error);
    void (*close)(struct pl_port *port);
};

/* Each returns a port, or NULL with the error. */
struct pl_port *pl_port_udp(const struct pl_port_settings *settings, struct nc_error *error);
struct pl_port *pl_port_tcp(const struct pl_port_settings *settings, struct nc_error *error);
struct pl_port *pl_port_frames(const struct pl_port_settings *settings, struct nc_error *error);

/* For implementations of ports: sets the common members and allocates `memory` for batches of packets with `largest`
 * octets. -1 without memory. */
int pl_port_init(struct pl_port *port, const struct pl_port_ops *ops, const struct pl_port_settings *settings,
                 size_t largest);

/* For implementations of ports: sends all messages on the socket, and counts the refused and the dropped ones. */
struct mmsghdr;
int pl_port_send_all(struct pl_port *port, int fd, struct mmsghdr *messages, size_t n, struct nc_error *error);

/* For implementations of ports: returns the memory for packet `i` of a batch, and writes its header there. */
uint8_t *pl_port_payload(struct pl_port *port, size_t i, size_t offset, const struct pl_departure *departure);

#endif
