/* SPDX-License-Identifier: Apache-2.0 */
/* secret/claim.h - what the second-best store holds, compared with the best
 *
 * When the best store (a keyring, say) cannot be written, the second takes the
 * update. If what the best still holds can be deleted, that is the end of it.
 * If not - it is locked, or its bus is not there - the old copy would come
 * back and shadow the new one as soon as it can be read again. The claim,
 * written down beside the second store, says that it must not.
 */

#ifndef SECRET_CLAIM_H
#define SECRET_CLAIM_H

struct err;
struct place;

enum claim {
	CLAIM_NONE,	/* The first store counts whenever it has data */
	CLAIM_PATCH,	/* The second holds changes to the first's document */
	CLAIM_WHOLE,	/* The second's document replaces the first's */
};

/**
 * struct claim_ops - Where the claim is written down
 * @get:	An enum claim, or a negative errno
 * @set:	0 or a negative errno
 */
struct claim_ops {
	int (*get)(void *arg, struct err *err);
	int (*set)(void *arg, enum claim claim, struct err *err);
};

/**
 * struct claim_file - A claim in a small file; the usual claim_ops argument
 * @place:	Owned by somebody else
 * @name:	Of the file; owned by somebody else
 */
struct claim_file {
	struct place *place;
	const char *name;
};

extern const struct claim_ops claim_file_ops;

#endif /* SECRET_CLAIM_H */
