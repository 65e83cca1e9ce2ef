/* Names of causes in files, and words for people: of limits.h and losses.h. */
#include "limits.h"
#include "losses.h"

/* clang-format off */
static const char *const limits[PL_LIMIT_N][2] = {
    [PL_LIMIT_SLOW_START] = {"slow_start", "slow start"},
    [PL_LIMIT_CONGESTION_AVOIDANCE] = {"congestion_avoidance", "the congestion window, past slow start"},
    [PL_LIMIT_RECEIVER_WINDOW] = {"receiver_window", "the receiver's window"},
    [PL_LIMIT_ZERO_WINDOW] = {"zero_window", "a closed window"},
    [PL_LIMIT_SEND_BUFFER] = {"send_buffer", "the send buffer"},
    [PL_LIMIT_APPLICATION] = {"application", "the application, which had nothing to send"},
    [PL_LIMIT_PACING] = {"pacing", "pacing"},
    [PL_LIMIT_PATH_RATE] = {"path_rate", "the path's rate, which was in full use"},
    [PL_LIMIT_FAST_RECOVERY] = {"fast_recovery", "fast recovery"},
    [PL_LIMIT_TIMEOUT] = {"timeout", "time-outs and what followed them"},
    [PL_LIMIT_CAPTURE_LOSS] = {"capture_loss", "not known: the capture missed packets"},
    [PL_LIMIT_EMULATOR_LATE] = {"emulator_late", "the delay box, which was late"},
    [PL_LIMIT_PATH_DOWN] = {"path_down", "the path, which was down"},
    [PL_LIMIT_ECN] = {"ecn", "the congestion window, which ECN marks reduced"},
};
/* clang-format on */

const char *pl_limit_name(enum pl_limit_cause cause)
{
    return limits[cause][0];
}

const char *pl_limit_words(enum pl_limit_cause cause)
{
    return limits[cause][1];
}

/* clang-format off */
static const char *const losses[PL_LOSS_N][2] = {
    [PL_LOSS_TAIL_DROP] = {"tail_drop", "a full queue"},
    [PL_LOSS_AQM] = {"aqm", "active queue management"},
    [PL_LOSS_BEFORE] = {"random_before", "chance, before the bottleneck"},
    [PL_LOSS_BEHIND] = {"random_behind", "chance, behind the bottleneck"},
    [PL_LOSS_ANYWHERE] = {"random", "chance, on one side of the bottleneck or the other"},
    [PL_LOSS_OUTAGE] = {"outage", "an outage"},
    [PL_LOSS_EMULATOR] = {"emulator", "the delay box itself"},
    [PL_LOSS_CORRUPTED] = {"corrupted", "corruption on the way"},
    [PL_LOSS_CAPTURE] = {"capture_loss", "the receiver's capture alone, for they were acknowledged"},
    [PL_LOSS_RECEIVER] = {"receiver", "a full buffer in the receiver"},
    [PL_LOSS_UNKNOWN] = {"unknown", "a cause that the captures do not show"},
};
/* clang-format on */

const char *pl_loss_name(enum pl_loss_cause cause)
{
    return losses[cause][0];
}

const char *pl_loss_words(enum pl_loss_cause cause)
{
    return losses[cause][1];
}
