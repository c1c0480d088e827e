/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bwrap/fuzz-bwrap.c - words ended by NUL: whatever they are, a frame that is
 * made can be checked and shown, and points at nothing it has not
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "cli/bwrap/bwrap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *env[] = { (char *)(uintptr_t)"A=1", (char *)(uintptr_t)"HOME=/h",
		       NULL };

/* Every kind has what its execution looks at */
static void check_op(const struct frame *frame, const struct frame_op *op)
{
	const bool has_source = op->kind == FRAME_SYMLINK ||
				op->kind == FRAME_HOSTNAME ||
				(op->kind == FRAME_BIND && op->fd < 0);
	const bool has_fd = op->kind == FRAME_FILE || op->kind == FRAME_DATA;

	if ((has_source && !op->source) || (has_fd && op->fd < 0) ||
	    (op->kind != FRAME_HOSTNAME && !op->dest) ||
	    op->layer + op->layers > frame->layers.len ||
	    (op->kind == FRAME_OVERLAY && !op->layers) || op->perms > 07777)
		abort();
}

static void check(struct bwrap *b)
{
	auto_buf struct buf text = { 0 };

	(void)frame_check(&b->frame, 1000, NULL);
	for (size_t i = 0; i < b->frame.ops.len; i++)
		check_op(&b->frame, &b->frame.ops.v[i]);
	frame_env_set(&b->frame, "PWD", "/");
	frame_print(&b->frame, &text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *copy = mem_zalloc(size + 1);
	struct { char **v; size_t len, cap; } words = { 0 };
	struct bwrap b;

	memcpy(copy, data, size);
	for (char *p = copy; p < copy + size; p += strlen(p) + 1) {
		if (!strcmp(p, "--args"))
			*p = 'x';	/* Our own descriptors are not for it */
		*vec_push(&words) = p;
	}
	*vec_push(&words) = NULL;
	if (bwrap_parse(&b, words.v, env, 0, NULL) == 0)
		check(&b);
	frame_done(&b.frame);
	buf_done(&b.warned);
	free(words.v);
	return 0;
}
