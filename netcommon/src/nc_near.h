/* Finds the name that a misspelt word probably meant, for the end of an error message.
 * Rejected: all names that begin alike. `--dely` has none, and `--r` has many. */
#ifndef NC_NEAR_H
#define NC_NEAR_H

#include <stddef.h>

/* The edit distance from `a` to `b`: letters inserted, removed, changed or swapped with the next one. Letters after the
 * 40th do not count. */
size_t nc_near_distance(const char *a, const char *b);

/* Remembers the nearest of the names that it is shown one after the other. */
struct nc_near {
    const char *word, *name; /* name: NULL until a name's distance is at most a third of the word's letters */
    size_t distance;
};

void nc_near_show(struct nc_near *near, const char *name);

#endif
