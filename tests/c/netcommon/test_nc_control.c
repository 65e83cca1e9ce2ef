/* Listening at a path: who may connect, and what happens to an earlier listener. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "nc_control.h"

static mode_t mode_of(const char *path)
{
    struct stat status;
    CHECK(stat(path, &status) == 0);
    CHECK(S_ISSOCK(status.st_mode));
    return status.st_mode & 07777;
}

/* Only the owner may connect, which needs write permission. No other permission is set, and the caller's umask does not
 * change. */
static void test_mode(const char *path)
{
    static const mode_t masks[] = {0, 022, 077};
    struct nc_error error;
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        mode_t before = umask(masks[i]);
        int fd = nc_control_listen(path, 1, "box", &error);
        CHECK(fd >= 0);
        CHECK_EQ(mode_of(path), 0600);
        CHECK_EQ(umask(before), masks[i]);
        close(fd); /* the next round replaces the socket that is left */
    }
}

static void test_one_at_a_path(const char *path)
{
    struct nc_error error;
    int fd = nc_control_listen(path, 1, "box", &error);
    CHECK(fd >= 0);
    CHECK_EQ(nc_control_listen(path, 1, "box", &error), -1);
    CHECK(error.status == NC_EXIT_USAGE && strstr(error.text, "another box"));
    CHECK_EQ(mode_of(path), 0600);
    close(fd);
}

int main(void)
{
    char folder[] = "/tmp/test-nc-control-XXXXXX", path[64];
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/socket", folder);
    test_mode(path);
    test_one_at_a_path(path);
    unlink(path);
    rmdir(folder);
    return 0;
}
