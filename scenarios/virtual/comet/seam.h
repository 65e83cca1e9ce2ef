/* Read in front of every file of the box that is compiled into the kernel: memory comes from core.c, not from the C
 * library. Time and chance are passed in by the caller and need no seam. */
#ifndef COMET_SEAM_H
#define COMET_SEAM_H

#include <stdlib.h>

void *comet_malloc(size_t bytes);
void *comet_calloc(size_t n, size_t each);
void *comet_realloc(void *memory, size_t bytes);
void comet_free(void *memory);

#define malloc comet_malloc
#define calloc comet_calloc
#define realloc comet_realloc
#define free comet_free

#endif
