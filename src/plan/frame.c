/* SPDX-License-Identifier: Apache-2.0 */
/* plan/frame.c - a sandbox that its caller put together, as data */

#include "plan/frame.h"

#include <errno.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

void frame_init(struct frame *frame, char *const *env)
{
	size_t n = 0;

	*frame = (struct frame){
		.userns = -1, .userns2 = -1, .pidns = -1, .uid = -1, .gid = -1,
		.block = -1, .userns_block = -1, .info = -1, .status = -1,
	};
	while (env && env[n])
		n++;
	frame->env = mem_zalloc((n + 1) * sizeof(*frame->env));
	for (size_t i = 0; i < n; i++)
		frame->env[i] = mem_strdup(env[i]);
}

void frame_done(struct frame *frame)
{
	frame_env_clear(frame);
	free(frame->env);
	for (size_t i = 0; i < frame->held.len; i++)
		free(frame->held.v[i]);
	free(frame->held.v);
	free(frame->ops.v);
	free(frame->layers.v);
	free(frame->filters.v);
	free(frame->locks.v);
	free(frame->syncs.v);
}

static bool is_variable(const char *entry, const char *name, size_t n)
{
	return !strncmp(entry, name, n) && entry[n] == '=';
}

void frame_env_unset(struct frame *frame, const char *name)
{
	const size_t n = strlen(name);
	char **to = frame->env;

	for (char **from = frame->env; *from; from++) {
		if (is_variable(*from, name, n))
			free(*from);
		else
			*to++ = *from;
	}
	*to = NULL;
}

/* In its old place if it has one: the order is the caller's */
void frame_env_set(struct frame *frame, const char *name, const char *value)
{
	char *entry = mem_printf("%s=%s", name, value);
	size_t n = 0;
	char **grown;

	for (; frame->env[n]; n++) {
		if (is_variable(frame->env[n], name, strlen(name))) {
			free(frame->env[n]);
			frame->env[n] = entry;
			return;
		}
	}
	grown = mem_zalloc((n + 2) * sizeof(*grown));
	memcpy(grown, frame->env, n * sizeof(*grown));
	grown[n] = entry;
	free(frame->env);
	frame->env = grown;
}

void frame_env_clear(struct frame *frame)
{
	for (char **e = frame->env; e && *e; e++) {
		free(*e);
		*e = NULL;
	}
}

struct frame_op *frame_push(struct frame *frame, enum frame_kind kind)
{
	struct frame_op *op = vec_push(&frame->ops);

	op->kind = kind;
	op->fd = -1;
	return op;
}

static bool makes(const struct frame *frame, uint64_t flag)
{
	return frame->namespaces & flag;
}

int frame_check(struct frame *frame, uid_t uid, struct err *err)
{
	const bool user = makes(frame, CLONE_NEWUSER);
	const bool joins = frame->userns >= 0;
	const struct {
		bool wrong;
		const char *words;
	} rules[] = {
		{ frame->userns_block >= 0 && !user,
		  "--userns-block-fd requires --unshare-user" },
		{ frame->userns_block >= 0 && frame->info < 0,
		  "--userns-block-fd requires --info-fd" },
		{ joins && user,
		  "--userns is not compatible with --unshare-user" },
		{ joins && frame->user_try,
		  "--userns is not compatible with --unshare-user-try" },
		{ frame->no_userns && !user,
		  "--disable-userns requires --unshare-user" },
		{ frame->no_userns && frame->userns_block >= 0,
		  "--disable-userns is not compatible with --userns-block-fd" },
		{ uid == 0 && !user && !frame->user_try && !joins &&
		  frame->uid > 0,
		  "Specifying --uid requires --unshare-user or --userns" },
		{ uid == 0 && !user && !frame->user_try && !joins &&
		  frame->gid > 0,
		  "Specifying --gid requires --unshare-user or --userns" },
		{ frame->hostname && !makes(frame, CLONE_NEWUTS),
		  "Specifying --hostname requires --unshare-uts" },
		{ frame->as_pid_1 && !makes(frame, CLONE_NEWPID),
		  "Specifying --as-pid-1 requires --unshare-pid" },
		{ frame->as_pid_1 && frame->locks.len,
		  "Specifying --as-pid-1 and --lock-file is not permitted" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].wrong)
			return fail(err, -EINVAL, "%s", rules[i].words);
	}
	/* Who is not root can make namespaces only in one of its own */
	if (uid != 0 && !joins)
		frame->namespaces |= CLONE_NEWUSER;
	return 0;
}

static void print_op(const struct frame *frame, const struct frame_op *op,
		     struct buf *out)
{
	static const char *const words[FRAME_KINDS] = {
#define FRAME_OP(id, words) [FRAME_##id] = words,
#include "plan/frame.def"
#undef FRAME_OP
	};

	buf_addf(out, "%s%s%s%s%s", words[op->kind],
		 op->flags & FRAME_RDONLY ? " read-only" : "",
		 op->flags & FRAME_DEVICES ? " with devices" : "",
		 op->flags & FRAME_SCRATCH ? " scratch" : "",
		 op->flags & FRAME_TRY ? " if there" : "");
	for (size_t i = 0; i < op->layers; i++) {
		buf_adds(out, i ? ":" : " layers ");
		text_escape(out, frame->layers.v[op->layer + i]);
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
	if (op->asked)
		buf_addf(out, " mode %04o", op->perms);
	if (op->size)
		buf_addf(out, " size %llu", (unsigned long long)op->size);
	buf_addc(out, '\n');
}

static void print_namespaces(const struct frame *frame, struct buf *out)
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
		if (makes(frame, names[i].flag))
			buf_addf(out, " %s", names[i].name);
	}
	buf_adds(out, frame->user_try ? " user?" : "");
	buf_adds(out, frame->cgroup_try ? " cgroup?" : "");
	buf_addc(out, '\n');
}

void frame_print(const struct frame *frame, struct buf *out)
{
	print_namespaces(frame, out);
	for (size_t i = 0; i < frame->ops.len; i++)
		print_op(frame, &frame->ops.v[i], out);
	for (char *const *word = frame->argv; word && *word; word++) {
		buf_adds(out, word == frame->argv ? "command " : " ");
		text_shell_quote(out, *word);
	}
	buf_addc(out, '\n');
}
