/* SPDX-License-Identifier: Apache-2.0 */
/* compat/test-bwrap.c - bwrap command lines to plans, and their errors */

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "compat/bwrap.h"
#include "test.h"

enum { USER = 1000 };

static void print_op(const struct bwrap_plan *plan, const struct bwrap_op *op,
		     struct buf *out)
{
	static const char *const words[BWRAP_KINDS] = {
		[BWRAP_BIND] = "bind", [BWRAP_OVERLAY] = "overlay",
		[BWRAP_REMOUNT] = "make read-only", [BWRAP_PROC] = "proc",
		[BWRAP_DEV] = "dev", [BWRAP_TMPFS] = "tmpfs",
		[BWRAP_MQUEUE] = "mqueue", [BWRAP_DIR] = "directory",
		[BWRAP_FILE] = "file", [BWRAP_DATA] = "bind data",
		[BWRAP_SYMLINK] = "link", [BWRAP_CHMOD] = "mode",
		[BWRAP_HOSTNAME] = "host name",
	};

	buf_addf(out, "%s%s%s%s%s", words[op->kind],
		 op->flags & BWRAP_RDONLY ? " read-only" : "",
		 op->flags & BWRAP_DEVICES ? " with devices" : "",
		 op->flags & BWRAP_SCRATCH ? " scratch" : "",
		 op->flags & BWRAP_TRY ? " if there" : "");
	for (size_t i = 0; i < op->layers; i++) {
		buf_adds(out, i ? ":" : " layers ");
		text_escape(out, plan->layers.v[op->layer + i]);
	}
	if (op->source) {
		buf_addc(out, ' ');
		text_escape(out, op->source);
	}
	if (op->fd >= 0)
		buf_addf(out, " fd %d", op->fd);
	if (op->dest) {
		buf_adds(out, " at ");
		text_escape(out, op->dest);
	}
	if (op->perms)
		buf_addf(out, " mode %04o", op->perms);
	if (op->size)
		buf_addf(out, " size %llu", (unsigned long long)op->size);
	buf_addc(out, '\n');
}

static void print_namespaces(const struct bwrap_plan *plan, struct buf *out)
{
	static const struct {
		uint64_t flag;
		const char *name;
	} names[] = {
		{ CLONE_NEWUSER, "user" }, { CLONE_NEWPID, "pid" },
		{ CLONE_NEWNET, "net" }, { CLONE_NEWIPC, "ipc" },
		{ CLONE_NEWUTS, "uts" }, { CLONE_NEWCGROUP, "cgroup" },
	};

	buf_adds(out, "namespaces");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (plan->namespaces & names[i].flag)
			buf_addf(out, " %s", names[i].name);
	}
	buf_adds(out, plan->user_try ? " user?" : "");
	buf_adds(out, plan->cgroup_try ? " cgroup?" : "");
	buf_addc(out, '\n');
}

/* A line per thing */
static void print_plan(const struct bwrap_plan *plan, struct buf *out)
{
	print_namespaces(plan, out);
	for (size_t i = 0; i < plan->ops.len; i++)
		print_op(plan, &plan->ops.v[i], out);
	for (char *const *word = plan->argv; word && *word; word++) {
		buf_adds(out, word == plan->argv ? "command " : " ");
		text_shell_quote(out, *word);
	}
	buf_addc(out, '\n');
}

/* Parse @line, split at blanks, and check it; the result is bwrap_parse()'s */
static int parse(struct bwrap *b, const char *line, struct err *err)
{
	static char *words[64];
	char *copy = mem_strdup(line), *rest = copy;
	size_t n = 0;
	int r;

	while ((words[n] = strsep(&rest, " ")) != NULL)
		n++;
	r = bwrap_parse(b, words, 0, err);
	*vec_push(&b->plan.memory) = copy;	/* It points there */
	return r < 0 ? r : bwrap_check(&b->plan, USER, err);
}

static void check_shown(const char *line, const char *want)
{
	auto_buf struct buf text = { 0 };
	struct err err = { 0 };
	struct bwrap b;

	if (parse(&b, line, &err) < 0)
		test_fail(__FILE__, __LINE__, "%s: %s", line, err.msg);
	print_plan(&b.plan, &text);
	CHECK_STR(buf_str(&text), want);
	bwrap_done(&b);
}

static void check_wrong(const char *line, const char *want)
{
	struct err err = { 0 };
	struct bwrap b;

	if (parse(&b, line, &err) >= 0)
		test_fail(__FILE__, __LINE__, "%s is fine", line);
	CHECK_STR(err.msg, want);
	bwrap_done(&b);
}

TEST(bwrap_options_become_operations_in_the_same_order)
{
	check_shown("--ro-bind / / --dev /dev --bind-try a b --proc /proc "
		    "--dev-bind c d --tmpfs /t --mqueue /q -- cmd --bind",
		    "namespaces user\n"
		    "bind read-only / at /\n"
		    "dev at /dev\n"
		    "bind if there a at b\n"
		    "proc at /proc\n"
		    "bind with devices c at d\n"
		    "tmpfs at /t mode 0755\n"
		    "mqueue at /q\n"
		    "command cmd --bind\n");
}

TEST(perms_and_size_apply_to_the_next_option_only)
{
	check_shown("--perms 0700 --dir /a --dir /b --size 10 --perms 1777 "
		    "--tmpfs /t --tmpfs /u --perms 0 --file 5 /f --bind-data 6 /g "
		    "--ro-bind-data 7 /h --chmod 755 /a x",
		    "namespaces user\n"
		    "directory at /a mode 0700\n"
		    "directory at /b mode 0755\n"
		    "tmpfs at /t mode 1777 size 10\n"
		    "tmpfs at /u mode 0755\n"
		    "file fd 5 at /f\n"
		    "bind data fd 6 at /g mode 0600\n"
		    "bind data read-only fd 7 at /h mode 0600\n"
		    "mode at /a mode 0755\n"
		    "command x\n");
}

TEST(an_overlay_takes_the_layers_given_before_it)
{
	check_shown("--overlay-src a --overlay-src b --overlay u w /o "
		    "--overlay-src c --tmp-overlay /p --overlay-src d "
		    "--overlay-src e --ro-overlay /q x",
		    "namespaces user\n"
		    "overlay layers a:b u at /o\n"
		    "overlay scratch layers c at /p\n"
		    "overlay read-only layers d:e at /q\n"
		    "command x\n");
}

TEST(unshare_and_share_options_add_up)
{
	check_shown("--unshare-all --share-net x",
		    "namespaces user pid ipc uts user? cgroup?\ncommand x\n");
	check_shown("--share-net --unshare-net --unshare-cgroup x",
		    "namespaces user net cgroup\ncommand x\n");
}

TEST(wrong_options_have_bubblewraps_message)
{
	check_wrong("--bind a", "--bind takes two arguments");
	check_wrong("--dir", "--dir takes an argument");
	check_wrong("--overlay a b", "--overlay takes three arguments");
	check_wrong("--what", "Unknown option --what");
	check_wrong("--seccomp -1 x", "Invalid fd: -1");
	check_wrong("--uid 4294967296 x", "Invalid uid: 4294967296");
	check_wrong("--perms 8 --dir /x x",
		    "--perms takes an octal argument <= 07777");
	check_wrong("--perms 10000 --dir /x x",
		    "--perms takes an octal argument <= 07777");
	check_wrong("--perms 7777 --perms 1 --dir /x x",
		    "--perms given twice for the same action");
	check_wrong("--perms 1 --proc /x x",
		    "--perms must be followed by an option that creates a file");
	check_wrong("--size 18446744073709551616 --tmpfs /x x",
		    "--size takes a non-zero number of bytes");
	check_wrong("--size 9223372036854775808 --tmpfs /x x",
		    "--size (for tmpfs) is limited to 9223372036854775807");
	check_wrong("--hostname h x",
		    "Specifying --hostname requires --unshare-uts");
	check_wrong("--userns 5 --unshare-user x",
		    "--userns is not compatible with --unshare-user");
	check_wrong("--setenv A=B c x", "setenv failed");
	check_wrong("--cap-add 64 x", "unknown cap: 64");
	check_wrong("--bind  /x x", "--bind does not take an empty path argument");
	check_wrong("--bind /x  x", "--bind does not take an empty path argument");
	check_wrong("--chdir  x", "--chdir does not take an empty path argument");
	check_wrong("--overlay-src a --overlay u  /o x",
		    "--overlay does not take an empty path argument");
}

TEST(environment_options_apply_in_order)
{
	char *before[] = { (char *)(uintptr_t)"A=1", (char *)(uintptr_t)"B=2",
			   NULL };
	char **own = environ;
	struct bwrap b;

	environ = before;
	CHECK_INT(parse(&b, "--setenv C 3 --unsetenv A --setenv B 4 x", NULL),
		  0);
	CHECK_STR(environ[0], "B=4");
	CHECK_STR(environ[1], "C=3");
	CHECK(!environ[2]);
	bwrap_done(&b);
	CHECK_INT(parse(&b, "--setenv C 3 --clearenv --setenv D 5 x", NULL), 0);
	CHECK_STR(environ[0], "D=5");
	CHECK(!environ[1]);
	bwrap_done(&b);
	environ = own;
}

TEST(capabilities_are_accepted_by_name_or_number)
{
	struct bwrap b;

	CHECK_INT(parse(&b, "--cap-add CAP_CHOWN --cap-add net_admin "
			"--cap-add 40 --cap-add 63 x", NULL), 0);
	CHECK_INT(b.plan.caps, 1ULL << 63 | 1ULL << 40 | 1ULL << 12 | 1);
	bwrap_done(&b);
	CHECK_INT(parse(&b, "--cap-add all --cap-drop Cap_Sys_Admin x", NULL), 0);
	CHECK_INT(b.plan.caps, ~(1ULL << 21));
	bwrap_done(&b);
}

TEST(args_reads_options_from_a_descriptor)
{
	static const char text[] = "--dir\0/a\0--args\0003";
	const int fd = memfd_create("args", 0);
	char line[64];

	CHECK(write(fd, text, 9) == 9 && lseek(fd, 0, SEEK_SET) == 0);
	snprintf(line, sizeof(line), "--args %d --dir /b x", dup(fd));
	check_shown(line, "namespaces user\ndirectory at /a mode 0755\n"
			  "directory at /b mode 0755\ncommand x\n");
	CHECK(pwrite(fd, text, sizeof(text), 0) == sizeof(text) &&
	      lseek(fd, 0, SEEK_SET) == 0);
	snprintf(line, sizeof(line), "--args %d x", fd);
	check_wrong(line, "--args not supported in arguments file");
}

TEST(every_option_has_a_line_of_help_and_arguments)
{
	for (const struct bwrap_row *row = bwrap_table(); row->name; row++) {
		CHECK(bwrap_count(row) <= 3);
		CHECK(!strncmp(row->name, "--", 2) && strlen(row->help) > 5);
	}
}
