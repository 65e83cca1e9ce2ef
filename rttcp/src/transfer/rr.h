/* Request and response: one end of a connection that carries dependent exchanges. The client sends a request; the
 * server answers when it has all of it; the client sends the next request when it has all of the answer. So at most one
 * message is in flight, and the speed of light alone bounds the rate of exchanges (netperf's TCP_RR is the model).
 *
 *     client   send request ──► receive response ──► …      a latency is the time from one send to the end of
 *     server   receive request ──► send response ──► …      its response, where the next exchange begins
 *
 * Octets beyond a message are an error of the peer, because it must wait for its turn. Nothing here reads a clock or
 * uses a socket; rr_io.c does both. Rejected: several requests in flight (netperf's burst mode); with them the result
 * depends on the rate, which other transfers measure. */
#ifndef RTTCP_RR_H
#define RTTCP_RR_H

#include <stdbool.h>
#include <stdint.h>

#include "latencies.h"
#include "message.h"
#include "nc_spread.h"

struct rttcp_rr {
    bool client;
    uint64_t request_bytes, response_bytes;
    bool answering;      /* the response is being transferred, not the request */
    uint64_t left_bytes; /* octets of the current message that have not moved yet */
    uint64_t exchanges;  /* exchanges completed; at the server: those whose response the kernel has accepted */
    /* client: when the first request was sent; when the last response ended, at which time the next request begins */
    uint64_t begun_ns, last_ns;
    uint64_t measured_ns;             /* client: latency counts the exchanges that began at this time or later */
    struct nc_spread latency;         /* client */
    struct rttcp_latencies latencies; /* client: each exchange's latency, if they are wanted */
};

/* Returns NULL without memory. The parameters give the sizes. */
struct rttcp_rr *rttcp_rr_create(const struct rttcp_params *params, bool client);
void rttcp_rr_release(struct rttcp_rr *rr);

/* The client is about to send its first request. Exchanges that begin within omit_ns from now have no latency. */
void rttcp_rr_begin(struct rttcp_rr *rr, uint64_t now_ns, uint64_t omit_ns);

/* Returns whether it is this end's turn to send. */
bool rttcp_rr_sends(const struct rttcp_rr *rr);

/* Returns whether no octet of the next exchange has moved yet. Only then may the stream end. */
bool rttcp_rr_between(const struct rttcp_rr *rr);

/* `bytes` were sent or received. Returns false without a change when the message has fewer octets left. */
bool rttcp_rr_moved(struct rttcp_rr *rr, uint64_t bytes, uint64_t now_ns);

#endif
