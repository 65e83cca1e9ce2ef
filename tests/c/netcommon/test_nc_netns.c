#include <unistd.h>

#include "check.h"
#include "nc_netns.h"

static void name_and_namespace(void)
{
    static const struct {
        const char *text, *name, *spec;
    } rows[] = {
        {"eth0", "eth0", NULL}, {"eth0@1234", "eth0", "1234"}, {"eth0@/proc/1/ns/net", "eth0", "/proc/1/ns/net"},
        {"eth0@", "eth0", ""},  {"a@b@c", "a", "b@c"},         {"fifteen-bytes-x", "fifteen-bytes-x", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[16];
        const char *spec = "unset";
        CHECK_EQ(nc_netns_split(rows[i].text, name, sizeof name, &spec), 0);
        CHECK_STR(name, rows[i].name);
        CHECK((spec == NULL) == (rows[i].spec == NULL));
        if (spec)
            CHECK_STR(spec, rows[i].spec);
    }
}

static void names_that_cannot_be(void)
{
    char name[16];
    const char *spec;
    CHECK_EQ(nc_netns_split("", name, sizeof name, &spec), -1);
    CHECK_EQ(nc_netns_split("@1234", name, sizeof name, &spec), -1);
    CHECK_EQ(nc_netns_split("sixteen-bytes-xx", name, sizeof name, &spec), -1);
    CHECK_EQ(nc_netns_split("sixteen-bytes-xx@1", name, sizeof name, &spec), -1);
}

static void opens_what_is_there(void)
{
    struct nc_error error;
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    int by_pid = nc_netns_open(pid, &error), by_path = nc_netns_open("/proc/self/ns/net", &error);
    CHECK(by_pid >= 0 && by_path >= 0);
    close(by_pid);
    close(by_path);
}

static void says_what_is_missing(void)
{
    struct nc_error error;
    static const char *const specs[] = {"", "no-such-namespace", "/no/such/path", "999999999"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        char quoted[64];
        CHECK_EQ(nc_netns_open(specs[i], &error), -1);
        snprintf(quoted, sizeof quoted, "'%s'", specs[i]);
        CHECK(strstr(error.text, quoted) && !strchr(error.text, '\n'));
    }
    char endless[1000];
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    CHECK_EQ(nc_netns_open(endless, &error), -1);
}

int main(void)
{
    RUN(name_and_namespace);
    RUN(names_that_cannot_be);
    RUN(opens_what_is_there);
    RUN(says_what_is_missing);
    return 0;
}
