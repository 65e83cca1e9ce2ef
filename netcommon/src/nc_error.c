#include "nc_error.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

int nc_fail(struct nc_error *error, int status, const char *format, ...)
{
    va_list args;
    error->status = status;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    for (char *c = error->text; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';
    return -1;
}
