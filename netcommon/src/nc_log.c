#include "nc_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nc_jsonl.h"
#include "nc_printable.h"

enum { MESSAGE_MAX = 900 };

static void log_line(const char *format, va_list args)
{
    char line[1024];
    int n = snprintf(line, sizeof line - 1, "%s: ", program_invocation_short_name);
    size_t used = n < 0 ? 0 : (size_t)n;
    n = vsnprintf(line + used, sizeof line - 1 - used, format, args);
    used += n < 0 ? 0 : (size_t)n;
    if (used > sizeof line - 2)
        used = sizeof line - 2;
    nc_printable(line);
    line[used++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, used);
    (void)written; /* nowhere left to complain */
}

void nc_log(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_line(format, args);
    va_end(args);
}

void nc_log_error(FILE *out, int status, const char *format, ...)
{
    char message[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    nc_log("%s", message);
    nc_jsonl_event(out, "error", json_pack("{s:i, s:o}", "status", status, "message", nc_jsonl_text(message)));
}

void nc_die(enum nc_exit status, const char *format, ...)
{
    char message[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (isatty(STDOUT_FILENO))
        nc_log("%s", message);
    else
        nc_log_error(stdout, (int)status, "%s", message);
    exit((int)status);
}
