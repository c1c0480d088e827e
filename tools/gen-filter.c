/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools/gen-filter.c - write the seccomp programs from the two tables
 *
 * gen-filter x86_64|aarch64	print filters-ARCH.h
 * gen-filter --check		fail if libseccomp knows a call that has no row
 *
 * Theory of operation.  A program is a set of parts: the rules of filters.def
 * that name one of them count.  There is a whole program for every choice that
 * struct seccomp_config has, listener included, because a load costs far more
 * than the few instructions by which they differ.  The exception is the one
 * against UDP, for a tier where start-up time is no concern.
 *
 * A program checks the machine, searches for the call number (gen-filter-tree)
 * and ends at a verdict or at a block of code for a row's rules.  In a block,
 * the first condition that fails goes to the next rule.  What the accumulator
 * holds is known at each of these jumps, so an argument is loaded again only
 * if it has to be.  Where the class of a row allows, its watch decides: an
 * errno goes before the listener, as with two programs.
 *
 * libseccomp is asked for numbers and nothing else.
 */

#include "gen-filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>

#include "sandbox/seccomp.h"

enum {
	NUMBERS_MAX = 1024,
	CONDITIONS_MAX = 3,
	BY_NAME = -2,
};

/* Constants that filters.def uses and no header has under that name */
enum {
	CLONE_NEW = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
		    CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET,
	/* What is no namespace, nor anything that a later kernel may add */
	UNSHARE_OWN = CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_VM |
		      CLONE_SIGHAND | CLONE_THREAD,
	SOCK_TYPE = 0xf,	/* The rest of the argument is flags */
	KD_MASK = ~0xff, KD_REQUESTS = 0x4b00,
	VT_MASK = ~0xf, VT_REQUESTS = 0x5600,
	USERFAULTFD_NEW = 0xaa00,
	FS_MASK = 0xff00, BTRFS_REQUESTS = 0x9400, BCACHEFS_REQUESTS = 0xbc00,
	OPEN_MAKES = O_CREAT | (O_TMPFILE & ~O_DIRECTORY),
	F_SETDELEG = 1040,	/* Linux 6.19 */
	PERSONALITY_QUERY = -1,
};

enum op { OP_NONE, OP_EQ, OP_NE, OP_GT, OP_ANY };

struct condition {
	enum op op;
	unsigned int arg;
	uint32_t mask, value;
};

#define ALWAYS			{ OP_NONE, 0, 0, 0 }
#define EQ(arg, value)		{ OP_EQ, arg, UINT32_MAX, (uint32_t)(value) }
#define NE(arg, value)		{ OP_NE, arg, UINT32_MAX, (uint32_t)(value) }
#define BITS_EQ(arg, mask, value) { OP_EQ, arg, (uint32_t)(mask), value }
#define BITS_GT(arg, mask, value) { OP_GT, arg, (uint32_t)(mask), value }
#define ANY(arg, mask)		{ OP_ANY, arg, UINT32_MAX, mask }

/* Conditions end in OP_NONE */
static const struct rule {
	enum filter_class class;
	unsigned int parts;
	enum filter_verdict verdict;
	struct condition conditions[CONDITIONS_MAX + 1];
} rules[] = {
#define RULE(class, parts, verdict, ...)				\
	{ CLASS_##class, parts, VERDICT_##verdict, { __VA_ARGS__ } },
#include "sandbox/filters.def"
};

static const struct arch {
	const char *name;
	uint32_t audit, token;
} arches[] = {
	{ "x86_64", AUDIT_ARCH_X86_64, SCMP_ARCH_X86_64 },
	{ "aarch64", AUDIT_ARCH_AARCH64, SCMP_ARCH_AARCH64 },
};

enum { ARCH_COUNT = sizeof(arches) / sizeof(*arches) };

static const struct row {
	const char *name;
	int numbers[ARCH_COUNT];	/* As written; BY_NAME: ask libseccomp */
	enum filter_class class, watch;
} rows[] = {
#define SYSCALL(name, class, watch, reason)				\
	{ #name, { BY_NAME, BY_NAME }, CLASS_##class, CLASS_##watch },
#define SYSCALL_NR(name, x86_64, aarch64, class, watch, reason)		\
	{ #name, { x86_64, aarch64 }, CLASS_##class, CLASS_##watch },
#include "sandbox/syscalls.def"
};

enum { ROW_COUNT = sizeof(rows) / sizeof(*rows) };

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

static const unsigned int unix_parts[SECCOMP_UNIX_COUNT] = {
	[SECCOMP_UNIX_DENY] = UNIX_DENY,
	[SECCOMP_UNIX_BY_PATH] = UNIX_PATHS,
};

static const unsigned int observe_parts[SECCOMP_OBSERVE_COUNT] = {
	[SECCOMP_OBSERVE_ON] = OBSERVE,
	[SECCOMP_OBSERVE_LATE] = OBSERVE | OBSERVE_LATE,
	[SECCOMP_OBSERVE_FULL] = OBSERVE_FULL | OBSERVE_LATE,
};

/* The number of a row on one architecture, or -1 if it has none there */
static int number_of(const struct row *row, int arch)
{
	const int known = seccomp_syscall_resolve_name_arch(arches[arch].token,
							    row->name);
	const int given = row->numbers[arch];

	if (given == BY_NAME && known == __NR_SCMP_ERROR)
		die("libseccomp does not know %s: use SYSCALL_NR", row->name);
	if (given != BY_NAME && known >= 0 && known != given)
		die("%s is %d on %s, not %d", row->name, known,
		    arches[arch].name, given);
	if (known >= NUMBERS_MAX || given >= NUMBERS_MAX)
		die("the number of %s is too high", row->name);
	if (given == BY_NAME)
		return known < 0 ? -1 : known;
	return given;
}

/* The next rule of @class that is in @parts, from @rule on, or NULL */
static const struct rule *find_rule(unsigned int parts, enum filter_class class,
				    const struct rule *rule)
{
	for (; rule < rules + sizeof(rules) / sizeof(*rules); rule++) {
		if (rule->class == class && (rule->parts & parts))
			return rule;
	}
	return NULL;
}

static enum filter_verdict verdict_of(unsigned int parts,
				      const struct rule *rule)
{
	if (rule->verdict != VERDICT_REPORTED)
		return rule->verdict;
	return parts & (OBSERVE | OBSERVE_FULL) ? VERDICT_NOTIFY
						: VERDICT_EPERM;
}

/* What becomes of a call that no rule decides, or that has no row */
static enum filter_verdict otherwise(unsigned int parts)
{
	return parts & BASE ? VERDICT_ENOSYS : VERDICT_ALLOW;
}

static int block_label(enum filter_class class, enum filter_class watch)
{
	return LABEL_BLOCK + (int)(class * CLASS_COUNT + watch);
}

/* Where a row's call goes: a verdict, or the block that tests its arguments */
static int row_target(unsigned int parts, enum filter_class class,
		      enum filter_class watch)
{
	const struct rule *rule = find_rule(parts, class, rules);
	enum filter_verdict verdict = otherwise(parts);

	if (rule && rule->conditions[0].op != OP_NONE)
		return block_label(class, watch);
	if (rule)
		verdict = verdict_of(parts, rule);
	if (verdict != VERDICT_ALLOW)
		return (int)verdict;
	rule = find_rule(parts, watch, rules);
	if (rule && rule->conditions[0].op != OP_NONE)
		return block_label(CLASS_ALLOW, watch);
	return rule ? (int)verdict_of(parts, rule) : VERDICT_ALLOW;
}

/**
 * struct holds - What is in the accumulator
 */
struct holds {
	bool known;
	unsigned int arg;
	uint32_t mask;
};

static void load_argument(struct code *c, struct holds *a,
			  const struct condition *condition)
{
	/* Little endian: the low half comes first */
	const uint32_t offset = (uint32_t)
		offsetof(struct seccomp_data, args[condition->arg]);

	if (!a->known || a->arg != condition->arg ||
	    (a->mask != UINT32_MAX && a->mask != condition->mask)) {
		code_emit(c, BPF_LD | BPF_W | BPF_ABS, offset);
		*a = (struct holds){ true, condition->arg, UINT32_MAX };
	}
	if (a->mask != condition->mask)
		code_emit(c, BPF_ALU | BPF_AND | BPF_K, condition->mask);
	a->mask = condition->mask;
}

static void emit_condition(struct code *c, const struct condition *condition,
			   int yes, int no)
{
	static const uint16_t codes[] = {
		[OP_EQ] = BPF_JEQ, [OP_NE] = BPF_JEQ, [OP_GT] = BPF_JGT,
		[OP_ANY] = BPF_JSET,
	};
	const bool swap = condition->op == OP_NE;

	code_jump(c, BPF_JMP | BPF_K | codes[condition->op], condition->value,
		  swap ? no : yes, swap ? yes : no);
}

/* One rule; @a is what the accumulator holds on entry, and then on failure */
static void emit_rule(struct code *c, const struct rule *rule, int yes, int no,
		      struct holds *a)
{
	struct holds failed = { 0 };

	for (const struct condition *i = rule->conditions; i->op; i++) {
		load_argument(c, a, i);
		if (i == rule->conditions)
			failed = *a;
		else if (failed.arg != a->arg || failed.mask != a->mask)
			failed.known = false;
		emit_condition(c, i, i[1].op ? LABEL_NEXT : yes, no);
	}
	*a = failed;
}

/* The rules of a row whose class is CLASS_ALLOW are those of its watch */
static void emit_block(struct code *c, unsigned int parts,
		       enum filter_class class, enum filter_class watch)
{
	const bool watching = class == CLASS_ALLOW;
	const enum filter_class which = watching ? watch : class;
	const int allow = watching ? VERDICT_ALLOW :
				     row_target(parts, CLASS_ALLOW, watch);
	const enum filter_verdict end = watching ? VERDICT_ALLOW :
						   otherwise(parts);
	struct holds a = { 0 };

	code_place(c, block_label(class, watch));
	for (const struct rule *rule = find_rule(parts, which, rules), *next;
	     rule && rule->conditions[0].op; rule = next) {
		const enum filter_verdict verdict = verdict_of(parts, rule);
		const int yes = verdict == VERDICT_ALLOW ? allow : (int)verdict;
		enum filter_verdict last = end;
		int no;

		next = find_rule(parts, which, rule + 1);
		if (next && next->conditions[0].op) {
			no = code_label(c);
			emit_rule(c, rule, yes, no, &a);
			code_place(c, no);
			continue;
		}
		if (next)
			last = verdict_of(parts, next);
		no = last == VERDICT_ALLOW ? allow : (int)last;
		emit_rule(c, rule, yes, no, &a);
	}
}

static void emit_search(struct code *c, unsigned int parts, int arch)
{
	const int none = (int)otherwise(parts);
	int targets[NUMBERS_MAX], len = 0;
	bool taken[NUMBERS_MAX] = { 0 };

	for (int i = 0; i < NUMBERS_MAX; i++)
		targets[i] = none;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const int number = number_of(&rows[i], arch);

		if (number < 0)
			continue;
		if (taken[number])
			die("two rows for %s, number %d", rows[i].name, number);
		taken[number] = true;
		targets[number] = row_target(parts, rows[i].class,
					     rows[i].watch);
		if (number >= len)
			len = number + 1;
	}
	tree_emit(c, targets, len, none);
}

static void print_program(unsigned int parts, int arch, const char *name)
{
	static struct code c;

	code_init(&c);
	code_emit(&c, BPF_LD | BPF_W | BPF_ABS,
		  offsetof(struct seccomp_data, arch));
	/* What only adds refusals leaves foreign calls to the base */
	code_jump(&c, BPF_JMP | BPF_JEQ | BPF_K, arches[arch].audit, LABEL_NEXT,
		  parts & BASE ? VERDICT_KILL : VERDICT_ALLOW);
	code_emit(&c, BPF_LD | BPF_W | BPF_ABS,
		  offsetof(struct seccomp_data, nr));
	emit_search(&c, parts, arch);

	/* Jumps go forward: CLASS_ALLOW, the first, is where others go on */
	for (int class = CLASS_COUNT - 1; class >= 0; class--) {
		for (int watch = 0; watch < CLASS_COUNT; watch++) {
			if (c.wanted[block_label(class, watch)])
				emit_block(&c, parts, class, watch);
		}
	}
	for (int i = 0; i < VERDICT_COUNT; i++) {
		code_place(&c, i);
		if (c.wanted[i])
			code_emit(&c, BPF_RET | BPF_K, returns[i]);
	}
	code_print(&c, name);
}

/* Call @each for every choice of struct seccomp_config that has a program */
static void each_choice(int arch, void (*each)(int arch, const char *name,
					       unsigned int parts))
{
	for (int u = 0; u < SECCOMP_UNIX_COUNT; u++) {
		for (int nested = 0; nested < 2; nested++) {
			for (int o = 0; o < SECCOMP_OBSERVE_COUNT; o++) {
				char name[64];

				snprintf(name, sizeof(name), "%s_%d_%d_%d",
					 arches[arch].name, u, nested, o);
				each(arch, name, BASE | (nested ? 0 : STRICT) |
				     unix_parts[u] | observe_parts[o]);
			}
		}
	}
}

static void print_one(int arch, const char *name, unsigned int parts)
{
	print_program(parts, arch, name);
}

static void print_entry(int arch, const char *name, unsigned int parts)
{
	(void)arch;
	(void)parts;
	printf("\tFILTER(%s),\n", name);
}

static void print_header(int arch)
{
	const char *name = arches[arch].name;
	char no_udp[64];

	snprintf(no_udp, sizeof(no_udp), "%s_no_udp_code", name);
	printf("/* Made by tools/gen-filter.c from syscalls.def and filters.def */\n\n"
	       "#include \"sandbox/filter.h\"\n");
	print_program(UDP_DENY, arch, no_udp);
	each_choice(arch, print_one);

	printf("\nstatic const struct filter %s_no_udp = FILTER(%s);\n", name,
	       no_udp);
	printf("\n/* By unix_sockets, nested_userns, observe */\n"
	       "static const struct filter %s_filters[] = {\n", name);
	each_choice(arch, print_entry);
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
		for (int i = 0; i < NUMBERS_MAX; i++) {
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
