/* The file of --key: who may own it, what it may contain, and the key that is derived from it. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "key.h"

static const char digits[] = "000102030405060708090A0B0C0D0E0F101112131415161718191a1b1c1d1e1f";
static char path[] = "/tmp/rttcp-key-XXXXXX";
static struct nc_error error;

static int read_file(const char *content, mode_t mode, struct rttcp_key *key)
{
    unlink(path); /* it may be read-only */
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fputs(content, file);
    fclose(file);
    CHECK(chmod(path, mode) == 0);
    memset(key, 0, sizeof *key);
    return rttcp_key_read(key, path, &error);
}

static void hexadecimal_digits_are_the_key(void)
{
    struct rttcp_key key;
    CHECK_EQ(read_file(digits, 0600, &key), 0);
    CHECK(key.given);
    for (int i = 0; i < RTTCP_KEY_OCTETS; i++)
        CHECK_EQ(key.octets[i], i);
    char with_newline[80];
    snprintf(with_newline, sizeof with_newline, "%s\n", digits);
    struct rttcp_key again;
    CHECK_EQ(read_file(with_newline, 0400, &again), 0);
    CHECK(memcmp(again.octets, key.octets, sizeof key.octets) == 0);
}

/* Both ends derive the same key, and a change of one character gives another key. The value is Python's
 * hashlib.scrypt(b"correct horse battery staple", salt=b"rttcp --key, protocol version 4", n=32768, r=8, p=1, maxmem=1
 * << 26, dklen=32). */
static void a_text_is_stretched(void)
{
    static const uint8_t wanted[] = {0x06, 0x73, 0x22, 0x83, 0xcf, 0xef, 0x97, 0x2e, 0x4e, 0xa8, 0x62,
                                     0x8a, 0x18, 0x88, 0x37, 0x97, 0x3a, 0x86, 0x3e, 0xad, 0xfd, 0x8b,
                                     0x0a, 0x2f, 0x92, 0x75, 0x4d, 0xa6, 0x7a, 0x7a, 0xda, 0xe6};
    struct rttcp_key key, other;
    CHECK_EQ(read_file("correct horse battery staple\n", 0600, &key), 0);
    CHECK(memcmp(key.octets, wanted, sizeof wanted) == 0);
    CHECK_EQ(read_file("correct horse battery stable\n", 0600, &other), 0);
    CHECK(memcmp(key.octets, other.octets, sizeof key.octets) != 0);
}

static void lengths_out_of_range_are_refused(void)
{
    struct rttcp_key key;
    char longest[RTTCP_KEY_FILE_MAX + 3];
    CHECK_EQ(read_file("0123456789abcde\n", 0600, &key), -1);
    CHECK(strstr(error.text, "16 to 1024 octets"));
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CHECK_EQ(read_file(longest, 0600, &key), -1);
    longest[RTTCP_KEY_FILE_MAX] = '\n';
    longest[RTTCP_KEY_FILE_MAX + 1] = '\0';
    CHECK_EQ(read_file(longest, 0600, &key), 0);
}

static void nobody_else_may_read_it(void)
{
    static const mode_t open_modes[] = {0644, 0640, 0604, 0660, 0601};
    struct rttcp_key key;
    for (size_t i = 0; i < sizeof open_modes / sizeof open_modes[0]; i++) {
        CHECK_EQ(read_file(digits, open_modes[i], &key), -1);
        CHECK_EQ(error.status, NC_EXIT_USAGE);
        CHECK(strstr(error.text, "chmod 600 /tmp/rttcp-key-"));
        CHECK(!key.given);
    }
    CHECK_EQ(rttcp_key_read(&key, "/tmp", &error), -1);
    CHECK(strstr(error.text, "not a regular file"));
    CHECK_EQ(rttcp_key_read(&key, "/nonexistent/key", &error), -1);
    CHECK(strstr(error.text, "No such file"));
    if (geteuid() != 0)
        return; /* only root can give a file away */
    CHECK_EQ(read_file(digits, 0600, &key), 0);
    CHECK(chown(path, 65534, 65534) == 0);
    CHECK_EQ(rttcp_key_read(&key, path, &error), -1);
    CHECK(strstr(error.text, "belongs to user 65534"));
    CHECK(chown(path, 0, 0) == 0);
}

int main(void)
{
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    RUN(hexadecimal_digits_are_the_key);
    RUN(a_text_is_stretched);
    RUN(lengths_out_of_range_are_refused);
    RUN(nobody_else_may_read_it);
    unlink(path);
    return 0;
}
