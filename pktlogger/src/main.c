/* pktlogger: one function per verb, in a table. */
#include <signal.h>
#include <string.h>

#include "command.h"
#include "nc_program.h"

int main(int argc, char **argv)
{
    static const struct nc_verb verbs[] = {
        {"capture", "packets of several interfaces and namespaces into pcapng files", pl_cmd_capture},
        {"record", "what a delay box recorded, as captures at its ports and as columns", pl_cmd_record},
        {"index", "a capture into NumPy columns, one row a TCP packet", pl_cmd_index},
        {"frames", "a capture into NumPy columns, one row a frame of any kind: time, bytes, source", pl_cmd_frames},
        {"analyse", "captures of sender and receiver joined: losses, retransmissions, stops", pl_cmd_analyse},
        {"anonymise", "a capture without payload and names, with other addresses", pl_cmd_anonymise},
        {"match", "strings and regular expressions in TCP streams, of captures or live", pl_cmd_match},
        {"push", "packets at exact times: UDP, TCP-shaped, or the frames of a capture", pl_cmd_push},
        {"sink", "what became of them: loss, duplicates, reordering, delay, jitter", pl_cmd_sink},
        {"export", "the joined captures as time-sequence graphs for xplot", pl_cmd_export},
    };
    static const struct nc_program program = {.name = "pktlogger",
                                              .purpose = "Logs packets and says what happened to them.",
                                              .verbs = verbs,
                                              .verbs_n = sizeof verbs / sizeof verbs[0]};
    if (argc == 2 && strcmp(argv[1], "--causes-json") == 0)
        return pl_finish_stdout(pl_cmd_causes_json());
    signal(SIGPIPE, SIG_IGN); /* writing to a closed pipe must fail instead of ending the process, so that files are
                               * finished in order */
    return pl_finish_stdout(nc_program_main(&program, argc, argv));
}
