#include "control_connection.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "message.h"
#include "nc_clock.h"

/* The first octet of a message's length is at most this, so another protocol is usually recognised by its first octet,
 * even if it sends no more: an iperf3 server sends one octet and waits. */
#define LENGTH_BEGINS_MAX (RTTCP_FRAME_MAX >> 24)
#define IPERF3_PARAM_EXCHANGE 9 /* what its server says first */

static enum rttcp_frame of_another_program(uint8_t octet, struct nc_error *error)
{
    if (octet == IPERF3_PARAM_EXCHANGE)
        nc_fail(error, NC_EXIT_FAILED, "the octet 9, as an iperf3 server does; want 'rttcp -r' there, or iperf3 here");
    else
        nc_fail(error, NC_EXIT_FAILED, "the octet %u first, with which no message of rttcp begins", octet);
    return FRAME_BAD;
}

enum rttcp_frame rttcp_frame_decode(const uint8_t *at, const uint8_t *end, json_t **message, size_t *used,
                                    struct nc_error *error)
{
    json_error_t where;
    uint32_t length;
    if (at < end && at[0] > LENGTH_BEGINS_MAX)
        return of_another_program(at[0], error);
    if (end - at < RTTCP_FRAME_HEADER)
        return FRAME_INCOMPLETE;
    memcpy(&length, at, sizeof length);
    length = be32toh(length);
    if (length < 2 || length > RTTCP_FRAME_MAX) {
        nc_fail(error, NC_EXIT_FAILED, "a message of %u octets; at most %d are allowed", length, RTTCP_FRAME_MAX);
        return FRAME_BAD;
    }
    if ((size_t)(end - at) - RTTCP_FRAME_HEADER < length)
        return FRAME_INCOMPLETE;
    *message = json_loadb((const char *)at + RTTCP_FRAME_HEADER, length, JSON_REJECT_DUPLICATES, &where);
    if (!*message || !json_is_object(*message) || !rttcp_message_type(*message)[0]) {
        nc_fail(error, NC_EXIT_FAILED, "a message that is not a JSON object with a type");
        json_decref(*message);
        *message = NULL;
        return FRAME_BAD;
    }
    *used = RTTCP_FRAME_HEADER + length;
    return FRAME_MESSAGE;
}

size_t rttcp_frame_encode(const json_t *message, uint8_t *buf)
{
    size_t length = json_dumpb(message, (char *)buf + RTTCP_FRAME_HEADER, RTTCP_FRAME_MAX, JSON_COMPACT);
    assert(length >= 2 && length <= RTTCP_FRAME_MAX);
    uint32_t header = htobe32((uint32_t)length);
    memcpy(buf, &header, sizeof header);
    return RTTCP_FRAME_HEADER + length;
}

/* Writes the rest of the current frame. */
static int flush(struct rttcp_control_connection *control, uint64_t deadline_ns, struct nc_error *error)
{
    while (control->sent < control->to_send) {
        long n = rttcp_channel_write(&control->channel, control->out + control->sent, control->to_send - control->sent,
                                     error);
        if (n > 0)
            control->sent += (size_t)n;
        else if (n == CHANNEL_CLOSED)
            return nc_fail(error, NC_EXIT_FAILED, "control connection: the peer closed it");
        else if (n == CHANNEL_BAD)
            return -1;
        else if (nc_now_ns() >= deadline_ns)
            return nc_fail(error, NC_EXIT_FAILED, "control connection: the peer takes no messages");
        else
            rttcp_channel_wait(&control->channel, deadline_ns);
    }
    return 0;
}

int rttcp_control_connection_send(struct rttcp_control_connection *control, json_t *message, uint64_t deadline_ns,
                                  struct nc_error *error)
{
    int status = flush(control, deadline_ns, error);
    if (status == 0) {
        control->sent = 0;
        control->to_send = rttcp_frame_encode(message, control->out);
        status = flush(control, deadline_ns, error);
    }
    json_decref(message);
    return status;
}

/* Takes a message from the buffer; GOT_NOTHING when it holds none. */
static enum rttcp_got take(struct rttcp_control_connection *control, json_t **message, struct nc_error *error)
{
    struct nc_error bad;
    size_t used;
    switch (rttcp_frame_decode(control->buf, control->buf + control->held, message, &used, &bad)) {
    case FRAME_MESSAGE:
        control->held -= used;
        memmove(control->buf, control->buf + used, control->held);
        return GOT_MESSAGE;
    case FRAME_BAD:
        nc_fail(error, NC_EXIT_FAILED, "control connection: the peer sent %s", bad.text);
        return GOT_BAD;
    case FRAME_INCOMPLETE:
        break;
    }
    return GOT_NOTHING;
}

enum rttcp_got rttcp_control_connection_poll(struct rttcp_control_connection *control, uint64_t deadline_ns,
                                             json_t **message, struct nc_error *error)
{
    for (;;) {
        enum rttcp_got got = take(control, message, error);
        if (got != GOT_NOTHING)
            return got;
        /* take() has removed any frame that fills the buffer, so there is room */
        long n = rttcp_channel_read(&control->channel, control->buf + control->held,
                                    sizeof control->buf - control->held, error);
        if (n > 0)
            control->held += (size_t)n;
        else if (n != CHANNEL_WAIT)
            return n == CHANNEL_CLOSED ? GOT_CLOSED : GOT_BAD;
        else if (!rttcp_channel_wait(&control->channel, deadline_ns))
            return GOT_NOTHING;
    }
}

int rttcp_control_connection_unexpected(const json_t *message, const char *wanted, struct nc_error *error)
{
    struct rttcp_reason reason;
    struct nc_error ignored;
    const char *type = rttcp_message_type(message);
    bool has_reason = strcmp(type, "refuse") == 0 || strcmp(type, "abort") == 0;
    if (has_reason && rttcp_reason_decode(message, &reason, &ignored) == 0)
        return nc_fail(error, reason.status ? (int)reason.status : NC_EXIT_FAILED, "the peer %s: %s",
                       type[0] == 'r' ? "refused" : "gave up", reason.reason);
    return nc_fail(error, NC_EXIT_FAILED, "control connection: the peer sent an unexpected message instead of '%s'",
                   wanted);
}

static bool is_stopping(const struct rttcp_control_connection *control)
{
    return control->stop_requested && control->stop_requested();
}

json_t *rttcp_control_connection_expect(struct rttcp_control_connection *control, const char *type,
                                        uint64_t deadline_ns, struct nc_error *error)
{
    json_t *message = NULL;
    bool stopping = is_stopping(control); /* if a stop was requested before, this exchange is part of the orderly end */
    while (nc_now_ns() < deadline_ns && is_stopping(control) == stopping) {
        switch (rttcp_control_connection_poll(control, deadline_ns, &message, error)) {
        case GOT_MESSAGE:
            if (strcmp(rttcp_message_type(message), type) == 0)
                return message;
            rttcp_control_connection_unexpected(message, type, error);
            json_decref(message);
            return NULL;
        case GOT_CLOSED:
            nc_fail(error, NC_EXIT_FAILED, "the peer closed the control connection while '%s' was awaited", type);
            return NULL;
        case GOT_BAD:
            return NULL;
        case GOT_NOTHING:
            break;
        }
    }
    if (is_stopping(control) != stopping)
        nc_fail(error, NC_EXIT_FAILED, "stopped by a signal before the transfer began");
    else
        nc_fail(error, NC_EXIT_FAILED, "the peer did not send '%s' in time", type);
    return NULL;
}
