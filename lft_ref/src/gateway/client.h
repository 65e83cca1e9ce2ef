/* The verbs that talk to a running gateway through its control socket. Each returns an exit status. */
#ifndef LFT_CLIENT_H
#define LFT_CLIENT_H

int client_show(int argc, char **argv);
int client_set(int argc, char **argv);
int client_bypass(int argc, char **argv);
int client_stop(int argc, char **argv);
int client_drain(int argc, char **argv);
int client_watch(int argc, char **argv);
int client_metrics(int argc, char **argv);

#endif
