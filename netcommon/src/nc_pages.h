/* Large zeroed tables; only touched pages take memory. A guard page follows the table, so an index beyond a table of
 * whole pages ends the program.
 * Rejected: calloc. glibc uses fresh pages only above a threshold, which it raises when such memory is freed; below it
 * calloc clears, and so touches, the whole table. AddressSanitizer also touches memory of an eighth of its size each
 * time. */
#ifndef NC_PAGES_H
#define NC_PAGES_H

#include <stddef.h>

void *nc_pages_map(size_t bytes);            /* NULL with errno */
void nc_pages_unmap(void *at, size_t bytes); /* `at` may be NULL */
void nc_pages_clear(void *at, size_t bytes); /* makes the table all zeros again and returns its memory to the kernel */

#endif
