/* SPDX-License-Identifier: Apache-2.0 */
/* compat/bwrap-options.c - the options of bubblewrap 0.11, and what each asks for */

#include <ctype.h>
#include <errno.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "compat/bwrap.h"

enum {
	NUMBER_MAX = 0x7fffffff,	/* Of a descriptor, user or group */
	PERMS_MAX = 07777,
	ARGS_BYTES = 64 << 20,		/* What --args may hold */
	CAPABILITY_MAX = 63,		/* A set has so many bits */
	FLAGS_SHIFT = 8,		/* A row's value: a kind, then its flags */
};

/* Each takes what it needs of the row, its arguments and a buffer for an error */
#define OPTION(id)							\
	static int set_##id(struct bwrap *b __attribute__((unused)),	\
			    const struct bwrap_row *row			\
				__attribute__((unused)),		\
			    char *const *w __attribute__((unused)),	\
			    struct err *err __attribute__((unused)))

/* A member of struct bwrap, by its place in there */
#define MEMBER(type, b, row)	((type *)(void *)((char *)(b) + (row)->value))

static void warn_last(struct bwrap *b, const struct bwrap_row *row)
{
	buf_addf(&b->warned, "Only the last %s option will take effect\n",
		 row->name);
}

static int parse_fd(const char *word, int *ret, struct err *err)
{
	uint64_t fd;

	if (text_to_u64(word, NUMBER_MAX, &fd) < 0)
		return fail(err, -EINVAL, "Invalid fd: %s", word);
	*ret = (int)fd;
	return 0;
}

static int parse_perms(const struct bwrap_row *row, const char *word,
		       mode_t *ret, struct err *err)
{
	char *end;
	const unsigned long mode = strtoul(word, &end, 8);

	if (!isdigit((unsigned char)*word) || *end || mode > PERMS_MAX)
		return fail(err, -EINVAL, "%s takes an octal argument <= 07777",
			    row->name);
	*ret = (mode_t)mode;
	return 0;
}

OPTION(nothing)
{
	return 0;
}

OPTION(asked)
{
	b->asked = (int)row->value;
	return 0;
}

static int read_arguments(struct bwrap *b, char *const *words, size_t n,
		      size_t *ret_used, struct err *err);

/* The texts stay in memory as long as the plan that points into them */
OPTION(args)
{
	struct { char **v; size_t len, cap; } words = { 0 };
	auto_buf struct buf text = { 0 };
	size_t len, used;
	char *data;
	int fd, r;

	if (b->in_args)
		return fail(err, -EINVAL, "--args not supported in arguments file");
	r = parse_fd(w[0], &fd, err);
	if (r < 0)
		return r;
	r = fs_read_fd(fd, ARGS_BYTES, &text, NULL);
	if (r < 0)
		return fail(err, r, "Can't read --args data: %s", strerror(-r));
	(void)close(fd);
	len = text.len;
	data = buf_take(&text);
	for (char *p = data; p < data + len; p += strlen(p) + 1)
		*vec_push(&words) = p;
	*vec_push(&b->plan.memory) = data;
	*vec_push(&b->plan.memory) = words.v;
	b->in_args = true;
	r = read_arguments(b, words.v, words.len, &used, err);
	b->in_args = false;
	return r;
}

OPTION(argv0)
{
	if (b->plan.argv0)
		return fail(err, -EINVAL, "--argv0 used multiple times");
	b->plan.argv0 = w[0];
	return 0;
}

OPTION(chdir)
{
	if (b->plan.cwd)
		warn_last(b, row);
	b->plan.cwd = w[0];
	return 0;
}

OPTION(unshare)
{
	b->plan.namespaces |= row->value;
	return 0;
}

OPTION(unshare_all)
{
	b->plan.user_try = b->plan.cgroup_try = true;
	return set_unshare(b, row, w, err);
}

OPTION(share)
{
	b->plan.namespaces &= ~row->value;
	return 0;
}

OPTION(flag)
{
	*MEMBER(bool, b, row) = true;
	return 0;
}

OPTION(fd)
{
	int *fd = MEMBER(int, b, row);

	if (*fd >= 0)
		warn_last(b, row);
	return parse_fd(w[0], fd, err);
}

/* The number that means "unchanged" to the kernel belongs to no user */
OPTION(id)
{
	int64_t *id = MEMBER(int64_t, b, row);
	uint64_t number;

	if (*id >= 0)
		warn_last(b, row);
	if (text_to_u64(w[0], NUMBER_MAX, &number) < 0)
		return fail(err, -EINVAL, "Invalid %s: %s", row->name + 2, w[0]);
	*id = (int64_t)number;
	return 0;
}

OPTION(clearenv)
{
	(void)clearenv();
	return 0;
}

OPTION(setenv)
{
	return setenv(w[0], w[1], 1) < 0 ? fail(err, -EINVAL, "setenv failed")
					 : 0;
}

OPTION(unsetenv)
{
	return unsetenv(w[0]) < 0 ? fail(err, -EINVAL, "unsetenv failed") : 0;
}

OPTION(lock_file)
{
	*vec_push(&b->plan.locks) = w[0];
	return 0;
}

OPTION(sync_fd)
{
	return parse_fd(w[0], vec_push(&b->plan.syncs), err);
}

OPTION(seccomp)
{
	if (b->plan.filters.len && !b->one_filter)
		return fail(err, -EINVAL, "--seccomp cannot be combined with --add-seccomp-fd");
	if (b->one_filter)
		warn_last(b, row);
	b->one_filter = true;
	b->plan.filters.len = 0;
	return parse_fd(w[0], vec_push(&b->plan.filters), err);
}

OPTION(add_seccomp)
{
	if (b->one_filter)
		return fail(err, -EINVAL, "--add-seccomp-fd cannot be combined with --seccomp");
	return parse_fd(w[0], vec_push(&b->plan.filters), err);
}

/* CAP_NET_ADMIN, net_admin or a number: newer kernels have more than names here */
static int parse_capability(const char *name, uint64_t *ret)
{
	static const char *const names[] = {	/* In the kernel's order */
		"chown", "dac_override", "dac_read_search", "fowner", "fsetid",
		"kill", "setgid", "setuid", "setpcap", "linux_immutable",
		"net_bind_service", "net_broadcast", "net_admin", "net_raw",
		"ipc_lock", "ipc_owner", "sys_module", "sys_rawio",
		"sys_chroot", "sys_ptrace", "sys_pacct", "sys_admin",
		"sys_boot", "sys_nice", "sys_resource", "sys_time",
		"sys_tty_config", "mknod", "lease", "audit_write",
		"audit_control", "setfcap", "mac_override", "mac_admin",
		"syslog", "wake_alarm", "block_suspend", "audit_read",
		"perfmon", "bpf", "checkpoint_restore",
	};
	const char *plain = strncasecmp(name, "cap_", 4) ? name : name + 4;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcasecmp(names[i], plain)) {
			*ret = i;
			return 0;
		}
	}
	return text_to_u64(name, CAPABILITY_MAX, ret);
}

OPTION(cap)
{
	uint64_t cap, mask = ~0ULL;

	if (strcasecmp(w[0], "ALL") != 0) {
		if (parse_capability(w[0], &cap) < 0)
			return fail(err, -EINVAL, "unknown cap: %s", w[0]);
		mask = 1ULL << cap;
	}
	b->plan.caps_used = true;
	b->plan.caps = row->value ? b->plan.caps | mask : b->plan.caps & ~mask;
	return 0;
}

OPTION(label)
{
	return fail(err, -EOPNOTSUPP, "%s is not supported: cloche sets no SELinux labels; leave it out",
		    row->name);
}

OPTION(perms)
{
	mode_t mode;
	int r;

	if (b->perms >= 0)
		return fail(err, -EINVAL, "--perms given twice for the same action");
	r = parse_perms(row, w[0], &mode, err);
	if (r == 0)
		b->perms = (int)mode;
	return r;
}

OPTION(size)
{
	char *end;

	if (b->size)
		return fail(err, -EINVAL, "--size given twice for the same action");
	errno = 0;
	b->size = strtoull(w[0], &end, 0);
	if (errno || !isdigit((unsigned char)w[0][0]) || *end || !b->size)
		return fail(err, -EINVAL, "--size takes a non-zero number of bytes");
	if (b->size > SIZE_MAX / 2)
		return fail(err, -EINVAL, "--size (for tmpfs) is limited to %zu",
			    (size_t)SIZE_MAX / 2);
	return 0;
}

OPTION(overlay_src)
{
	*vec_push(&b->plan.layers) = w[0];
	b->layers++;
	return 0;
}

/* Is the word of this kind a path? */
static bool is_path(const char *kind, size_t n)
{
	static const char *const kinds[] = {
		"SRC", "DEST", "DIR", "PATH", "RWSRC", "WORKDIR",
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strlen(kinds[i]) == n && !memcmp(kinds[i], kind, n))
			return true;
	}
	return false;
}

/* One word of an operation; its kind tells what it is for */
static int take_word(struct bwrap_op *op, const struct bwrap_row *row,
		     const char *kind, const char *word, struct err *err)
{
	switch (*kind) {
	case 'F':	/* FD */
		return parse_fd(word, &op->fd, err);
	case 'O':	/* OCTAL */
		return parse_perms(row, word, &op->perms, err);
	case 'D':	/* DEST */
	case 'P':	/* PATH */
		op->dest = word;
		return 0;
	case 'W':	/* WORKDIR */
		op->work = word;
		return 0;
	default:	/* SRC, RWSRC, NAME */
		op->source = word;
		return 0;
	}
}

/* What the options before it set: a mode, a size, lower directories */
static int take_modifiers(struct bwrap *b, const struct bwrap_row *row,
			  struct bwrap_op *op, struct err *err)
{
	static const mode_t modes[BWRAP_KINDS] = {
		[BWRAP_TMPFS] = 0755, [BWRAP_DIR] = 0755, [BWRAP_FILE] = 0666,
		[BWRAP_DATA] = 0600,
	};
	const size_t least = op->flags & BWRAP_RDONLY ? 2 : 1;

	if (modes[op->kind]) {
		op->perms = b->perms >= 0 ? (mode_t)b->perms : modes[op->kind];
		b->perms = -1;
	}
	if (op->kind == BWRAP_TMPFS) {
		op->size = b->size;
		b->size = 0;
	}
	if (op->kind != BWRAP_OVERLAY)
		return 0;
	if (b->layers < least)
		return fail(err, -EINVAL, "%s requires at least %s --overlay-src",
			    row->name, least > 1 ? "two" : "one");
	op->layers = b->layers;
	op->layer = b->plan.layers.len - b->layers;
	b->layers = 0;
	return 0;
}

OPTION(op)
{
	struct bwrap_op op = {
		.kind = (enum bwrap_kind)(row->value & ((1 << FLAGS_SHIFT) - 1)),
		.flags = (unsigned int)(row->value >> FLAGS_SHIFT),
		.fd = -1, .mount = -1,
	};
	const char *kind = row->words;
	int r = 0;

	for (; r == 0 && *kind; w++) {
		r = take_word(&op, row, kind, *w, err);
		kind += strcspn(kind, " ");
		kind += strspn(kind, " ");
	}
	if (r == 0)
		r = take_modifiers(b, row, &op, err);
	if (r == 0)
		*vec_push(&b->plan.ops) = op;
	return r;
}

OPTION(hostname)
{
	if (b->plan.hostname)
		warn_last(b, row);
	b->plan.hostname = w[0];
	return set_op(b, row, w, err);
}

#define AT(member)	offsetof(struct bwrap, member)
#define OP(kind, flags)	(BWRAP_##kind | (uint64_t)(flags) << FLAGS_SHIFT)

static const struct bwrap_row rows[] = {
	{ "--help", "", set_asked, BWRAP_HELP, "Show this help" },
	{ "--version", "", set_asked, BWRAP_VERSION, "Show the version" },
	{ "--args", "FD", set_args, 0, "Read more options from FD, each ended by a NUL" },
	{ "--argv0", "VALUE", set_argv0, 0, "Call the command VALUE" },
	{ "--level-prefix", "", set_flag, AT(level_prefix), "Put a syslog level before each message, as <3>" },
	{ "--unshare-all", "", set_unshare_all, CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUTS, "New namespaces of every kind there is" },
	{ "--share-net", "", set_share, CLONE_NEWNET, "But keep the network (after --unshare-all)" },
	{ "--unshare-user", "", set_unshare, CLONE_NEWUSER, "New user namespace (always made unless root)" },
	{ "--unshare-user-try", "", set_flag, AT(plan.user_try), "New user namespace, if the kernel has them" },
	{ "--unshare-ipc", "", set_unshare, CLONE_NEWIPC, "New IPC namespace" },
	{ "--unshare-pid", "", set_unshare, CLONE_NEWPID, "New pid namespace" },
	{ "--unshare-net", "", set_unshare, CLONE_NEWNET, "New network namespace, with nothing but loopback" },
	{ "--unshare-uts", "", set_unshare, CLONE_NEWUTS, "New UTS namespace (host name)" },
	{ "--unshare-cgroup", "", set_unshare, CLONE_NEWCGROUP, "New cgroup namespace" },
	{ "--unshare-cgroup-try", "", set_flag, AT(plan.cgroup_try), "New cgroup namespace, if the kernel has them" },
	{ "--userns", "FD", set_fd, AT(plan.userns), "Join this user namespace" },
	{ "--userns2", "FD", set_fd, AT(plan.userns2), "Change to this user namespace once all is set up" },
	{ "--disable-userns", "", set_flag, AT(plan.no_userns), "The command can make no user namespace (needs --unshare-user)" },
	{ "--assert-userns-disabled", "", set_flag, AT(plan.assert_no_userns), "Fail if the command could make a user namespace" },
	{ "--pidns", "FD", set_fd, AT(plan.pidns), "Join this pid namespace; a new one is then below it" },
	{ "--uid", "UID", set_id, AT(plan.uid), "User number inside (needs a user namespace)" },
	{ "--gid", "GID", set_id, AT(plan.gid), "Group number inside (needs a user namespace)" },
	{ "--hostname", "NAME", set_hostname, OP(HOSTNAME, 0), "Host name inside (needs --unshare-uts)" },
	{ "--chdir", "DIR", set_chdir, 0, "Start the command in DIR" },
	{ "--clearenv", "", set_clearenv, 0, "Empty the environment" },
	{ "--setenv", "VAR VALUE", set_setenv, 0, "Set a variable" },
	{ "--unsetenv", "VAR", set_unsetenv, 0, "Remove a variable" },
	{ "--lock-file", "DEST", set_lock_file, 0, "Hold a lock on DEST while the sandbox lives" },
	{ "--sync-fd", "FD", set_sync_fd, 0, "Hold FD open while the sandbox lives; as many as there are" },
	{ "--bind", "SRC DEST", set_op, OP(BIND, 0), "Show the host's SRC at DEST" },
	{ "--bind-try", "SRC DEST", set_op, OP(BIND, BWRAP_TRY), "The same, if there is a SRC" },
	{ "--dev-bind", "SRC DEST", set_op, OP(BIND, BWRAP_DEVICES), "The same as --bind, and its devices work" },
	{ "--dev-bind-try", "SRC DEST", set_op, OP(BIND, BWRAP_DEVICES | BWRAP_TRY), "The same, if there is a SRC" },
	{ "--ro-bind", "SRC DEST", set_op, OP(BIND, BWRAP_RDONLY), "Show the host's SRC at DEST, read-only" },
	{ "--ro-bind-try", "SRC DEST", set_op, OP(BIND, BWRAP_RDONLY | BWRAP_TRY), "The same, if there is a SRC" },
	{ "--bind-fd", "FD DEST", set_op, OP(BIND, 0), "Show what FD is open on at DEST" },
	{ "--ro-bind-fd", "FD DEST", set_op, OP(BIND, BWRAP_RDONLY), "The same, read-only" },
	{ "--remount-ro", "DEST", set_op, OP(REMOUNT, 0), "Make the mount at DEST read-only, not those below it" },
	{ "--overlay-src", "SRC", set_overlay_src, 0, "A lower directory for the next overlay; the last is on top" },
	{ "--overlay", "RWSRC WORKDIR DEST", set_op, OP(OVERLAY, 0), "An overlay at DEST whose changes go to RWSRC" },
	{ "--tmp-overlay", "DEST", set_op, OP(OVERLAY, BWRAP_SCRATCH), "An overlay at DEST whose changes are lost" },
	{ "--ro-overlay", "DEST", set_op, OP(OVERLAY, BWRAP_RDONLY), "A read-only overlay at DEST" },
	{ "--exec-label", "LABEL", set_label, 0, "Refused: SELinux labels are not set here" },
	{ "--file-label", "LABEL", set_label, 0, "Refused: SELinux labels are not set here" },
	{ "--proc", "DEST", set_op, OP(PROC, 0), "The process list at DEST" },
	{ "--dev", "DEST", set_op, OP(DEV, 0), "A small /dev at DEST" },
	{ "--tmpfs", "DEST", set_op, OP(TMPFS, 0), "A new tmpfs at DEST" },
	{ "--mqueue", "DEST", set_op, OP(MQUEUE, 0), "POSIX message queues at DEST" },
	{ "--dir", "DEST", set_op, OP(DIR, 0), "Make the directory DEST" },
	{ "--file", "FD DEST", set_op, OP(FILE, 0), "Copy FD to the file DEST" },
	{ "--bind-data", "FD DEST", set_op, OP(DATA, 0), "Copy FD to a file that is shown at DEST" },
	{ "--ro-bind-data", "FD DEST", set_op, OP(DATA, BWRAP_RDONLY), "The same, read-only" },
	{ "--symlink", "SRC DEST", set_op, OP(SYMLINK, 0), "Make the link DEST that points to SRC" },
	{ "--seccomp", "FD", set_seccomp, 0, "Load the seccomp program in FD; only one" },
	{ "--add-seccomp-fd", "FD", set_add_seccomp, 0, "Load the seccomp program in FD; as many as there are" },
	{ "--block-fd", "FD", set_fd, AT(plan.block), "Before the command starts, wait for data on FD" },
	{ "--userns-block-fd", "FD", set_fd, AT(plan.userns_block), "Wait for data on FD while another process maps users" },
	{ "--info-fd", "FD", set_fd, AT(plan.info), "Write facts about the sandbox to FD, as JSON" },
	{ "--json-status-fd", "FD", set_fd, AT(plan.status), "Write start and end to FD, a JSON object per line" },
	{ "--new-session", "", set_flag, AT(plan.new_session), "Leave the terminal's session" },
	{ "--die-with-parent", "", set_flag, AT(plan.die_with_parent), "End the sandbox when the process that started it ends" },
	{ "--as-pid-1", "", set_flag, AT(plan.as_pid_1), "The command is process 1, and reaps orphans itself" },
	{ "--cap-add", "CAP", set_cap, 1, "Keep a capability, or ALL" },
	{ "--cap-drop", "CAP", set_cap, 0, "Drop a capability, or ALL" },
	{ "--perms", "OCTAL", set_perms, 0, "Mode of what the next option makes" },
	{ "--size", "BYTES", set_size, 0, "Size of the next --tmpfs" },
	{ "--chmod", "OCTAL PATH", set_op, OP(CHMOD, 0), "Change the mode of PATH, which exists" },
	{ "--not-a-security-boundary", "", set_nothing, 0, "Understood; every step must succeed all the same" },
	{ 0 },
};

const struct bwrap_row *bwrap_table(void)
{
	return rows;
}

size_t bwrap_count(const struct bwrap_row *row)
{
	size_t n = *row->words != '\0';

	for (const char *p = row->words; *p; p++)
		n += *p == ' ';
	return n;
}

static const struct bwrap_row *find_option(const char *name)
{
	const struct bwrap_row *row = rows;

	while (row->name && strcmp(row->name, name) != 0)
		row++;
	return row->name ? row : NULL;
}

/* An empty path is a variable that was not set, more likely than the root */
static int check_paths(const struct bwrap_row *row, char *const *words,
		       struct err *err)
{
	const char *kind = row->words;

	for (; *kind; words++) {
		const size_t n = strcspn(kind, " ");

		if (!**words && is_path(kind, n))
			return fail(err, -EINVAL, "%s does not take an empty path argument",
				    row->name);
		kind += n + strspn(kind + n, " ");
	}
	return 0;
}

/* --perms, --size and --overlay-src speak of the option behind them, which must
 * have a use for them
 */
static int check_modifiers(const struct bwrap *b, const char *name,
			   struct err *err)
{
	const bool modifies = !strcmp(name, "--perms") ||
			      !strcmp(name, "--size");

	if (!modifies && b->perms >= 0)
		return fail(err, -EINVAL, "--perms must be followed by an option that creates a file");
	if (!modifies && b->size)
		return fail(err, -EINVAL, "--size must be followed by --tmpfs");
	if (strcmp(name, "--overlay-src") != 0 && b->layers)
		return fail(err, -EINVAL, "--overlay-src must be followed by another --overlay-src or one of --overlay, --tmp-overlay, or --ro-overlay");
	return 0;
}

static int read_option(struct bwrap *b, char *const *words, size_t n,
		       size_t *used, struct err *err)
{
	static const char *const counts[] = {
		"", "an argument", "two arguments", "three arguments",
	};
	const struct bwrap_row *row = find_option(words[*used]);
	size_t count;
	int r;

	if (!row)
		return fail(err, -EINVAL, "Unknown option %s", words[*used]);
	count = bwrap_count(row);
	if (n - *used - 1 < count)
		return fail(err, -EINVAL, "%s takes %s", row->name,
			    counts[count]);
	r = check_paths(row, words + *used + 1, err);
	if (r == 0)
		r = row->set(b, row, words + *used + 1, err);
	*used += count + 1;
	return r < 0 || b->asked ? r : check_modifiers(b, row->name, err);
}

static int read_arguments(struct bwrap *b, char *const *words, size_t n,
		      size_t *ret_used, struct err *err)
{
	size_t used = 0;
	int r = 0;

	*ret_used = 0;
	b->words += n;
	if (b->words > BWRAP_WORDS_MAX)
		return fail(err, -E2BIG, "Exceeded maximum number of arguments %u",
			    BWRAP_WORDS_MAX);
	while (r == 0 && !b->asked && used < n && words[used][0] == '-') {
		if (!strcmp(words[used], "--")) {
			used++;
			break;
		}
		r = read_option(b, words, n, &used, err);
	}
	if (r == 0 && !b->asked && b->layers)
		r = check_modifiers(b, "", err);
	*ret_used = used;
	return r;
}

int bwrap_parse(struct bwrap *b, char *const *words, uint64_t caps,
		struct err *err)
{
	size_t n = 0, used;
	int r;

	*b = (struct bwrap){
		.perms = -1,
		.plan = {
			.userns = -1, .userns2 = -1, .pidns = -1, .uid = -1,
			.gid = -1, .block = -1, .userns_block = -1, .info = -1,
			.status = -1, .caps = caps,
		},
	};
	while (words[n])
		n++;
	r = read_arguments(b, words, n, &used, err);
	b->plan.argv = words + used;
	return r < 0 ? r : b->asked;
}

void bwrap_done(struct bwrap *b)
{
	struct bwrap_plan *plan = &b->plan;

	for (size_t i = 0; i < plan->memory.len; i++)
		free(plan->memory.v[i]);
	free(plan->memory.v);
	free(plan->ops.v);
	free(plan->layers.v);
	free(plan->filters.v);
	free(plan->locks.v);
	free(plan->syncs.v);
	buf_done(&b->warned);
}

int bwrap_check(struct bwrap_plan *plan, uid_t uid, struct err *err)
{
	const bool user = plan->namespaces & CLONE_NEWUSER;
	const bool joins = plan->userns >= 0;
	const bool needs = uid == 0 && !user && !plan->user_try && !joins;
	const struct {
		bool wrong;
		const char *words;
	} rules[] = {
		{ plan->userns_block >= 0 && !user,
		  "--userns-block-fd requires --unshare-user" },
		{ plan->userns_block >= 0 && plan->info < 0,
		  "--userns-block-fd requires --info-fd" },
		{ joins && user,
		  "--userns is not compatible with --unshare-user" },
		{ joins && plan->user_try,
		  "--userns is not compatible with --unshare-user-try" },
		{ plan->no_userns && !user,
		  "--disable-userns requires --unshare-user" },
		{ plan->no_userns && plan->userns_block >= 0,
		  "--disable-userns is not compatible with --userns-block-fd" },
		{ needs && plan->uid > 0,
		  "Specifying --uid requires --unshare-user or --userns" },
		{ needs && plan->gid > 0,
		  "Specifying --gid requires --unshare-user or --userns" },
		{ plan->hostname && !(plan->namespaces & CLONE_NEWUTS),
		  "Specifying --hostname requires --unshare-uts" },
		{ plan->as_pid_1 && !(plan->namespaces & CLONE_NEWPID),
		  "Specifying --as-pid-1 requires --unshare-pid" },
		{ plan->as_pid_1 && plan->locks.len,
		  "Specifying --as-pid-1 and --lock-file is not permitted" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].wrong)
			return fail(err, -EINVAL, "%s", rules[i].words);
	}
	/* An ordinary user can make namespaces only in a user namespace */
	if (uid != 0 && !joins)
		plan->namespaces |= CLONE_NEWUSER;
	return 0;
}
