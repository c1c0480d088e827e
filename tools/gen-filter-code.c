/* SPDX-License-Identifier: Apache-2.0 */
/* tools/gen-filter-code.c - BPF instructions, labels, and printing them */

#include "gen-filter.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "gen-filter: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(1);
}

void code_init(struct code *c)
{
	memset(c, 0, sizeof(*c));
	c->labels = LABEL_FREE;
}

int code_label(struct code *c)
{
	if (c->labels == LABEL_MAX)
		die("more than %d places", CODE_MAX);
	return c->labels++;
}

void code_place(struct code *c, int label)
{
	c->places[label] = c->len;
}

int code_want(struct code *c, int label)
{
	if (label >= 0)
		c->wanted[label] = true;
	return label;
}

struct insn *code_jump(struct code *c, uint16_t op, uint32_t k, int yes,
		       int no)
{
	if (c->len == CODE_MAX)
		die("more than %d instructions", CODE_MAX);
	c->v[c->len] = (struct insn){ op, k, code_want(c, yes),
				      code_want(c, no) };
	return &c->v[c->len++];
}

struct insn *code_emit(struct code *c, uint16_t op, uint32_t k)
{
	return code_jump(c, op, k, LABEL_NEXT, LABEL_NEXT);
}

static unsigned int distance(const struct code *c, int from, int label)
{
	const int to = label == LABEL_NEXT ? from + 1 : c->places[label];

	if (to <= from || to - from - 1 > UINT8_MAX)
		die("cannot jump from %d to %d: the program is too long", from,
		    to);
	return (unsigned int)(to - from - 1);
}

void code_print(const struct code *c, const char *name)
{
	printf("\nstatic const struct sock_filter %s[] = {\n", name);
	for (int i = 0; i < c->len; i++) {
		const struct insn *insn = &c->v[i];
		const bool jump = BPF_CLASS(insn->code) == BPF_JMP;

		printf("\t{ 0x%02x, %u, %u, 0x%08x },\n", insn->code,
		       jump ? distance(c, i, insn->yes) : 0,
		       jump ? distance(c, i, insn->no) : 0, insn->k);
	}
	printf("};\n");
}
