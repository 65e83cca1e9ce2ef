/* lft-explore: tries everything that an outsider can do with the handshake of two real links, up to a number of actions
 * (README.md says what that proves and what it does not).
 *
 *     lft-explore ACTIONS    the product as it is: every property must hold
 *     lft-explore wrong      deliberately wrong programs: each must violate its property
 *
 * The search is breadth first, so the first counterexample is among the shortest. A world (the two links and all
 * messages) cannot be copied, so each is rebuilt from its list of actions. Two lists that lead to the same state are
 * followed once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "nc_clock.h"
#include "watch.h"
#include "proof.h"

enum { ACTIONS_MAX = 16, KINDS = SET_BACK + 1, WRONG_ACTIONS = 4 };

struct path {
    unsigned n;
    struct action actions[ACTIONS_MAX];
};
struct search {
    enum start start;
    unsigned actions_max;
    struct path *paths; /* paths that have led to a new state; `followed` of them have been extended */
    size_t paths_n, paths_room, followed;
    uint64_t *seen; /* the states reached so far, as an open-addressing hash table */
    size_t seen_room;
    uint64_t tried, slowest_ns;
};

static void grow_seen(struct search *search)
{
    size_t old_room = search->seen_room;
    uint64_t *old = search->seen;
    search->seen_room = old_room ? 2 * old_room : 1 << 12;
    CHECK((search->seen = calloc(search->seen_room, sizeof *search->seen)));
    for (size_t i = 0; i < old_room; i++)
        if (old[i]) {
            size_t at = old[i] % search->seen_room;
            while (search->seen[at])
                at = (at + 1) % search->seen_room;
            search->seen[at] = old[i];
        }
    free(old);
}

/* True when no earlier path has reached this state. */
static bool is_new(struct search *search, uint64_t state)
{
    if (2 * search->paths_n >= search->seen_room)
        grow_seen(search);
    size_t at = (state |= 1) % search->seen_room;
    for (; search->seen[at]; at = (at + 1) % search->seen_room)
        if (search->seen[at] == state)
            return false;
    search->seen[at] = state;
    return true;
}

static void keep_path(struct search *search, const struct path *path)
{
    if (search->paths_n == search->paths_room) {
        search->paths_room = search->paths_room ? 2 * search->paths_room : 1024;
        CHECK((search->paths = realloc(search->paths, search->paths_room * sizeof *search->paths)));
    }
    search->paths[search->paths_n++] = *path;
}

/* Follows the path. In a state that no earlier path has reached, it tries forgeries and checks that the tunnel comes
 * up. */
static const char *visit(struct search *search, const struct path *path)
{
    world_begin(search->start);
    for (unsigned i = 0; i < path->n && !world->watched.violated; i++)
        world_act(path->actions[i]);
    search->tried++;
    if (!world->watched.violated && is_new(search, world_state())) {
        uint64_t ns = 0;
        keep_path(search, path);
        world_try_forgeries();
        world_recovers(&ns);
        search->slowest_ns = ns > search->slowest_ns ? ns : search->slowest_ns;
    }
    const char *violated = world->watched.violated;
    world_end();
    return violated;
}

static void print_path(const struct search *search, const struct path *path, const char *violated)
{
    printf("  does not hold: %s\n    %s\n", violated, start_names[search->start]);
    world_begin(search->start);
    for (unsigned i = 0; i < path->n; i++) {
        world_describe(path->actions[i]);
        world_act(path->actions[i]);
    }
    world_end();
}

/* Lists all actions that are possible in the state at the end of the path. */
static unsigned next_actions(const struct search *search, const struct path *path,
                             struct action next[KINDS * MESSAGES_MAX])
{
    unsigned n = 0;
    world_begin(search->start);
    for (unsigned i = 0; i < path->n; i++)
        world_act(path->actions[i]);
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned which = 0; which < MESSAGES_MAX; which++) {
            const struct action action = {(uint8_t)kind, (uint8_t)which};
            if (world_allows(action))
                next[n++] = action;
        }
    world_end();
    return n;
}

/* Explores the paths. Returns the name of a property that does not hold, or NULL. */
static const char *explore(struct search *search)
{
    static struct action next[KINDS * MESSAGES_MAX];
    const struct path empty = {0};
    const char *violated = visit(search, &empty);
    if (violated)
        print_path(search, &empty, violated);
    for (; !violated && search->followed < search->paths_n; search->followed++) {
        struct path path = search->paths[search->followed];
        if (path.n == search->actions_max)
            break;
        unsigned n = next_actions(search, &path, next);
        path.n++;
        for (unsigned i = 0; i < n && !violated; i++) {
            path.actions[path.n - 1] = next[i];
            if ((violated = visit(search, &path)))
                print_path(search, &path, violated);
        }
    }
    free(search->paths);
    free(search->seen);
    return violated;
}

static int explore_right(unsigned actions)
{
    for (int start = 0; start < STARTS; start++) {
        struct search search = {.start = (enum start)start, .actions_max = actions};
        const char *violated = explore(&search);
        printf("%s: %zu states in %llu lists of %u actions, up within %.2f s\n", start_names[start], search.paths_n,
               (unsigned long long)search.tried, actions, (double)search.slowest_ns / NC_NS_PER_S);
        fflush(stdout);
        if (violated)
            return 1;
    }
    return 0;
}

static int explore_wrong(void)
{
    for (int wrong = RIGHT + 1; wrong < WRONGS; wrong++) {
        const struct wrong_product *product = &wrong_products[wrong];
        struct search search = {.start = product->start, .actions_max = WRONG_ACTIONS};
        watch_wrong = (enum wrong)wrong;
        printf("%s\n", product->name);
        const char *violated = explore(&search);
        CHECK_STR(violated ? violated : "nothing is seen", product->breaks);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "wrong") == 0)
        return explore_wrong();
    int actions = argc == 2 ? atoi(argv[1]) : 0;
    if (actions >= 1 && actions <= ACTIONS_MAX)
        return explore_right((unsigned)actions);
    fprintf(stderr, "usage: lft-explore 1...%d|wrong\n", ACTIONS_MAX);
    return 2;
}
