/* The suggestions for a misspelt word. */
#include "check.h"
#include "nc_near.h"

static const char *near(const char *word)
{
    static const char *const names[] = {"run", "show", "set", "congestion", "connect", "delay", "queue-packets", NULL};
    struct nc_near found = {.word = word};
    for (size_t i = 0; names[i]; i++)
        nc_near_show(&found, names[i]);
    return found.name ? found.name : "";
}

static void distances(void)
{
    CHECK_EQ(nc_near_distance("delay", "delay"), 0);
    CHECK_EQ(nc_near_distance("dealy", "delay"), 1); /* two letters in the wrong order */
    CHECK_EQ(nc_near_distance("dely", "delay"), 1);
    CHECK_EQ(nc_near_distance("delaay", "delay"), 1);
    CHECK_EQ(nc_near_distance("", "run"), 3);
    CHECK_EQ(nc_near_distance("kitten", "sitting"), 3);
}

static void names_that_are_near(void)
{
    CHECK_STR(near("rnu"), "run");
    CHECK_STR(near("congestoin"), "congestion");
    CHECK_STR(near("queue-packet"), "queue-packets");
    CHECK_STR(near("sett"), "set");
}

static void names_that_are_not(void)
{
    CHECK_STR(near("frobnicate"), "");
    CHECK_STR(near(""), "");
    CHECK_STR(near("so"), ""); /* two letters say too little */
    CHECK_STR(near("a-word-that-is-much-longer-than-any-name-that-an-option-could-ever-have"), "");
}

int main(void)
{
    RUN(distances);
    RUN(names_that_are_near);
    RUN(names_that_are_not);
    return 0;
}
