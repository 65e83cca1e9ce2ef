/* Reports, in the log and in `show`, another gateway with the same key that wants or has this tunnel. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "gateway_internal.h"
#include "nc_clock.h"
#include "nc_log.h"

#define NOTED_AGAIN_NS (600 * NC_NS_PER_S)
#define ADVICE                                                                                                         \
    "give each pair of gateways a key of its own (--psk-file), or all of them names (--gateway-name, --peer-name)"

bool contention_text(const struct lft_link *link, uint64_t now_ns, char text[CONTENTION_TEXT_BYTES])
{
    static const char *const texts[] = {
        [LFT_LINK_ALONE] = "",
        [LFT_LINK_RIVAL] = "another gateway with the same key, at %s, asks for this tunnel and is refused while the "
                           "peer is heard (%" PRIu64 " times so far): " ADVICE,
        [LFT_LINK_OCCUPIED] = "the gateway at %s has a tunnel with another gateway that has the same key, and refuses "
                              "this one (%" PRIu64 " times so far): " ADVICE};
    const struct lft_handshake_counters *counters = lft_link_handshake_counters(link);
    struct lft_address who;
    struct sockaddr_storage address = {0};
    char where[80];
    enum lft_link_contention contention = lft_link_contention(link, now_ns, &who);
    if (contention == LFT_LINK_ALONE)
        return false;
    memcpy(&address, who.at, who.n);
    snprintf(text, CONTENTION_TEXT_BYTES, texts[contention], address_text(&address, where, sizeof where),
             contention == LFT_LINK_RIVAL ? counters->rivals : counters->occupied);
    return true;
}

void contention_note(struct contention_log *log, const struct lft_link *link, uint64_t now_ns)
{
    char text[CONTENTION_TEXT_BYTES];
    struct lft_address who;
    enum lft_link_contention contention = lft_link_contention(link, now_ns, &who);
    if (!contention_text(link, now_ns, text) || (contention == log->noted && now_ns - log->noted_ns < NOTED_AGAIN_NS))
        return;
    nc_log("%s", text);
    *log = (struct contention_log){contention, now_ns};
}
