/* Implements names.h, and the names and words of limits.h, losses.h and transfer.h. */
#include "names.h"

#include "limits.h"
#include "losses.h"

#define CHANCE                                                                                                         \
    "Look for errors of the interfaces along the path (ethtool -S); a congestion control that does not halve its "     \
    "window for each loss (net.ipv4.tcp_congestion_control = bbr) suffers less."

/* clang-format off */
static const struct pl_cause_row limits[PL_LIMIT_N] = {
    [PL_LIMIT_SLOW_START] = {"slow_start", "slow start", "congestion",
        "The congestion window, while it grows by slow start.",
        "The transfer was over before its window had grown. Use one connection for many transfers, or make each "
        "transfer larger."},
    [PL_LIMIT_CONGESTION_AVOIDANCE] = {"congestion_avoidance", "the congestion window, past slow start", "congestion",
        "The congestion window, last reduced for a loss or not at all.", NULL},
    [PL_LIMIT_RECEIVER_WINDOW] = {"receiver_window", "the receiver's window", "host",
        "The receiver's window left no room for a segment.",
        "Raise the receiver's buffer (the last value of net.ipv4.tcp_rmem, or the program's SO_RCVBUF)."},
    [PL_LIMIT_ZERO_WINDOW] = {"zero_window", "a closed window", "host",
        "The receiver's window was 0.",
        "The receiving program did not read what had arrived: look at it, and at its disk. A larger buffer only "
        "postpones this."},
    [PL_LIMIT_SEND_BUFFER] = {"send_buffer", "the send buffer", "host",
        "The sender's program waited for room in its send buffer.",
        "Raise the sender's buffer (the last value of net.ipv4.tcp_wmem, or the program's SO_SNDBUF)."},
    [PL_LIMIT_APPLICATION] = {"application", "the application, which had nothing to send", "host",
        "The sender's program had given nothing that could be sent.",
        "Look at the sending program: its disk, its processor, or requests that wait for answers."},
    [PL_LIMIT_PACING] = {"pacing", "pacing", "pacing",
        "The sender spread its packets evenly, more slowly than its window allowed.",
        "Look for a rate limit in the program (SO_MAX_PACING_RATE) or in a queueing discipline at the sender. BBR always "
        "paces, at its estimate of the path's rate."},
    [PL_LIMIT_PATH_RATE] = {"path_rate", "the path's rate, which was in full use", "path",
        "The bottleneck worked all the time.",
        "No setting of the ends helps; only a faster path does, or less traffic on it."},
    [PL_LIMIT_FAST_RECOVERY] = {"fast_recovery", "fast recovery", "recovery",
        "A fast recovery was under way; or all data had been sent, and a loss was still to be repaired.",
        NULL},
    [PL_LIMIT_TIMEOUT] = {"timeout", "time-outs and what followed them", "recovery",
        "The sender waited for a retransmission time-out, or its recovery was under way.", NULL},
    [PL_LIMIT_CAPTURE_LOSS] = {"capture_loss", "something unknown, for the capture missed packets", "unknown",
        "The sender's capture lacks packets, so the cause is not known.",
        "Capture with a larger buffer (tcpdump -B) or less of each packet (tcpdump -s 128)."},
    [PL_LIMIT_EMULATOR_LATE] = {"emulator_late", "the delay box, which was late", "emulator",
        "The delay box was late, by its own record.", NULL},
    [PL_LIMIT_PATH_DOWN] = {"path_down", "the path, which was down", "path",
        "The path had an outage, and nothing passed.",
        "Find out what takes the path down."},
    [PL_LIMIT_ECN] = {"ecn", "the congestion window, which ECN marks reduced", "congestion",
        "The congestion window past slow start, last reduced for ECN's marks.",
        "The path marks packets, and the sender slows down, as ECN intends."},
};
static const struct pl_cause_row losses[PL_LOSS_N] = {
    [PL_LOSS_TAIL_DROP] = {"tail_drop", "a full queue", "path",
        "A queue had no room.",
        "Give the bottleneck a longer queue, or let the sender pace its packets (net.core.default_qdisc = fq)."},
    [PL_LOSS_AQM] = {"aqm", "active queue management", "path",
        "Queue management dropped it before the queue was full.",
        "Queue management drops to keep its queue short; with ECN (net.ipv4.tcp_ecn = 1) it would mark instead."},
    [PL_LOSS_BEFORE] = {"random_before", "chance, before the bottleneck", "path",
        "Chance took it before the bottleneck.",
        CHANCE},
    [PL_LOSS_BEHIND] = {"random_behind", "chance, behind the bottleneck", "path",
        "Chance took it behind the bottleneck.",
        CHANCE},
    [PL_LOSS_ANYWHERE] = {"random", "chance, on one side of the bottleneck or the other", "path",
        "Chance took it; the captures do not show on which side of the bottleneck.",
        CHANCE},
    [PL_LOSS_OUTAGE] = {"outage", "an outage", "path",
        "The path was down.",
        "Find out what takes the path down."},
    [PL_LOSS_EMULATOR] = {"emulator", "the delay box itself", "emulator",
        "The delay box itself lost it, against its model of the path.", NULL},
    [PL_LOSS_CORRUPTED] = {"corrupted", "corruption on the way", "path",
        "The path flipped a bit, and the receiver's TCP dropped it.",
        "Look for errors of the interfaces along the path (ethtool -S)."},
    [PL_LOSS_CAPTURE] = {"capture_loss", "the receiver's capture alone, for they were acknowledged", "unknown",
        "It arrived, and the receiver's capture missed it.", NULL},
    [PL_LOSS_RECEIVER] = {"receiver", "a full buffer in the receiver", "host",
        "A buffer of the receiver had no room.",
        "Enlarge the receive ring of the receiver's interface (ethtool -G)."},
    [PL_LOSS_UNKNOWN] = {"unknown", "a cause that the captures do not show", "unknown",
        "The captures do not show why.",
        "Captures of both ends, or the counters of the interfaces along the path, would tell why."},
    [PL_LOSS_POLICER] = {"policer", "a policer", "path",
        "A policer dropped it because it was over the rate.",
        "Let the sender pace below the policer's rate, or ask the operator for a larger burst."},
};
static const struct pl_cause_row stops[PL_CAUSE_N] = {
    [PL_RTO_AFTER_TAIL_DROP] = {"rto_after_tail_drop", "a time-out after a tail drop", "recovery",
        "A time-out ended it; what was lost includes a tail drop.", NULL},
    [PL_RTO_AFTER_LOSS] = {"rto_after_loss", "a time-out after a loss", "recovery",
        "A time-out after any other loss ended it.", NULL},
    [PL_RTO_AFTER_LOST_RETRANSMISSION] = {"rto_after_lost_retransmission", "a time-out after lost retransmissions",
        "recovery", "A time-out ended it; all that was lost had been sent again.", NULL},
    [PL_RTO_SPURIOUS] = {"rto_spurious", "a time-out without a loss", "recovery",
        "A time-out ended it although nothing outstanding was lost.", NULL},
    [PL_CAUSE_ZERO_WINDOW] = {"zero_window", "a closed window", "host",
        "The receiver's window was 0 for more than half of it.", NULL},
    [PL_CAUSE_RECEIVER_WINDOW] = {"receiver_window", "the receiver's window", "host",
        "The receiver's window left no room for a segment.", NULL},
    [PL_CAUSE_IDLE] = {"idle", "nothing outstanding", "host",
        "Nothing was outstanding for more than half of it.", NULL},
    [PL_LOSS_RECOVERY] = {"loss_recovery", "a fast recovery", "recovery",
        "A fast retransmission ended it.", NULL},
    [PL_ACK_WAIT] = {"ack_wait", "a wait for acknowledgements", "congestion",
        "The sender waited for acknowledgements.", NULL},
    [PL_UNFINISHED] = {"unfinished", "the end of the capture", "unknown",
        "The capture ended while data were outstanding.", NULL},
};
static const struct pl_cause_row verdicts[PL_FINDING_N] = {
    [PL_FOUND_LOSSES] = {"losses", "losses and what followed them", "recovery",
        "Recoveries, time-outs and the congestion window that losses had reduced, together.", NULL},
    [PL_FOUND_POLICER] = {"policer", "a policer", "path",
        "One rate and one burst explain the losses: a token bucket was empty, and no queue stood.",
        "Let the sender pace below that rate (SO_MAX_PACING_RATE, or maxrate of the queueing discipline fq), or ask for a "
        "deeper bucket or a shaper."},
    [PL_FOUND_PATH_MTU] = {"path_mtu", "a black hole for large packets", "path",
        "Packets of one size never arrived, however often they were sent, and smaller ones did.",
        "Let ICMP's 'fragmentation needed' through, clamp the MSS (iptables --clamp-mss-to-pmtu), or set "
        "net.ipv4.tcp_mtu_probing = 1 at the sender."},
    [PL_FOUND_SLOW_READER] = {"slow_reader", "the receiving program, which read slowly", "host",
        "The receiver's window was closed; or it was full, and smaller than three quarters of the largest window offered "
        "after the first offer.",
        "The receiving program did not read what had arrived: look at it, and at its disk. A larger buffer only postpones "
        "this."},
    [PL_FOUND_NAGLE] = {"nagle", "Nagle's algorithm and delayed acknowledgements", "host",
        "Short packets left only when an acknowledgement came that the receiver had delayed.",
        "Let the sending program write whole messages at once, or set TCP_NODELAY."},
    [PL_FOUND_CROSS_TRAFFIC] = {"cross_traffic", "the path's rate, which other connections shared", "path",
        "The bottleneck worked all the time, and other connections of the captures sent the same way meanwhile.",
        "Let the others send at other times, or give each its share at the bottleneck (queue management per flow, such as "
        "fq_codel or cake)."},
    [PL_FOUND_REQUESTS] = {"request_response", "the sending program, which waited for answers", "host",
        "The peer's data came, and all that had been sent was acknowledged, before the program sent more.",
        "Let the program send more before it waits: larger messages, several requests at once, or several connections."},
    [PL_FOUND_WAY_BACK] = {"way_back", "the reverse direction, where acknowledgements waited", "path",
        "A window limited the sender, and acknowledgements waited in queues for longer than a round trip without queues "
        "takes.",
        "Take the load off the other direction, keep its queue short (fq_codel or cake), or let acknowledgements go "
        "first there."},
    [PL_FOUND_GATEWAY] = {"gateway", "a gateway's buffer, behind which the data went on too slowly", "host",
        "The receiver's window was full, and the receiver is a gateway, or meanwhile sent as many octets on over another "
        "connection.",
        "Look at the connection behind the gateway: captures at both of its ends tell what limits it (lfp legs)."},
    [PL_FOUND_GATEWAY_FEED] = {"gateway_feed", "the gateway that sends, which had nothing more to pass on", "host",
        "The sender is a gateway, and all that had come to it had been sent.",
        "Look at the connection in front of that gateway: captures at both of its ends tell what limits it (lfp legs)."},
};
/* clang-format on */

const struct pl_cause_row *pl_cause_rows(enum pl_cause_list list, size_t *n)
{
    static const struct {
        const struct pl_cause_row *rows;
        size_t n;
    } lists[PL_CAUSES_N] = {
        [PL_CAUSES_LIMITS] = {limits, PL_LIMIT_N},
        [PL_CAUSES_LOSSES] = {losses, PL_LOSS_N},
        [PL_CAUSES_STOPS] = {stops, PL_CAUSE_N},
        [PL_CAUSES_VERDICTS] = {verdicts, PL_FINDING_N},
    };
    *n = lists[list].n;
    return lists[list].rows;
}

const char *pl_limit_name(enum pl_limit_cause cause)
{
    return limits[cause].name;
}

const char *pl_limit_words(enum pl_limit_cause cause)
{
    return limits[cause].words;
}

const char *pl_loss_name(enum pl_loss_cause cause)
{
    return losses[cause].name;
}

const char *pl_loss_words(enum pl_loss_cause cause)
{
    return losses[cause].words;
}

const char *pl_cause_name(enum pl_cause cause)
{
    return stops[cause].name;
}
