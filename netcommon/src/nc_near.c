#include "nc_near.h"

#include <string.h>

enum { LETTERS = 40 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t nc_near_distance(const char *a, const char *b)
{
    size_t rows = strnlen(a, LETTERS), columns = strnlen(b, LETTERS);
    size_t cost[LETTERS + 1][LETTERS + 1];
    for (size_t i = 0; i <= rows; i++)
        for (size_t j = 0; j <= columns; j++) {
            if (!i || !j) {
                cost[i][j] = i + j;
                continue;
            }
            cost[i][j] = least(cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]), least(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    return cost[rows][columns];
}

void nc_near_show(struct nc_near *near, const char *name)
{
    size_t distance = nc_near_distance(near->word, name), bound = strnlen(near->word, LETTERS) / 3;
    if (distance > bound || (near->name && distance >= near->distance))
        return;
    near->name = name;
    near->distance = distance;
}
