#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "nc_secret.h"

static char path[] = "nc-secret-XXXXXX";
static uint8_t octets[8];
static struct nc_error error;

static ssize_t read_it(const char *file)
{
    return nc_secret_read("--key", file, octets, sizeof octets, &error);
}

static void only_its_owner_may_read_it(void)
{
    static const mode_t good[] = {0600, 0400}, bad[] = {0640, 0604, 0620, 0601, 0777};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        CHECK_EQ(chmod(path, good[i]), 0);
        CHECK_EQ(read_it(path), 6);
        CHECK(memcmp(octets, "secret", 6) == 0);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_EQ(chmod(path, bad[i]), 0);
        CHECK_EQ(read_it(path), -1);
        CHECK_EQ(error.status, NC_EXIT_USAGE);
        CHECK(strstr(error.text, "--key 'nc-secret-") && strstr(error.text, "chmod 600 nc-secret-"));
    }
}

static void what_is_no_file_is_refused(void)
{
    static const char *const others[] = {".", "/dev/null", "/no/such/file"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        CHECK_EQ(read_it(others[i]), -1);
        CHECK_EQ(error.status, NC_EXIT_USAGE);
        CHECK(strstr(error.text, others[i]) && !strchr(error.text, '\n'));
    }
}

int main(void)
{
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, "secret", 6) == 6);
    close(fd);
    RUN(only_its_owner_may_read_it);
    RUN(what_is_no_file_is_refused);
    unlink(path);
    return 0;
}
