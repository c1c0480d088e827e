/* SPDX-License-Identifier: Apache-2.0 */
/* report/strip.h - take <sandbox_violations> blocks out of a stream */

#ifndef REPORT_STRIP_H
#define REPORT_STRIP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { STRIP_BLOCK_MAX = 1 << 20 };	/* A longer block is not ours */

/**
 * struct strip - Where we are; zero-initialise it
 * @held:	What may turn out to be (part of) a block
 * @inside:	@held starts with the opening tag
 * @searched:	Bytes of @held where no closing tag starts
 * @after:	A block just ended: one newline belongs to it
 */
struct strip {
	struct buf held;
	bool inside, after;
	size_t searched;
};

/* Feed @n bytes; bytes that are certainly outside a block go to @out. A block ends with
 * the first closing tag and the newline after it.
 */
void strip_feed(struct strip *s, const char *data, size_t n, struct buf *out);

/* The end of the stream: a block without a closing tag goes to @out unchanged */
void strip_finish(struct strip *s, struct buf *out);

#endif /* REPORT_STRIP_H */
