#include "error.h"

#include <stdarg.h>
#include <stdio.h>

int rttcp_fail(struct rttcp_error *error, int status, const char *format, ...)
{
    va_list args;
    error->status = status;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return -1;
}
