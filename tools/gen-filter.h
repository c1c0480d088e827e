/* SPDX-License-Identifier: Apache-2.0 */
/* tools/gen-filter.h - what the parts of the filter generator share */

#ifndef TOOLS_GEN_FILTER_H
#define TOOLS_GEN_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/filter.h"

/* One line on stderr, and the build stops */
void die(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

enum { CODE_MAX = 1024 };	/* Instructions; also places to jump to */

/* A label is a place to jump to, forward only: the verdicts, then the blocks
 * that look at arguments (one for each pair of classes), then any place.
 */
enum {
	LABEL_NEXT = -1,
	LABEL_BLOCK = VERDICT_COUNT,
	LABEL_FREE = LABEL_BLOCK + CLASS_COUNT * CLASS_COUNT,
	LABEL_MAX = LABEL_FREE + CODE_MAX,
};

/**
 * struct insn - An instruction whose jumps are still labels
 * @yes:	Where a jump goes if its test holds
 * @no:		And where if not
 */
struct insn {
	uint16_t code;
	uint32_t k;
	int yes, no;
};

/**
 * struct code - A program in the making
 * @places:	Label to index in @v
 * @wanted:	Something jumps to this label
 */
struct code {
	struct insn v[CODE_MAX];
	int len;
	int places[LABEL_MAX];
	bool wanted[LABEL_MAX];
	int labels;
};

void code_init(struct code *c);

/* A label without a place yet; code_place() puts one here */
int code_label(struct code *c);
void code_place(struct code *c, int label);

/* Remember that something jumps to @label; returns it */
int code_want(struct code *c, int label);

struct insn *code_emit(struct code *c, uint16_t op, uint32_t k);
struct insn *code_jump(struct code *c, uint16_t op, uint32_t k, int yes,
		       int no);

/* Resolve the labels and print an array called @name */
void code_print(const struct code *c, const char *name);

/* Emit the quickest search for the accumulator in 0 to @len - 1 that ends at
 * targets[number], or at @otherwise for any higher number.
 */
void tree_emit(struct code *c, const int *targets, int len, int otherwise);

#endif /* TOOLS_GEN_FILTER_H */
