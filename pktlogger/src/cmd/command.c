/* Implements command.h. */
#include "command.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "nc_jsonl.h"
#include "nc_log.h"
#include "stream.h"

int pl_fail(bool human, int status, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (human)
        nc_log("%s", text);
    else
        nc_log_error(stdout, status, "%s", text);
    return status;
}

int pl_report(bool human, const struct nc_error *error)
{
    return pl_fail(human, error->status, "%s", error->text);
}

void pl_keep_freed_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the largest value that mallopt accepts */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

int pl_finish_stdout(int status)
{
    int failed = pl_stream_failed(stdout);
    if (!failed || status != NC_EXIT_OK)
        return status;
    nc_log("stdout: cannot write it: %s", strerror(failed));
    return NC_EXIT_FAILED;
}
