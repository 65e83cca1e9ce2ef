/* User-space versions of the functions that the algorithms require of their environment; and a round trip in virtual
 * time. */
#ifndef WORLD_H
#define WORLD_H

#include <math.h>
#include <stdint.h>

#include "check.h"

typedef uint32_t u32;
typedef uint64_t u64;
#define LFP_INLINE static inline __attribute__((unused))
#define LFP_DIV(a, b) ((u64)(a) / (u64)(b))

/* tolerance after a long transfer: fractions are Q32, products Q16 */
#define CHECK_NEAR(got, want, relative)                                                                                \
    do {                                                                                                               \
        double got_ = (double)(got), want_ = (double)(want);                                                           \
        if (!(fabs(got_ - want_) <= (relative) * fabs(want_))) {                                                       \
            fprintf(stderr, "%s:%d: %s: %s is %.9g, want %s = %.9g\n", __FILE__, __LINE__, __func__, #got, got_,       \
                    #want, want_);                                                                                     \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* The window, including the fraction that the algorithm keeps. */
#define EXACT(w, s) ((double)(w).cwnd + (double)(s).fraction_q32 / 4294967296.0)

#endif
