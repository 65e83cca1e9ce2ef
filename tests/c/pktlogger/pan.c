/* Addresses and ports mapped by a key: the test vectors of the published program and of its IPv6 form; prefixes;
 * ports. */
#include "pan.h"

#include <arpa/inet.h>
#include <stdbool.h>

#include "check.h"

/* The key and the addresses of Crypto-PAn 1.0's sample trace (Fan, Xu, Ammar, Moon, 2002). */
static const uint8_t sample_key[PL_PAN_KEY] = {
    21,  34,  23,  141, 51,  164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16,
    216, 152, 143, 131, 121, 121, 101, 39,  98, 87, 76, 45, 42, 132, 34,  2,
};

static void mapped(struct pl_pan *pan, const char *from, char text[INET6_ADDRSTRLEN])
{
    uint8_t address[16] = {0}, out[16];
    int family = strchr(from, ':') ? AF_INET6 : AF_INET;
    CHECK_EQ(inet_pton(family, from, address), 1);
    pl_pan_address(pan, family == AF_INET ? 4 : 6, address, out);
    CHECK(inet_ntop(family, out, text, INET6_ADDRSTRLEN));
}

static void published_vectors(void)
{
    static const char *const pairs[][2] = {
        {"128.11.68.132", "135.242.180.132"},
        {"129.118.74.4", "134.136.186.123"},
        {"130.132.252.244", "133.68.164.234"},
        {"141.223.7.43", "141.167.8.160"},
        {"141.233.145.108", "141.129.237.235"},
        {"::1", "78ff:f001:9fc0:20df:8380:b1f1:704:ed"},
        {"::2", "78ff:f001:9fc0:20df:8380:b1f1:704:ef"},
        {"::ffff", "78ff:f001:9fc0:20df:8380:b1f1:704:f838"},
        {"2001:db8::1", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1e"},
        {"2001:db8::2", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1c"},
    };
    struct pl_pan *pan = pl_pan_create(sample_key);
    CHECK(pan);
    for (int twice = 0; twice < 2; twice++) /* worked out, and remembered */
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
            char text[INET6_ADDRSTRLEN];
            mapped(pan, pairs[i][0], text);
            CHECK_STR(text, pairs[i][1]);
        }
    pl_pan_free(pan);
}

static unsigned common_bits(const uint8_t *one, const uint8_t *other)
{
    unsigned n = 0;
    while (n < 32 && !((one[n / 8] ^ other[n / 8]) & 0x80 >> n % 8))
        n++;
    return n;
}

static void prefixes_are_kept_and_no_more(void)
{
    struct pl_pan *pan = pl_pan_create(sample_key);
    const uint8_t base[16] = {192, 0, 2, 77};
    uint8_t from[16], to[16], first[16];
    pl_pan_address(pan, 4, base, first);
    for (unsigned bit = 0; bit < 32; bit++) {
        memcpy(from, base, sizeof from);
        from[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
        pl_pan_address(pan, 4, from, to);
        CHECK_EQ(common_bits(first, to), bit);
    }
    pl_pan_free(pan);
}

static void ports_are_a_permutation(void)
{
    static bool used[65536];
    unsigned same = 0;
    struct pl_pan *pan = pl_pan_create(sample_key);
    CHECK_EQ(pl_pan_port(pan, 0), 0);
    for (unsigned port = 0; port < 65536; port++) {
        uint16_t to = pl_pan_port(pan, (uint16_t)port);
        CHECK(!used[to]);
        used[to] = true;
        same += to == port;
    }
    CHECK(same < 12); /* a random permutation leaves one number unchanged on average; 12 unchanged ones have a
                       * probability of 10^-9 */
    pl_pan_free(pan);
}

static void another_key_is_another_mapping(void)
{
    uint8_t key[PL_PAN_KEY];
    char text[INET6_ADDRSTRLEN];
    memcpy(key, sample_key, sizeof key);
    key[PL_PAN_KEY - 1] ^= 1;
    struct pl_pan *pan = pl_pan_create(key);
    mapped(pan, "128.11.68.132", text);
    CHECK(strcmp(text, "135.242.180.132") != 0);
    pl_pan_free(pan);
}

int main(void)
{
    RUN(published_vectors);
    RUN(prefixes_are_kept_and_no_more);
    RUN(ports_are_a_permutation);
    RUN(another_key_is_another_mapping);
    return 0;
}
