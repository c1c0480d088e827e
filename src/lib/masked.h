/* SPDX-License-Identifier: Apache-2.0 */
/* lib/masked.h - who answers for the masks of a run that talk */

#ifndef LIB_MASKED_H
#define LIB_MASKED_H

#include <stddef.h>

#include "base/loop.h"

struct masks_config;
struct masks_run;
struct ways;

/**
 * struct masked - Zero-initialise it
 * @masks:	NULL if nobody answers: they are silent
 * @ways:	To what they show, or NULL
 */
struct masked {
	struct masks_run *masks;
	struct ways *ways;
	struct loop *loop;
	struct loop_source source;
};

/* Answer from @loop. @fds came with CAGE_MASKS and are taken over; @config is
 * complete but for them.
 */
void masked_start(struct masked *masked, struct loop *loop,
		  struct masks_config *config, const int *fds, size_t nfds);
void masked_done(struct masked *masked);

#endif /* LIB_MASKED_H */
