/* Checks for C tests. A check that fails reports its place, its text and the values, and ends the program. Not
 * assert(), because a test must not depend on NDEBUG. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: failed: %s\n", __FILE__, __LINE__, __func__, #condition);                      \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define CHECK_EQ(got, want)                                                                                            \
    do {                                                                                                               \
        long long got_ = (long long)(got), want_ = (long long)(want);                                                  \
        if (got_ != want_) {                                                                                           \
            fprintf(stderr, "%s:%d: %s: %s is %lld, want %s = %lld\n", __FILE__, __LINE__, __func__, #got, got_,       \
                    #want, want_);                                                                                     \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define CHECK_STR(got, want)                                                                                           \
    do {                                                                                                               \
        const char *got_ = (got), *want_ = (want);                                                                     \
        if (strcmp(got_, want_) != 0) {                                                                                \
            fprintf(stderr, "%s:%d: %s: %s is \"%s\", want \"%s\"\n", __FILE__, __LINE__, __func__, #got, got_,        \
                    want_);                                                                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A call that returns -1 and fills in an nc_error when it fails; `text` is the call's input. */
#define CHECK_DONE(call, text, error)                                                                                  \
    do {                                                                                                               \
        if ((call) < 0) {                                                                                              \
            fprintf(stderr, "%s:%d: %s: '%s': %s\n", __FILE__, __LINE__, __func__, (text), (error).text);              \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Names a test function and runs it. The last "run" without an "ok" is the test that failed. */
#define RUN(test)                                                                                                      \
    do {                                                                                                               \
        printf("run %s\n", #test);                                                                                     \
        fflush(stdout);                                                                                                \
        test();                                                                                                        \
        printf("ok %s\n", #test);                                                                                      \
    } while (0)

#endif
