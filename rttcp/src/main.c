/* rttcp: parse, then one of two roles. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loader.h"
#include "output.h"
#include "session.h"
#include "stop.h"

#define STDOUT_BUFFER (1 << 20) /* an end line leaves in one write */

int main(int argc, char **argv)
{
    struct rttcp_settings settings;
    struct rttcp_error error;
    setvbuf(stdout, NULL, _IOFBF, STDOUT_BUFFER);
    if (argc > 1 && strcmp(argv[1], "cc") == 0)
        return cc_main(argc, argv);
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
