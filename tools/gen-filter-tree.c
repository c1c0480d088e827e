/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools/gen-filter-tree.c - the cheapest search for a call number
 *
 * Theory of operation.  Neighbouring numbers with the same target are merged
 * into ranges.  At load the kernel runs a program once for every call number,
 * to learn which it may always allow, and then compiles it: loading costs the
 * sum of all paths plus the number of instructions.  The tree is the cheapest
 * by that measure, found by dynamic programming over intervals of ranges: an
 * interval is either cut in two (one JGE) or, where all but single numbers
 * share a target, a chain of JEQ.  A leaf is a jump and costs nothing.
 */

#include "gen-filter.h"

#include <stddef.h>

enum {
	RANGES_MAX = 256,
	INSN_COST = 100,	/* One instruction, in steps of the run at load */
	CUT_CHAIN = -1,
};

/**
 * struct range - Call numbers next to each other with the same target
 * @first:	The lowest
 * @count:	How many, also those that no kernel has
 * @weight:	How many of them the kernel tries at load
 */
struct range {
	uint32_t first, count;
	long weight;
	int target;
};

static struct range ranges[RANGES_MAX];
static int range_len;
static long costs[RANGES_MAX][RANGES_MAX];
static int cuts[RANGES_MAX][RANGES_MAX];	/* Last range of the left half */

static void add_number(uint32_t number, uint32_t count, long weight, int target)
{
	struct range *last = range_len ? &ranges[range_len - 1] : NULL;

	if (!last || last->target != target) {
		if (range_len == RANGES_MAX)
			die("more than %d ranges", RANGES_MAX);
		last = &ranges[range_len++];
		*last = (struct range){ number, 0, 0, target };
	}
	last->count += count;
	last->weight += weight;
}

/* What all ranges from @i to @j share but for single numbers, or -1 */
static int find_background(int i, int j)
{
	int shared = -1;

	for (int k = i; k <= j; k++) {
		if (ranges[k].count == 1)
			continue;
		if (shared >= 0 && shared != ranges[k].target)
			return -1;
		shared = ranges[k].target;
	}
	return shared;
}

static long chain_cost(int i, int j)
{
	const int background = find_background(i, j);
	long cost = 0, depth = 0, rest = 0;

	if (background < 0)
		return -1;
	for (int k = i; k <= j; k++) {
		if (ranges[k].target == background)
			rest += ranges[k].weight;
		else
			cost += ++depth + INSN_COST;
	}
	return cost + rest * depth;
}

static void plan_interval(int i, int j)
{
	long weight = 0, best = i == j ? 0 : chain_cost(i, j);
	int cut = CUT_CHAIN;

	for (int k = i; k <= j; k++)
		weight += ranges[k].weight;
	for (int k = i; k < j; k++) {
		const long cost = costs[i][k] + costs[k + 1][j] + weight +
				  INSN_COST;

		if (best >= 0 && cost >= best)
			continue;
		best = cost;
		cut = k;
	}
	costs[i][j] = best;
	cuts[i][j] = cut;
}

static int emit_chain(struct code *c, int i, int j)
{
	const int background = find_background(i, j), label = code_label(c);
	struct insn *last = NULL;

	code_place(c, label);
	for (int k = i; k <= j; k++) {
		if (ranges[k].target != background)
			last = code_jump(c, BPF_JMP | BPF_JEQ | BPF_K,
					 ranges[k].first, ranges[k].target,
					 LABEL_NEXT);
	}
	if (last)
		last->no = code_want(c, background);
	return label;
}

/* The search among ranges @i to @j; returns where it starts */
static int emit_interval(struct code *c, int i, int j)
{
	const int cut = cuts[i][j];
	struct insn *node;
	int label;

	if (i == j)
		return code_want(c, ranges[i].target);
	if (cut == CUT_CHAIN)
		return emit_chain(c, i, j);
	label = code_label(c);
	code_place(c, label);
	node = code_emit(c, BPF_JMP | BPF_JGE | BPF_K, ranges[cut + 1].first);
	node->no = emit_interval(c, i, cut);
	node->yes = emit_interval(c, cut + 1, j);
	return label;
}

void tree_emit(struct code *c, const int *targets, int len, int otherwise)
{
	range_len = 0;
	for (int i = 0; i < len; i++)
		add_number((uint32_t)i, 1, 1, targets[i]);
	add_number((uint32_t)len, UINT32_MAX - (uint32_t)len, 0, otherwise);
	for (int span = 0; span < range_len; span++) {
		for (int i = 0; i + span < range_len; i++)
			plan_interval(i, i + span);
	}
	if (range_len == 1)
		die("a program that looks at no number");
	(void)emit_interval(c, 0, range_len - 1);
}
