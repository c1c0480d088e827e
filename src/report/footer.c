/* SPDX-License-Identifier: Apache-2.0 */
/* report/footer.c - what a person or an agent reads after the command */

#include "report/footer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "report/ring.h"
#include "report/violation.h"

static const char *const mode_names[FOOTER_COUNT] = {
	[FOOTER_AUTO] = "auto",
	[FOOTER_TEXT] = "text",
	[FOOTER_TAGS] = "tags",
	[FOOTER_NEVER] = "never",
	[FOOTER_EACH] = "each",
};

int footer_parse(const char *name, enum footer_mode *ret)
{
	for (int i = 0; i < FOOTER_COUNT; i++) {
		if (!strcmp(mode_names[i], name)) {
			*ret = (enum footer_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

enum footer_mode footer_choose(enum footer_mode mode,
				   const char *claudecode)
{
	if (mode != FOOTER_AUTO && mode != FOOTER_EACH)
		return mode;
	return claudecode && *claudecode ? FOOTER_TAGS : FOOTER_TEXT;
}

/* Append @s made harmless: no controls, and no tag can be opened or closed */
static void add_safe(struct buf *out, const char *s, size_t max)
{
	const size_t start = out->len;
	char shown[5];

	for (const char *p = s; *p;) {
		size_t n;

		if (*p == '<' || *p == '>') {
			buf_adds(out, *p == '<' ? "\\x3c" : "\\x3e");
			p++;
		} else {
			n = text_escape_char(&p, shown);
			buf_add(out, shown, n);
		}
		if (out->len - start > max && *p) {
			buf_adds(out, "...");
			return;
		}
	}
}

/* "fs-write" is called file-write, "net-dns" network-dns */
void footer_kind(enum violation_kind kind, struct buf *out)
{
	const char *name = violation_kind_name(kind);

	if (!strncmp(name, "fs-", 3))
		buf_addf(out, "file-%s", name + 3);
	else if (!strncmp(name, "net-", 4))
		buf_addf(out, "network-%s", name + 4);
	else
		buf_adds(out, name);
}

/* True if the command can be shown as it is: a name in it may hold what a terminal,
 * or, with @tags, a reader of tags must not get
 */
static bool has_command(const struct violation *v, bool tags)
{
	auto_buf struct buf safe = { 0 };

	if (!v->suggest_command)
		return false;
	if (tags)
		add_safe(&safe, v->suggest_command, VIOLATION_TEXT_MAX);
	else
		text_escape(&safe, v->suggest_command);
	return !strcmp(buf_str(&safe), v->suggest_command);
}

/* Why, and what to do about it where no command does that */
static void add_why(const struct violation *v, bool tags, struct buf *out)
{
	const char *how = has_command(v, tags) ? NULL : v->suggest_edit;

	if (!v->reason && !how)
		return;
	buf_adds(out, " (");
	if (v->reason)
		add_safe(out, v->reason, FOOTER_TARGET_MAX);
	if (v->reason && how)
		buf_adds(out, "; ");
	if (how)
		add_safe(out, how, VIOLATION_TEXT_MAX);
	buf_addc(out, ')');
}

void footer_line(const struct violation *v, struct buf *out)
{
	buf_adds(out, "deny ");
	footer_kind(v->kind, out);
	buf_addc(out, ' ');
	add_safe(out, v->target ? v->target : "(unknown)", VIOLATION_TEXT_MAX);
	add_why(v, true, out);
	if (v->count > 1)
		buf_addf(out, " x%" PRIu64, v->count);
}

void footer_text(const struct violation *v, const char *indent,
		   struct buf *out)
{
	buf_addf(out, "%s ", violation_kind_words(v->kind));
	add_safe(out, v->target ? v->target : "(unknown)",
		 FOOTER_TARGET_MAX);
	add_why(v, false, out);
	buf_addc(out, '\n');
	if (has_command(v, false))
		buf_addf(out, "%s%s\n", indent, v->suggest_command);
}

/**
 * struct lines - The records, one for each thing that was refused, whichever
 * process tried it
 */
struct lines {
	struct violation *v;
	size_t len, cap;
};

static bool is_same(const struct violation *a, const struct violation *b)
{
	return a->target && b->target && !strcmp(a->target, b->target) &&
	       !strcmp(violation_kind_words(a->kind),
		       violation_kind_words(b->kind));
}

/* A person has read of it already, in a line of its own */
static bool was_said(const struct violation *v)
{
	return v->kind == VIOLATION_VARIABLE || v->kind == VIOLATION_JOB ||
	       (v->kind == VIOLATION_LIMIT && v->op &&
		!strcmp(v->op, VIOLATION_OP_LIMIT));
}

static bool has_part(const char *text, const char *const *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strstr(text, parts[i]))
			return true;
	}
	return false;
}

/* State that programs keep where they can, and do without where they cannot */
static bool is_state(const char *path)
{
	static const char *const parts[] = {
		"/__pycache__", "_history", "/.viminf", "/.lesshs", "/.wget-hsts",
		"/.cache", "/.local/state", "/.config/htop", "/.config/procps",
		"/.config/configstore", "/.config/turborepo", "/.config/mc/",
		"/.config/pulse", "/.config/dconf", "/.config/go/telemetry",
		"-nodejs", "elemetry", "/.dotnet/", "/.npm/", "/.yarn/",
		"/.local/share/mc", "/.local/share/nano", "/.local/share/vim",
		"/.local/share/nvim", "/.nv/", "/.ICEauthority", "/.Xauthority",
		"/.sqlite_", "/.gdb_", "/.selected_editor", "/.sudo_as_admin",
		"/run/user/", "/var/cache/", "/var/lib/dpkg/lock", "/_tmp_",
	};
	static const char *const dirs[] = {
		"/.config", "/.local", "/.local/share", "/.npm", "/.yarn", "/.nv",
		"/.dotnet", "/.terraform.d",
	};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		const size_t n = strlen(path), m = strlen(dirs[i]);

		if (n > m && !strcmp(path + n - m, dirs[i]))
			return true;
	}
	return has_part(path, parts, ARRAY_SIZE(parts));
}

static bool names_host(const struct violation *v, const char *const *parts, size_t n)
{
	return violation_kind_words(v->kind)[0] == 'h' && v->target &&
	       has_part(v->target, parts, n);
}

/* Hosts that count users, and where programs look for a newer version of themselves
 */
static bool is_telemetry(const struct violation *v)
{
	static const char *const parts[] = {
		"telemetry.", "sentry.io:", "statsig", "segment.io:", "posthog.com:",
		"datadoghq.com:", "google-analytics.com:", "visualstudio.com:",
		"checkpoint.hashicorp.com:", "amplitude.com:", "mixpanel.com:",
	};

	return names_host(v, parts, ARRAY_SIZE(parts));
}

static bool is_registry(const struct violation *v)
{
	static const char *const parts[] = {
		"registry.npmjs.org:", "registry.yarnpkg.com:",
	};

	return names_host(v, parts, ARRAY_SIZE(parts));
}

/* The command succeeded without it: it only looked whether a hidden name is there
 * (many programs look for settings that they can do without), or does without a system
 * call, a datagram socket (mostly for the log), a device, or without keeping state; or
 * the user denied it, and knows
 */
static bool may_be_nothing(const struct violation *v)
{
	if (v->kind == VIOLATION_SYSCALL || (v->rule_file && !v->suggest_command))
		return true;
	if (v->kind == VIOLATION_UNIX_SOCKET)
		return v->op && !strcmp(v->op, "socket");
	if (v->kind == VIOLATION_FS_WRITE || v->kind == VIOLATION_FS_RENAME)
		return v->target && (is_state(v->target) || v->error == ENOENT);
	if (v->kind == VIOLATION_FS_READ && v->target && is_state(v->target))
		return true;
	return is_telemetry(v) || is_registry(v) ||
	       (v->kind == VIOLATION_FS_READ && v->error == ENOENT && v->op &&
		(strstr(v->op, "stat") || strstr(v->op, "access") ||
		 strstr(v->op, "readlink")));
}

/* ssh looks for each key's file before it lets its agent sign */
static bool is_spare_key(const struct violation *v)
{
	return v->kind == VIOLATION_FS_READ && v->target && v->exe &&
	       !strcmp(v->exe, "/usr/bin/ssh") && strstr(v->target, "/.ssh/id_");
}

static bool is_below(const char *path, const char *dir)
{
	return !strncmp(path, dir, strlen(dir));
}

/* ssh looks there each time, and works because nothing is there; a nested run of ours
 * does without the system bus and the cache of the walk
 */
static bool is_empty_on_purpose(const struct violation *v)
{
	const char *exe = v->exe ? strrchr(v->exe, '/') : NULL;

	if (!v->target || (v->kind != VIOLATION_FS_READ && v->kind != VIOLATION_FS_WRITE))
		return false;
	return is_below(v->target, "/etc/ssh/ssh_config.d") ||
	       (exe && !strcmp(exe, "/cloche") &&
		(is_below(v->target, "/run/dbus") || strstr(v->target, "/cloche/walk")));
}

bool footer_is_minor(const struct violation *v)
{
	/* A command that installs packages fails without its registry */
	return was_said(v) || is_empty_on_purpose(v) ||
	       (may_be_nothing(v) && !v->rule_file && !is_registry(v));
}

/* Strings stay the ring's. Returns how many were left out as nothing. */
static size_t merge(const struct ring *ring, const struct footer *how,
		    struct lines *ret)
{
	size_t left_out = 0;

	for (size_t i = 0; i < ring->len; i++) {
		const struct violation *v = &ring->v[i]->v;
		size_t k = 0;

		if (how->mode != FOOTER_TAGS && was_said(v))
			continue;
		if (is_empty_on_purpose(v) ||
		    (!how->failed && (may_be_nothing(v) || is_spare_key(v)))) {
			left_out++;
			continue;
		}
		while (k < ret->len && !is_same(&ret->v[k], v))
			k++;
		if (k < ret->len)
			ret->v[k].count += v->count;
		else
			*vec_push(ret) = *v;
	}
	return left_out;
}

static void add_more(uint64_t more, const char *run, struct buf *out)
{
	buf_addf(out, "%" PRIu64 " more: cloche violations list", more);
	if (run) {
		buf_adds(out, " --run ");
		add_safe(out, run, FOOTER_TARGET_MAX);
	}
	buf_addc(out, '\n');
}

static void add_tags(const struct lines *lines, uint64_t gone,
		     const struct footer *how, struct buf *out)
{
	buf_adds(out, FOOTER_OPEN "\n");
	for (size_t i = 0; i < lines->len; i++) {
		footer_line(&lines->v[i], out);
		buf_addc(out, '\n');
		if (has_command(&lines->v[i], true))
			buf_addf(out, "allow: %s\n",
				 lines->v[i].suggest_command);
	}
	if (gone) {
		buf_adds(out, "note ");
		add_more(gone, how->run, out);
	}
	if (how->missing) {
		buf_adds(out, "note ");
		add_safe(out, how->missing, VIOLATION_TEXT_MAX);
		buf_addc(out, '\n');
	}
	buf_adds(out, FOOTER_CLOSE "\n");
}

/* How many of @lines fit into @max lines */
static size_t count_fitting(const struct lines *lines, size_t max)
{
	size_t n = 0;

	for (; n < lines->len; n++) {
		const size_t need = 1 + has_command(&lines->v[n], false);

		if (need > max)
			break;
		max -= need;
	}
	return n;
}

/* True if one of them is a host that no rule mentions: --ask would have asked */
static bool has_question(const struct lines *lines)
{
	for (size_t i = 0; i < lines->len; i++) {
		const struct violation *v = &lines->v[i];

		if (violation_kind_words(v->kind)[0] == 'h' && !v->rule_file &&
		    v->suggest_command &&
		    strstr(v->suggest_command, " policy allow host "))
			return true;
	}
	return false;
}

static void add_offer(const char *ask, struct buf *out)
{
	if (ask && strlen(ask) <= FOOTER_ASK_MAX)
		buf_addf(out, "cloche:   or be asked about each host:\n            %s\n", ask);
	else
		buf_adds(out, "cloche:   or start it again with --ask, to be asked about each host\n");
}

static void add_text(const struct lines *lines, uint64_t gone,
		     const struct footer *how, struct buf *out)
{
	const bool offer = how->may_ask && has_question(lines);
	/* Beside the head, perhaps the note, the offer, "and more" */
	const size_t max = FOOTER_LINES_MAX - 1 - (how->missing ? 1 : 0) -
			    (offer ? 2 : 0);
	const size_t all = count_fitting(lines, max);
	const size_t shown = all == lines->len && !gone ? all
				: count_fitting(lines, max - 1);
	const uint64_t more = lines->len - shown + gone;
	const uint64_t total = lines->len + gone;

	buf_addf(out, "cloche: refused %" PRIu64 " thing%s\n", total,
		 total == 1 ? "" : "s");
	for (size_t i = 0; i < shown; i++) {
		buf_adds(out, "cloche:   ");
		footer_text(&lines->v[i], "            ", out);
	}
	if (more) {
		buf_adds(out, "cloche:   and ");
		add_more(more, how->run, out);
	}
	if (offer)
		add_offer(how->ask, out);
	if (how->missing) {
		buf_adds(out, "cloche:   note: ");
		add_safe(out, how->missing, VIOLATION_TEXT_MAX);
		buf_addc(out, '\n');
	}
}

void footer_print(const struct ring *ring, const struct footer *how,
		     struct buf *out)
{
	struct lines lines = { 0 };
	size_t left_out;

	if (!ring->len || how->mode == FOOTER_NEVER)
		return;
	left_out = merge(ring, how, &lines);
	if (how->mode == FOOTER_TAGS && (lines.len || ring->gone))
		add_tags(&lines, ring->gone, how, out);
	else if (lines.len)
		add_text(&lines, ring->gone, how, out);
	if (how->verbose && left_out) {
		buf_addf(out, "cloche: refused and not missed: ");
		add_more(left_out, how->run, out);
	}
	free(lines.v);
}
