/* SPDX-License-Identifier: Apache-2.0 */
/* observe/fuse-mask-server.h - serve FUSE masks and report reads of hidden paths
 *
 * The supervisor answers for the FUSE file system behind the masks of a
 * sandbox (sandbox/fuse-mount.h made it), and reports each attempt. It decides nothing:
 * every answer is a refusal. When the supervisor has ended, the kernel refuses.
 */

#ifndef OBSERVE_FUSE_MASK_SERVER_H
#define OBSERVE_FUSE_MASK_SERVER_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct fuse_masks_run;
struct observer_rules;
struct plan;
struct violation_sink;

/**
 * struct fuse_masks_config - All that is needed
 * @plan:	What the sandbox was built from
 * @rules:	Give the rule and the reason; outlive the masks
 * @sink:	Where attempts go
 * @device:	The FUSE connection; taken over, also on failure
 * @pids:	The pid namespace that mounted it; taken over likewise
 */
struct fuse_masks_config {
	const struct plan *plan;
	struct observer_rules *rules;
	const struct violation_sink *sink;
	int device, pids;
};

int fuse_masks_new(const struct fuse_masks_config *config, struct fuse_masks_run **ret,
	      struct err *err);
void fuse_masks_free(struct fuse_masks_run *masks);

/* How many masks are silent because there are too many */
size_t fuse_masks_silent(const struct fuse_masks_run *masks);

/* Answer one request. 0, or 1 when no process is left in the sandbox. */
int fuse_masks_dispatch(struct fuse_masks_run *masks, uint32_t events);

/* Swap the rules (a live edit); the masks stay as they are */
void fuse_masks_set_rules(struct fuse_masks_run *masks, struct observer_rules *rules);

#endif /* OBSERVE_FUSE_MASK_SERVER_H */
