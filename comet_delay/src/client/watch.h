/* `comet-delay watch`: a running box, interval by interval, as text that is redrawn or as JSON lines. */
#ifndef COMET_WATCH_H
#define COMET_WATCH_H

int watch_main(int argc, char **argv);

#endif
