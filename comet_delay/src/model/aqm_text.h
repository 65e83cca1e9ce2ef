/* The text form of queue management: ALGORITHM or ALGORITHM:KEY=VALUE,…, names in lower case. Every key is optional and
 * may be given once. With all defaults:
 *
 *   none
 *   red:min=30KB,max=90KB,p=10%,weight=0.2%,packet=1500,gentle=on,ecn=off
 *   codel:target=5ms,interval=100ms,ecn=off
 *   pie:target=15ms,update=15ms,alpha=0.125,beta=1.25,burst=150ms,ecn_threshold=10%,derandomize=off,ecn=off
 *   fq_codel:limit=10240,memory=32MB,quantum=1514,ways=1,ack_filter=off,target=5ms,interval=100ms,ecn=on
 *   policer:rate=10Mbit,burst=100KB,ecn=off
 *   dualpi2:target=15ms,update=16ms,alpha=0.16,beta=3.2,k=2,step=1ms,classic=10%,limit=10000,ect0=off
 *   step:packets=20,bytes=0,drop=on */
#ifndef COMET_AQM_TEXT_H
#define COMET_AQM_TEXT_H

#include <stddef.h>

#include "aqm_params.h"
#include "nc_error.h"

enum { AQM_TEXT_MAX = 256 };

/* Returns 0, or -1 with an error that names key, value and what is allowed; the caller puts the option's name in front
 * of it. *params is then as it was. link_rate_bps comes out 0. */
int aqm_parse(const char *text, struct aqm_params *params, struct nc_error *error);

/* Writes the algorithm with every key, in the order above, so that aqm_parse makes the same parameters of it. `size` is
 * at least AQM_TEXT_MAX. Returns buf. */
const char *aqm_format(const struct aqm_params *params, char *buf, size_t size);

#endif
