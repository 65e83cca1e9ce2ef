/* Where connections wait that have said nothing yet. A thousand silent ones cost a descriptor each, not a process, and do not
 * keep anybody out: only who has sent a whole first message becomes a session, and when there is no room left the one that
 * has been silent longest goes. */
#ifndef RTTCP_LOBBY_H
#define RTTCP_LOBBY_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#define RTTCP_LOBBY_PLACES 2048
#define RTTCP_GREETING_MAX 4096 /* octets of a hello; longer ones are dropped */

struct rttcp_lobby {
    size_t n;
    struct pollfd fds[RTTCP_LOBBY_PLACES + 1]; /* oldest first; one more, for the caller's listener */
    uint64_t since_ns[RTTCP_LOBBY_PLACES + 1];
};

/* Takes the connection in; may close the oldest. */
void rttcp_lobby_add(struct rttcp_lobby *lobby, int fd, uint64_t now_ns);

/* After poll: the next connection whose first message is there whole, no longer in the lobby; -1 when there is none. */
int rttcp_lobby_take(struct rttcp_lobby *lobby);

/* Closes who talks nonsense, has gone, or has been silent since before `silent_since_ns`. */
void rttcp_lobby_sweep(struct rttcp_lobby *lobby, uint64_t silent_since_ns);

void rttcp_lobby_close(struct rttcp_lobby *lobby);

#endif
