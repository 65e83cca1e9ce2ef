/* The name that a misspelt word was meant to be, for the end of an error.
 * Rejected: all names that begin alike. `--dely` has none, and `--r` has many. */
#ifndef NC_NEAR_H
#define NC_NEAR_H

#include <stddef.h>

/* How many letters must be put in, taken out, changed or swapped with the next one to make `b` of `a`. Letters behind
 * the 40th do not count. */
size_t nc_near_distance(const char *a, const char *b);

/* Keeps the nearest of the names that it is shown, one after the other. */
struct nc_near {
    const char *word, *name; /* name: NULL until one is near enough, at a third of the word's letters */
    size_t distance;
};

void nc_near_show(struct nc_near *near, const char *name);

#endif
