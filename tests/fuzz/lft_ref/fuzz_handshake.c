/* Datagrams from anywhere, as they are and with a good MAC, to both roles' links. Without the key nothing may come
 * of them. */
#include <assert.h>
#include <string.h>

#include "link.h"
#include "nc_clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct lft_link *create(bool initiator, const uint8_t psk[32])
{
    struct lft_link_config config = {
        .engine = {.recovery = LFT_SELECTIVE,
                   .payload_max = 1000,
                   .window_frames = 64,
                   .tx_memory_bytes = 1 << 18,
                   .rx_memory_bytes = 1 << 18},
        .session = {.streams_max = 8, .tx_memory_bytes = 1 << 18},
        .handshake = {.initiator = initiator, .cipher = LFT_AES_128_GCM, .psk = psk, .psk_bytes = 32},
        .peer = {.n = initiator}};
    return lft_link_create(&config, 0);
}

static void drain(struct lft_link *link, uint64_t now)
{
    struct lft_batch batch;
    for (int i = 0; i < 50 && lft_link_transmit(link, now, &batch); i++)
        assert(batch.bytes <= LFT_BATCH_BYTES && batch.n <= LFT_BATCH_SEGMENTS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t psk[32] = {1};
    uint8_t key[LFT_HASH_BYTES];
    lft_handshake_key(psk, sizeof psk, key);
    struct lft_link *links[2] = {create(true, psk), create(false, psk)};
    struct lft_address from = {.n = 1};
    uint64_t now = 1;
    bool signed_any = false;
    for (const uint8_t *at = data, *end = data + size; end - at >= 2;) {
        uint8_t message[300], how = at[0];
        size_t n = at[1];
        at += 2;
        n = n < (size_t)(end - at) ? n : (size_t)(end - at);
        memcpy(message, at, n);
        at += n;
        if (how & 2 && n == LFT_HANDSHAKE_BYTES) {
            memcpy(message, "\0\0\0\0LFT\1", 8);
            lft_mac(key, &(struct lft_span){message, 80}, 1, message + 80);
            signed_any = true;
        }
        lft_link_receive(links[how & 1], now, message, n, &from);
        drain(links[how & 1], now);
        now += NC_NS_PER_MS * 100;
    }
    for (int i = 0; i < 2; i++) {
        assert(signed_any || lft_link_handshake_counters(links[i])->completed == 0);
        assert(!lft_link_engine(links[i])); /* nobody has shown keys */
        lft_link_destroy(links[i]);
    }
    return 0;
}
