/* A growing array: PL_VECTOR(type) declares it, PL_APPEND and PL_MORE add to it. Elements move when it grows; indexes
 * stay valid. */
#ifndef PL_VECTOR_H
#define PL_VECTOR_H

#include <stddef.h>
#include <stdlib.h>

#define PL_VECTOR(type)                                                                                                \
    struct {                                                                                                           \
        type *at;                                                                                                      \
        size_t n, room;                                                                                                \
    }

/* Makes room for one more element. Returns the array, perhaps moved, or NULL without memory; then nothing has
 * changed. */
static inline void *pl_grow(void *at, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return at;
    size_t wanted = *room ? *room * 2 : 64;
    void *grown = wanted > *room && wanted <= SIZE_MAX / size ? realloc(at, wanted * size) : NULL;
    if (grown)
        *room = wanted;
    return grown;
}

/* Appends an element and returns it for the caller to set, or NULL without memory. */
#define PL_MORE(vector)                                                                                                \
    __extension__({                                                                                                    \
        void *grown_ = pl_grow((vector)->at, (vector)->n, &(vector)->room, sizeof *(vector)->at);                      \
        if (grown_)                                                                                                    \
            (vector)->at = grown_;                                                                                     \
        grown_ ? &(vector)->at[(vector)->n++] : NULL;                                                                  \
    })

/* Appends `value`; a large struct is copied twice. Its result is 0, or -1 without memory. */
#define PL_APPEND(vector, value)                                                                                       \
    __extension__({                                                                                                    \
        __typeof__((vector)->at) more_ = PL_MORE(vector);                                                              \
        if (more_)                                                                                                     \
            *more_ = (value);                                                                                          \
        more_ ? 0 : -1;                                                                                                \
    })

#endif
