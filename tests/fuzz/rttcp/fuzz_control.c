/* Everything a peer may say: a stream of frames, each message given to every decoder there is. What is decoded and encoded
 * again must decode again. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "control.h"
#include "message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_all(const json_t *message)
{
    char why[200];
    struct rttcp_params params;
    struct rttcp_accept accept;
    struct rttcp_reason reason;
    struct rttcp_summary summary;
    struct rttcp_side side = {0};
    struct rttcp_error error;
    struct rttcp_proof proof;
    struct rttcp_stream_account account;
    uint64_t direction;
    char challenge[RTTCP_CHALLENGE_TEXT];
    rttcp_hello_decode(message, challenge, why, sizeof why);
    rttcp_reason_decode(message, &reason, why, sizeof why);
    rttcp_control_unexpected(message, "result", &error);
    if (rttcp_params_decode(json_object_get(message, "params"), &params, why, sizeof why) == 0) {
        json_t *again = rttcp_params_encode(&params);
        assert(rttcp_params_decode(again, &params, why, sizeof why) == 0);
        json_decref(again);
    }
    rttcp_accept_decode(message, &accept, &params, why, sizeof why);
    rttcp_intervals_decode(message, &side, why, sizeof why);
    rttcp_proof_take(message, &proof);
    if (rttcp_direction_decode(message, &direction, why, sizeof why) == 0)
        assert(direction < 2);
    if (rttcp_stream_decode(json_object_get(message, "account"), &account, why, sizeof why) == 0) {
        json_t *again = rttcp_stream_encode(&account);
        assert(rttcp_stream_decode(again, &account, why, sizeof why) == 0);
        json_decref(again);
    }
    if (rttcp_side_decode(json_object_get(message, "side"), &side, why, sizeof why) == 0) {
        json_t *again = rttcp_side_encode(&side);
        assert(rttcp_side_decode(again, &side, why, sizeof why) == 0);
        json_decref(again);
    }
    rttcp_summary_decode(json_object_get(message, "summary"), &summary, why, sizeof why);
    rttcp_side_release(&side);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = data, *end = data + size;
    for (;;) {
        char why[200];
        size_t used = 0;
        json_t *message = NULL;
        if (rttcp_frame_decode(at, end, &message, &used, why, sizeof why) != FRAME_MESSAGE)
            return 0;
        assert(used >= RTTCP_FRAME_HEADER && used <= (size_t)(end - at));
        try_all(message);
        json_decref(message);
        at += used;
    }
}
