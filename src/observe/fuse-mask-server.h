/* SPDX-License-Identifier: Apache-2.0 */
/* watch/mask.h - masks that talk: who tried to read what is hidden
 *
 * The supervisor answers for the FUSE file system behind the masks of a
 * sandbox (cage/mask.h made it), and reports each attempt. It decides nothing:
 * every answer is a refusal. When nobody answers any more, the kernel refuses.
 */

#ifndef WATCH_MASK_H
#define WATCH_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct masks_run;
struct observer_policy;
struct plan;
struct violation_sink;

/**
 * struct masks_config - All that is needed
 * @plan:	What the sandbox was built from
 * @policy:	Gives the rule and the reason; copied
 * @sink:	Where attempts go
 * @device:	The FUSE connection; taken over, also on failure
 * @pids:	The pid namespace that mounted it; taken over likewise
 */
struct masks_config {
	const struct plan *plan;
	const struct observer_policy *policy;
	const struct violation_sink *sink;
	int device, pids;
};

int masks_new(const struct masks_config *config, struct masks_run **ret,
	      struct err *err);
void masks_free(struct masks_run *masks);

/* How many masks are silent because there are too many */
size_t masks_silent(const struct masks_run *masks);

/* Answer one question. 0, or 1 when nobody is left who could ask. */
int masks_dispatch(struct masks_run *masks, uint32_t events);

/* Swap the policy (a live edit); the masks stay as they are */
void masks_set_policy(struct masks_run *masks,
		      const struct observer_policy *policy);

#endif /* WATCH_MASK_H */
