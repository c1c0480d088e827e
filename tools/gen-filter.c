/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools/gen-filter.c - write the seccomp programs from the two tables
 *
 * gen-filter x86_64|aarch64	print filters-ARCH.h
 * gen-filter --check		fail if libseccomp knows a call that has no row
 *
 * Theory of operation.  Each program maps a call number to a verdict or to a
 * block that looks at arguments.  Neighbouring numbers with the same target
 * are merged into ranges, and a search tree over the ranges finds the target.
 *
 * At load the kernel runs the program once for every call number, to learn
 * which it may always allow, and then compiles it: loading costs the sum of
 * all paths plus the number of instructions.  So the tree is the cheapest by
 * that measure, found by dynamic programming over intervals of ranges: an
 * interval is either cut in two (one JGE) or, where all but single numbers
 * share a target, a chain of JEQ.  A leaf is a jump and costs nothing.
 *
 * Rules become straight code: on the first condition that fails, go to the
 * next rule.  What the accumulator holds is known at each of these jumps, so
 * an argument is loaded again only if it has to be.
 *
 * libseccomp is asked for numbers and nothing else.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/kd.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <linux/vt.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "cage/filter.h"

enum {
	NUMBERS = 1024,		/* Call numbers looked at; far above the newest */
	RANGES_MAX = 256,
	CODE_MAX = 1024,
	CONDITIONS_MAX = 3,
	INSN_COST = 24,		/* One instruction, in steps of the load-time run */
};

/* Constants that filters.def uses and no header has under that name */
enum {
	CLONE_NEW = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
		    CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET,
	SOCK_TYPE = 0xf,	/* The rest of the argument is flags */
	KD_MASK = ~0xff, KD_REQUESTS = 0x4b00,
	VT_MASK = ~0xf, VT_REQUESTS = 0x5600,
	USERFAULTFD_NEW = 0xaa00,
	PERSONALITY_QUERY = -1,
};
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

enum part {
	BASE = 1 << 0,
	STRICT = 1 << 1,
	UNIX_PATHS = 1 << 2,
	UNIX_DENY = 1 << 3,
	UDP_DENY = 1 << 4,
	OBSERVE = 1 << 5,
	OBSERVE_FULL = 1 << 6,
	UNIX_NOTIFY = 1 << 7,
};

enum column { COLUMN_CLASS, COLUMN_WATCH, COLUMN_COUNT };

enum op { OP_NONE, OP_EQ, OP_NE, OP_GT, OP_ANY };

struct condition {
	enum op op;
	unsigned int arg;
	uint32_t mask, value;
};

struct rule {
	enum filter_class class;
	unsigned int parts;
	enum filter_verdict verdict;
	struct condition conditions[CONDITIONS_MAX + 1];	/* Ends in OP_NONE */
};

#define EQ(arg, value)			{ OP_EQ, arg, UINT32_MAX, (uint32_t)(value) }
#define NE(arg, value)			{ OP_NE, arg, UINT32_MAX, (uint32_t)(value) }
#define BITS_EQ(arg, mask, value)	{ OP_EQ, arg, (uint32_t)(mask), value }
#define BITS_GT(arg, mask, value)	{ OP_GT, arg, (uint32_t)(mask), value }
#define ANY(arg, mask)			{ OP_ANY, arg, UINT32_MAX, mask }
#define ALWAYS				{ OP_NONE, 0, 0, 0 }

static const struct rule rules[] = {
#define RULE(class, parts, verdict, ...)				\
	{ CLASS_##class, parts, VERDICT_##verdict, { __VA_ARGS__ } },
#include "cage/filters.def"
};

static const struct program {
	const char *id, *name;
	unsigned int parts;
	enum column column;
	enum filter_verdict otherwise;
} programs[PROGRAM_COUNT] = {
#define PROGRAM(id, name, parts, column, otherwise)			\
	{ #id, name, parts, COLUMN_##column, VERDICT_##otherwise },
#include "cage/filters.def"
};

static const struct arch {
	const char *name;
	uint32_t audit, token;
} arches[] = {
	{ "x86_64", AUDIT_ARCH_X86_64, SCMP_ARCH_X86_64 },
	{ "aarch64", AUDIT_ARCH_AARCH64, SCMP_ARCH_AARCH64 },
};

enum { ARCH_COUNT = sizeof(arches) / sizeof(*arches), BY_NAME = -2 };

static const struct row {
	const char *name;
	int numbers[ARCH_COUNT];	/* As written; BY_NAME: ask libseccomp */
	enum filter_class columns[COLUMN_COUNT];
} rows[] = {
#define SYSCALL(name, class, watch, reason)				\
	{ #name, { BY_NAME, BY_NAME }, { CLASS_##class, CLASS_##watch } },
#define SYSCALL_NR(name, x86_64, aarch64, class, watch, reason)		\
	{ #name, { x86_64, aarch64 }, { CLASS_##class, CLASS_##watch } },
#include "cage/syscalls.def"
};

enum { ROW_COUNT = sizeof(rows) / sizeof(*rows) };

/* The seccomp return value of each verdict */
static const uint32_t returns[VERDICT_COUNT] = {
	[VERDICT_ALLOW] = SECCOMP_RET_ALLOW,
	[VERDICT_EPERM] = SECCOMP_RET_ERRNO | EPERM,
	[VERDICT_ENOSYS] = SECCOMP_RET_ERRNO | ENOSYS,
	[VERDICT_EAFNOSUPPORT] = SECCOMP_RET_ERRNO | EAFNOSUPPORT,
	[VERDICT_EPROTONOSUPPORT] = SECCOMP_RET_ERRNO | EPROTONOSUPPORT,
	[VERDICT_EBUSY] = SECCOMP_RET_ERRNO | EBUSY,
	[VERDICT_NOTIFY] = SECCOMP_RET_USER_NOTIF,
	[VERDICT_KILL] = SECCOMP_RET_KILL_PROCESS,
};

/* A label is a place to jump to: first the verdicts, then the blocks of the
 * classes, then places within a tree or block.
 */
enum { LABEL_NEXT = -1, LABEL_CLASS = VERDICT_COUNT,
       LABEL_FREE = LABEL_CLASS + CLASS_COUNT };

struct insn {
	uint16_t code;
	uint32_t k;
	int yes, no;		/* Labels; for jumps */
};

static struct insn code[CODE_MAX];
static int places[LABEL_FREE + CODE_MAX];	/* Label to instruction, or -1 */
static int code_len, label_len;
static bool wanted[LABEL_FREE];

static void die(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

static void die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "gen-filter: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(1);
}

/* The number of a row on one architecture, or -1 if it has none there */
static int number_of(const struct row *row, int arch)
{
	const int known = seccomp_syscall_resolve_name_arch(arches[arch].token,
							    row->name);
	const int given = row->numbers[arch];

	if (given == BY_NAME) {
		if (known == __NR_SCMP_ERROR)
			die("libseccomp does not know %s: use SYSCALL_NR",
			    row->name);
		return known < 0 ? -1 : known;
	}
	if (known >= 0 && known != given)
		die("%s is %d on %s, not %d", row->name, known,
		    arches[arch].name, given);
	return given;
}

static int new_label(void)
{
	places[label_len] = code_len;
	return label_len++;
}

static int want(int label)
{
	if (label >= 0 && label < LABEL_FREE)
		wanted[label] = true;
	return label;
}

static struct insn *emit(uint16_t op, uint32_t k, int yes, int no)
{
	if (code_len == CODE_MAX)
		die("more than %d instructions", CODE_MAX);
	code[code_len] = (struct insn){ op, k, want(yes), want(no) };
	return &code[code_len++];
}

static void emit_load(size_t offset)
{
	emit(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, LABEL_NEXT, LABEL_NEXT);
}

/* The next rule of @class that is part of @program, from rules[@from] on */
static const struct rule *find_rule(const struct program *program,
				    enum filter_class class,
				    const struct rule *from)
{
	for (; from < rules + sizeof(rules) / sizeof(*rules); from++) {
		if (from->class == class && (from->parts & program->parts))
			return from;
	}
	return NULL;
}

/* Where to go to decide from @rule on: a verdict if nothing is to be tested */
static int rule_target(const struct program *program, const struct rule *rule,
		       int otherwise)
{
	if (!rule)
		return (int)program->otherwise;
	if (rule->conditions[0].op == OP_NONE)
		return (int)rule->verdict;
	return otherwise;
}

/**
 * struct holds - What is in the accumulator
 */
struct holds {
	bool known;
	unsigned int arg;
	uint32_t mask;
};

static void load_argument(struct holds *a, const struct condition *c)
{
	/* Little endian: the low half comes first */
	if (!a->known || a->arg != c->arg ||
	    (a->mask != UINT32_MAX && a->mask != c->mask)) {
		emit_load(offsetof(struct seccomp_data, args[c->arg]));
		*a = (struct holds){ true, c->arg, UINT32_MAX };
	}
	if (a->mask != c->mask)
		emit(BPF_ALU | BPF_AND | BPF_K, c->mask, LABEL_NEXT,
		     LABEL_NEXT);
	a->mask = c->mask;
}

static void emit_condition(const struct condition *c, int yes, int no)
{
	static const uint16_t codes[] = {
		[OP_EQ] = BPF_JEQ, [OP_NE] = BPF_JEQ, [OP_GT] = BPF_JGT,
		[OP_ANY] = BPF_JSET,
	};
	const bool swap = c->op == OP_NE;

	emit(BPF_JMP | BPF_K | codes[c->op], c->value, swap ? no : yes,
	     swap ? yes : no);
}

/* One rule; @a is what the accumulator holds on entry, and then on failure */
static void emit_rule(const struct rule *rule, int next, struct holds *a)
{
	struct holds failed = { 0 };
	bool first = true;

	for (const struct condition *c = rule->conditions; c->op; c++) {
		load_argument(a, c);
		if (first)
			failed = *a;
		else if (failed.arg != a->arg || failed.mask != a->mask)
			failed.known = false;
		first = false;
		emit_condition(c, c[1].op ? LABEL_NEXT : (int)rule->verdict,
			       next);
	}
	*a = failed;
}

static void emit_class(const struct program *program, enum filter_class class)
{
	const struct rule *rule = find_rule(program, class, rules);
	struct holds a = { 0 };

	places[LABEL_CLASS + (int)class] = code_len;
	while (rule && rule->conditions[0].op) {
		const struct rule *after = find_rule(program, class, rule + 1);
		const int decided = rule_target(program, after, LABEL_NEXT);
		const int next = decided == LABEL_NEXT ? label_len++ : decided;

		emit_rule(rule, next, &a);
		if (decided == LABEL_NEXT)
			places[next] = code_len;
		rule = after;
	}
}

/**
 * struct range - Call numbers next to each other with the same target
 * @first:	The lowest
 * @count:	How many; the last range has no end, and counts as NUMBERS
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

enum { CUT_CHAIN = -1 };

static void find_ranges(const struct program *program, int arch)
{
	int targets[NUMBERS], top = 0;

	for (int i = 0; i < NUMBERS; i++)
		targets[i] = (int)program->otherwise;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const enum filter_class class = rows[i].columns[program->column];
		const int number = number_of(&rows[i], arch);

		if (number >= NUMBERS)
			die("%s: number %d", rows[i].name, number);
		if (number < 0)
			continue;
		targets[number] = rule_target(program,
					      find_rule(program, class, rules),
					      LABEL_CLASS + (int)class);
		if (number > top)
			top = number;
	}
	range_len = 0;
	for (int i = 0; i < NUMBERS; i++) {
		struct range *r = &ranges[range_len - 1];

		if (!range_len || r->target != targets[i]) {
			if (range_len == RANGES_MAX)
				die("more than %d ranges", RANGES_MAX);
			r = &ranges[range_len++];
			*r = (struct range){ (uint32_t)i, 0, 0, targets[i] };
		}
		r->count++;
		r->weight += i <= top;
	}
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

static void plan_tree(void)
{
	for (int span = 0; span < range_len; span++) {
		for (int i = 0; i + span < range_len; i++) {
			const int j = i + span;
			long weight = 0, best = span ? chain_cost(i, j) : 0;
			int cut = CUT_CHAIN;

			for (int k = i; k <= j; k++)
				weight += ranges[k].weight;
			for (int k = i; k < j; k++) {
				const long cost = costs[i][k] + costs[k + 1][j] +
						  weight + INSN_COST;

				if (best >= 0 && cost >= best)
					continue;
				best = cost;
				cut = k;
			}
			costs[i][j] = best;
			cuts[i][j] = cut;
		}
	}
}

static int emit_chain(int i, int j)
{
	const int background = find_background(i, j), label = new_label();
	struct insn *last = NULL;

	for (int k = i; k <= j; k++) {
		if (ranges[k].target != background)
			last = emit(BPF_JMP | BPF_JEQ | BPF_K, ranges[k].first,
				    ranges[k].target, LABEL_NEXT);
	}
	if (last)
		last->no = want(background);
	return label;
}

/* The search among ranges @i to @j; returns where it starts */
static int emit_tree(int i, int j)
{
	const int cut = cuts[i][j];
	struct insn *node;
	int label;

	if (i == j)
		return want(ranges[i].target);
	if (cut == CUT_CHAIN)
		return emit_chain(i, j);
	label = new_label();
	node = emit(BPF_JMP | BPF_JGE | BPF_K, ranges[cut + 1].first,
		    LABEL_NEXT, LABEL_NEXT);
	node->no = emit_tree(i, cut);
	node->yes = emit_tree(cut + 1, j);
	return label;
}

static void emit_program(const struct program *program, int arch)
{
	/* Programs that only add refusals leave foreign calls to the base */
	const bool base = program->otherwise != VERDICT_ALLOW;

	code_len = 0;
	label_len = LABEL_FREE;
	memset(wanted, 0, sizeof(wanted));
	find_ranges(program, arch);
	plan_tree();

	emit_load(offsetof(struct seccomp_data, arch));
	emit(BPF_JMP | BPF_JEQ | BPF_K, arches[arch].audit, LABEL_NEXT,
	     base ? VERDICT_KILL : VERDICT_ALLOW);
	emit_load(offsetof(struct seccomp_data, nr));
	(void)emit_tree(0, range_len - 1);
	for (int i = 0; i < CLASS_COUNT; i++) {
		if (wanted[LABEL_CLASS + i])
			emit_class(program, (enum filter_class)i);
	}
	for (int i = 0; i < VERDICT_COUNT; i++) {
		places[i] = code_len;
		if (wanted[i])
			emit(BPF_RET | BPF_K, returns[i], LABEL_NEXT,
			     LABEL_NEXT);
	}
}

static unsigned int distance(const struct program *program, int from, int label)
{
	const int to = label == LABEL_NEXT ? from + 1 : places[label];

	if (to <= from || to - from - 1 > UINT8_MAX)
		die("%s: no jump from %d to %d: make the program smaller",
		    program->name, from, to);
	return (unsigned int)(to - from - 1);
}

static void print_program(const struct program *program, int arch)
{
	printf("\nstatic const struct sock_filter %s_%s[] = {\n",
	       arches[arch].name, program->id);
	for (int i = 0; i < code_len; i++) {
		const bool jump = BPF_CLASS(code[i].code) == BPF_JMP;

		printf("\t{ 0x%02x, %u, %u, 0x%08x },\n", code[i].code,
		       jump ? distance(program, i, code[i].yes) : 0,
		       jump ? distance(program, i, code[i].no) : 0, code[i].k);
	}
	printf("};\n");
}

static void print_header(int arch)
{
	const char *name = arches[arch].name;

	printf("/* Made by tools/gen-filter from syscalls.def and filters.def */\n\n"
	       "#include \"cage/filter.h\"\n");
	for (int i = 0; i < PROGRAM_COUNT; i++) {
		emit_program(&programs[i], arch);
		print_program(&programs[i], arch);
	}
	printf("\nstatic const struct filter %s_filters[PROGRAM_COUNT] = {\n",
	       name);
	for (int i = 0; i < PROGRAM_COUNT; i++)
		printf("\t{ \"%s\", %s_%s,\n"
		       "\t  sizeof(%s_%s) / sizeof(struct sock_filter) },\n",
		       programs[i].name, name, programs[i].id, name,
		       programs[i].id);
	printf("};\n\n/* One for each row of syscalls.def; -1: not here */\n"
	       "static const short %s_numbers[] = {\n", name);
	for (size_t i = 0; i < ROW_COUNT; i++)
		printf("\t%d,\n", number_of(&rows[i], arch));
	printf("};\n");
}

static bool has_row(const char *name)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (!strcmp(rows[i].name, name))
			return true;
	}
	return false;
}

static int check(void)
{
	int missing = 0;

	for (int arch = 0; arch < ARCH_COUNT; arch++) {
		for (int i = 0; i < NUMBERS; i++) {
			char *name = seccomp_syscall_resolve_num_arch(
				arches[arch].token, i);

			if (name && !has_row(name)) {
				fprintf(stderr, "%s (%d on %s) has no row\n",
					name, i, arches[arch].name);
				missing++;
			}
			free(name);
		}
	}
	return missing ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		die("wants one of: x86_64 aarch64 --check");
	if (!strcmp(argv[1], "--check"))
		return check();
	for (int i = 0; i < ARCH_COUNT; i++) {
		if (strcmp(argv[1], arches[i].name) != 0)
			continue;
		print_header(i);
		return fflush(stdout) || ferror(stdout) ? 1 : 0;
	}
	die("no such machine: %s", argv[1]);
}
