/* Finds the name that a misspelt word probably meant, for the end of an error message.
 * Rejected: all names with the same beginning. No option begins with `--dely`, and many begin with `--r`. */
#ifndef NC_NEAR_H
#define NC_NEAR_H

#include <stddef.h>

/* Returns the edit distance from `a` to `b`: how many letters must be inserted, removed, changed or swapped with the
 * next letter. Letters after the 40th are ignored. */
size_t nc_near_distance(const char *a, const char *b);

/* Keeps the name nearest to `word` among those passed to nc_near_show one after the other. */
struct nc_near {
    const char *word, *name; /* name: NULL until a name's distance is at most a third of the word's letters */
    size_t distance;
};

void nc_near_show(struct nc_near *near, const char *name);

#endif
