/* TAPs in a network namespace of the test's own, gone with the process. Needs root, or user namespaces and a TUN device
 * open to all; otherwise the test ends as skipped. */
#ifndef TAPS_H
#define TAPS_H

#include <net/if.h>
#include <stdbool.h>

enum { TAPS_SKIPPED = 77 };

/* Moves the thread into a fresh namespace. */
void taps_enter_fresh_namespace(void);

/* A non-blocking TAP with vnet header of NC_VNET_LEN, up, with that MTU; *ifr gets name and index. */
int taps_open(int mtu, struct ifreq *ifr);

/* All segmentation offloads or none. Returns whether UDP segmentation (Linux 6.2) is among them. */
bool taps_set_offloads(int tap, bool on);

/* Address (dotted) and prefix 24. */
void taps_set_address(struct ifreq *ifr, const char *address);

#endif
