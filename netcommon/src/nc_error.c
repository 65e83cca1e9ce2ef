#include "nc_error.h"

#include <stdarg.h>
#include <stdio.h>

#include "nc_printable.h"

int nc_fail(struct nc_error *error, int status, const char *format, ...)
{
    va_list args;
    error->status = status;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    nc_printable(error->text);
    return -1;
}
