/* rttcp: parses the command line, then takes one of two roles. `cc` and `watch` are verbs of their own. */
#include <stdio.h>
#include <unistd.h>

#include "loader.h"
#include "nc_program.h"
#include "output.h"
#include "roles.h"
#include "stop.h"
#include "watch.h"

#define STDOUT_BUFFER (1 << 20) /* the buffer is large enough that an `end` line leaves in one write */

static int transfer(int argc, char **argv)
{
    struct rttcp_settings settings;
    struct nc_error error;
    int parsed = rttcp_settings_parse(&settings, argc, argv, &error);
    struct rttcp_output output = {.format = rttcp_settings_format(&settings, isatty(STDOUT_FILENO)),
                                  .lock_fd = rttcp_output_lock_create()};
    if (parsed < 0 || cc_hold_for_transfer(settings.congestion, &settings.congestion, &error) < 0) {
        rttcp_output_error(&output, &error);
        return error.status;
    }
    rttcp_stop_install();
    if (settings.parent_death)
        rttcp_stop_with_parent(getppid());
    int status = settings.receive ? rttcp_server_run(&settings, &output) : rttcp_sender_run(&settings, &output);
    return rttcp_output_check(status);
}

int main(int argc, char **argv)
{
    static const struct nc_verb verbs[] = {{"cc", "congestion controls that the kernel lacks", cc_main},
                                           {"watch", "samples of the connections of any program", rttcp_watch_main}};
    static const struct nc_program program = {.name = "rttcp",
                                              .purpose = "Sends (-t HOST) or receives (-r) memory to memory over TCP.",
                                              .run = transfer,
                                              .verbs = verbs,
                                              .verbs_n = sizeof verbs / sizeof verbs[0]};
    setvbuf(stdout, NULL, _IOFBF, STDOUT_BUFFER);
    return nc_program_main(&program, argc, argv);
}
