#include "stop.h"

#include <sys/prctl.h>
#include <unistd.h>

static volatile sig_atomic_t stop_signal;

static void on_stop(int signal_number)
{
    stop_signal = signal_number;
}

static void on_child(int signal_number)
{
    (void)signal_number; /* only there to interrupt ppoll */
}

void rttcp_stop_install(void)
{
    /* no SA_RESTART, because a blocked send or recv must return; SA_RESETHAND, so that the second signal kills */
    sigaction(SIGINT, &(struct sigaction){.sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND}, NULL);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND}, NULL);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = on_child, .sa_flags = SA_NOCLDSTOP}, NULL);
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

bool rttcp_stop_requested(void)
{
    return stop_signal != 0;
}

void rttcp_stop_with_parent(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* the parent died before prctl() took effect, so no signal will come */
        raise(SIGTERM);
}
