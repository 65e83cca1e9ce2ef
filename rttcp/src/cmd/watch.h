/* `rttcp watch`: samples of the TCP connections of any program, until SIGTERM or SIGINT. */
#ifndef RTTCP_WATCH_H
#define RTTCP_WATCH_H

/* Returns the exit status. */
int rttcp_watch_main(int argc, char **argv);

#endif
