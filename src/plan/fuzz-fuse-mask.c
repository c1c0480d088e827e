/* SPDX-License-Identifier: Apache-2.0 */
/* plan/fuzz-fuse-mask.c - whatever is asked of a mask, the answer is well formed */

#include <linux/fuse.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan/fuse-mask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char zero[] = "0", one[] = "1", shown[] = "shown", path[] = "/h";
	static struct fuse_mask_node nodes[] = {
		{ FUSE_MASK_TOP, zero, path, true, true },
		{ FUSE_MASK_TOP, one, path, false, true },
		{ 0, shown, path, false, true },
	};
	static const struct fuse_mask_tree tree = {
		.v = nodes, .len = 3, .cap = 3,
	};
	static uint64_t request[FUSE_MASK_REQUEST_MAX / 8];
	static uint64_t reply[FUSE_MASK_REPLY_MAX / 8];
	struct fuse_out_header head;
	struct fuse_mask_event event;
	uint32_t len = (uint32_t)size;
	ssize_t n;

	if (size < sizeof(struct fuse_in_header) || size > sizeof(request))
		return 0;
	memcpy(request, data, size);
	memcpy(request, &len, sizeof(len));	/* The kernel does not lie here */
	n = fuse_mask_answer(&tree, request, size, reply, &event);
	if (n <= 0)
		return 0;
	memcpy(&head, reply, sizeof(head));
	if ((size_t)n != head.len || n > FUSE_MASK_REPLY_MAX ||
	    (head.error && n != sizeof(head)) || head.error > 0 ||
	    (event.what && event.node >= tree.len) ||
	    (event.what == FUSE_MASK_SOUGHT && !memchr(event.name, 0, size)))
		abort();
	return 0;
}
