/* Everything that a peer may send: a stream of frames, each of whose messages goes to every decoder. A message that was
 * decoded and encoded again must decode again. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "control_connection.h"
#include "results.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_all(const json_t *message)
{
    struct rttcp_params params;
    struct rttcp_accept accept;
    struct rttcp_reason reason;
    struct rttcp_summary summary;
    struct rttcp_side side = {0};
    struct nc_error error;
    struct rttcp_stream_account account;
    uint64_t direction;
    char host[RTTCP_HOST_TEXT];
    rttcp_hello_decode(message, true, host, &error);
    rttcp_reason_decode(message, &reason, &error);
    rttcp_control_connection_unexpected(message, "result", &error);
    if (rttcp_params_decode(json_object_get(message, "params"), &params, &error) == 0) {
        json_t *again = rttcp_params_encode(&params);
        struct rttcp_params same;
        assert(rttcp_params_decode(again, &same, &error) == 0);
        assert(rttcp_params_compare(&params, &same, &error) == 0);
        json_decref(again);
    }
    if (rttcp_accept_decode(message, &accept, &params, &error) == 0)
        rttcp_accept_check(&accept, &params, 5010, &error);
    rttcp_intervals_decode(message, &side, &error);
    if (rttcp_direction_decode(message, &direction, &error) == 0)
        assert(direction < 2);
    if (rttcp_stream_decode(json_object_get(message, "account"), &account, &error) == 0) {
        json_t *again = rttcp_stream_encode(&account);
        assert(rttcp_stream_decode(again, &account, &error) == 0);
        json_decref(again);
    }
    if (rttcp_side_decode(json_object_get(message, "side"), &side, &error) == 0) {
        json_t *again = rttcp_side_encode(&side);
        assert(rttcp_side_decode(again, &side, &error) == 0);
        json_decref(again);
    }
    rttcp_summary_decode(json_object_get(message, "summary"), &summary, &error);
    rttcp_side_release(&side);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = data, *end = data + size;
    for (;;) {
        struct nc_error error;
        size_t used = 0;
        json_t *message = NULL;
        if (rttcp_frame_decode(at, end, &message, &used, &error) != FRAME_MESSAGE)
            return 0;
        assert(used >= RTTCP_FRAME_HEADER && used <= (size_t)(end - at));
        try_all(message);
        json_decref(message);
        at += used;
    }
}
