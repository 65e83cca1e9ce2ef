/* One end of the gateway's handshake. A test with an independent implementation of the handshake talks to it over stdin
 * and stdout:
 *
 *     lft-handshake initiator|responder PSK NAME PEER-NAME
 *
 * PSK is 64 hexadecimal digits. Each line of stdin is one datagram in hexadecimal digits. The program prints `message`
 * and a handshake message to send, `frame` and a frame to send, `payload` and the payload of a frame that arrived, or
 * `nothing` when a datagram had no effect. */
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handshake.h"
#include "nc_bytes.h"
#include "nc_clock.h"
#include "nc_log.h"

enum { DATAGRAM_MAX = 2048 };

static void print(const char *what, const uint8_t *at, size_t n)
{
    printf("%s ", what);
    for (size_t i = 0; i < n; i++)
        printf("%02x", at[i]);
    printf("\n");
    fflush(stdout);
}

/* The octets of a line; 0 if it has none. */
static size_t octets(const char *line, uint8_t *out, size_t room)
{
    size_t n = 0;
    char text[2 * DATAGRAM_MAX + 2];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\r\n"), line);
    return OPENSSL_hexstr2buf_ex(out, room, &n, text, '\0') ? n : 0;
}

static void send_due(struct lft_handshake *handshake, uint64_t now_ns)
{
    uint8_t out[LFT_HANDSHAKE_MAX];
    size_t n = lft_handshake_poll(handshake, now_ns, out);
    if (n)
        print("message", out, n);
}

static void send_frame(const struct lft_keys *keys, const char *text)
{
    uint8_t frame[200];
    const struct lft_header header = {.spi = keys->spi_out, .command = LFT_DATA, .number = 7, .counter = 1};
    print("frame", frame, lft_seal(keys->seal, &header, (const uint8_t *)text, strlen(text), frame));
}

static void take_message(struct lft_handshake *handshake, uint64_t now_ns, const uint8_t *at, size_t n,
                         struct lft_keys *keys)
{
    const struct lft_handshake_message message = {.at = at, .n = n, .address = {"here", 4}, .from_peer = true};
    struct lft_handshake_answer answer;
    enum lft_handshake_result result = lft_handshake_receive(handshake, now_ns, &message, &answer);
    if (result == LFT_HS_REPLY || result == LFT_HS_PENDING)
        print("message", answer.at, answer.n);
    if (result == LFT_HS_NOTHING)
        printf("nothing\n"), fflush(stdout);
    if (result != LFT_HS_KEYS && result != LFT_HS_PENDING)
        return;
    lft_key_destroy(keys->seal);
    lft_key_destroy(keys->unseal);
    *keys = answer.keys;
    send_frame(keys, result == LFT_HS_KEYS ? "from the initiator" : "from the responder");
}

static void take_frame(const struct lft_keys *keys, const uint8_t *at, size_t n)
{
    uint8_t payload[DATAGRAM_MAX];
    bool ours = keys->unseal && n >= LFT_FRAME_OVERHEAD && lft_header_get(at).spi == keys->spi_in;
    long length = ours ? lft_unseal(keys->unseal, at, n, payload) : -1;
    if (length >= 0)
        print("payload", payload, (size_t)length);
    else
        printf("nothing\n"), fflush(stdout);
}

int main(int argc, char **argv)
{
    static char line[2 * DATAGRAM_MAX + 2];
    uint8_t psk[LFT_PSK_BYTES], datagram[DATAGRAM_MAX];
    if (argc != 5 || octets(argv[2], psk, sizeof psk) != sizeof psk)
        nc_die(NC_EXIT_USAGE, "want initiator or responder, 64 hexadecimal digits, and two names");
    const struct lft_handshake_config config = {.initiator = strcmp(argv[1], "initiator") == 0,
                                                .cipher = LFT_AES_128_GCM,
                                                .recovery = 2,
                                                .payload_max = 1438,
                                                .rekey_ns = 3600 * NC_NS_PER_S,
                                                .psk = psk,
                                                .name = argv[3],
                                                .peer_name = argv[4],
                                                .clock_ns = UINT64_C(1800000000) * NC_NS_PER_S};
    struct lft_keys keys = {0};
    uint64_t now_ns = 0;
    struct lft_handshake *handshake = lft_handshake_create(&config, now_ns);
    if (!handshake)
        nc_die(NC_EXIT_FAILED, "out of memory");
    lft_handshake_start(handshake, now_ns);
    send_due(handshake, now_ns);
    while (fgets(line, sizeof line, stdin)) {
        size_t n = octets(line, datagram, sizeof datagram);
        now_ns += NC_NS_PER_MS;
        if (n >= 4 && nc_get32(datagram) == 0)
            take_message(handshake, now_ns, datagram, n, &keys);
        else
            take_frame(&keys, datagram, n);
        send_due(handshake, now_ns);
    }
    lft_key_destroy(keys.seal);
    lft_key_destroy(keys.unseal);
    lft_handshake_destroy(handshake);
    return 0;
}
