/* SPDX-License-Identifier: Apache-2.0 */
/* compat/fuzz-bwrap.c - words ended by NUL: whatever they are, a plan that is
 * made can be checked, and points at nothing it has not
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "compat/bwrap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every kind has what its execution looks at */
static void check_op(const struct bwrap_plan *plan, const struct bwrap_op *op)
{
	const bool has_source = op->kind == BWRAP_SYMLINK ||
				op->kind == BWRAP_HOSTNAME ||
				(op->kind == BWRAP_BIND && op->fd < 0);
	const bool has_fd = op->kind == BWRAP_FILE || op->kind == BWRAP_DATA;

	if ((has_source && !op->source) || (has_fd && op->fd < 0) ||
	    (op->kind != BWRAP_HOSTNAME && !op->dest) ||
	    op->layer + op->layers > plan->layers.len ||
	    (op->kind == BWRAP_OVERLAY && !op->layers) || op->perms > 07777)
		abort();
}

static void check(struct bwrap *b)
{
	(void)bwrap_check(&b->plan, 1000, NULL);
	for (size_t i = 0; i < b->plan.ops.len; i++)
		check_op(&b->plan, &b->plan.ops.v[i]);
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
	if (bwrap_parse(&b, words.v, 0, NULL) == 0)
		check(&b);
	bwrap_done(&b);
	free(words.v);
	return 0;
}
