/* TAPs in a network namespace that only this test uses and that ends with the process. Needs root, or user namespaces
 * and a TUN device that everybody may open; otherwise the test is skipped. */
#ifndef TAPS_H
#define TAPS_H

#include <net/if.h>
#include <stdbool.h>

enum { TAPS_SKIPPED = 77 };

/* Moves the thread into a fresh namespace. */
void taps_enter_fresh_namespace(void);

/* Makes a non-blocking TAP with this MTU and a vnet header of NC_VNET_LEN, and brings it up. *ifr gets its name and
 * index. */
int taps_open(int mtu, struct ifreq *ifr);

/* Switches all segmentation offloads on or off. Returns whether UDP segmentation (Linux 6.2) is among them. */
bool taps_set_offloads(int tap, bool on);

/* Address (dotted) and prefix 24. */
void taps_set_address(struct ifreq *ifr, const char *address);

#endif
