/* rttcp: parse, then one of two roles. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loader.h"
#include "session.h"
#include "stop.h"

#define STDOUT_BUFFER (1 << 20) /* an end line leaves in one write */

/* Results that could not be written are a failure, however well the transfer went. */
static int check_stdout(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    nc_log("stdout: %s; results are missing", errno ? strerror(errno) : "could not be written");
    return status ? status : NC_EXIT_FAILED;
}

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
    return check_stdout(status);
}
