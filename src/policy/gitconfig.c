/* SPDX-License-Identifier: Apache-2.0 */
/* policy/gitconfig.c - a git configuration, and which settings are harmless */

#include "policy/gitconfig.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"

#define BOOLEAN "|true|false|yes|no|on|off|1|0"

/**
 * struct gitkey - Settings with which git runs no program, reads no further settings
 * and sends nothing elsewhere. A repository made in a run keeps these, and a command
 * may change these in the user's own; all others are taken out or refused.
 * @keys:	In lower case, with blanks between them; "*" is any subsection, or
 *		any name at the end
 * @home:	The user's own goes into profile home, for it holds no secret
 * @value:	NULL for any; "@url" an ordinary address, path or remote's name;
 *		"@path" a path below the work tree; else what it may be, separated by "|" ("" without a value, as true)
 */
static const struct gitkey {
	const char *keys;
	bool home;
	const char *value;
} gitkeys[] = {
	/* Who commits, line ends, what is shown and how, how branches join,
	 * what is fetched and pushed by default
	 */
	{ "user.name user.email user.useconfigonly author.name author.email "
	  "committer.name committer.email init.defaultbranch core.autocrlf "
	  "core.eol core.safecrlf core.quotepath core.abbrev core.whitespace "
	  "core.filemode branch.sort branch.autosetuprebase color.* "
	  "column.ui log.date tag.sort commit.verbose diff.algorithm "
	  "diff.renames diff.colormoved merge.conflictstyle merge.ff "
	  "pull.rebase pull.ff rebase.autosquash rebase.autostash "
	  "rebase.updaterefs rerere.enabled push.default "
	  "push.autosetupremote push.followtags fetch.prune fetch.prunetags", true, NULL },
	/* Formats, sizes and speed; what counts as a change, is checked out,
	 * fetched or merged; notes of other programs. config.worktree is
	 * protected or cleaned like this file.
	 */
	{ "core.trustctime core.checkstat core.repositoryformatversion "
	  "core.logallrefupdates core.ignorecase core.precomposeunicode "
	  "core.symlinks core.sparsecheckout core.sparsecheckoutcone "
	  "core.untrackedcache core.preloadindex core.splitindex "
	  "core.commitgraph core.multipackindex core.compression index.* "
	  "feature.manyfiles pack.* gc.auto gc.autodetach maintenance.auto "
	  "maintenance.strategy extensions.objectformat "
	  "extensions.compatobjectformat extensions.preciousobjects "
	  "extensions.noop extensions.relativeworktrees "
	  "extensions.worktreeconfig remote.*.fetch remote.*.prune "
	  "remote.*.prunetags remote.*.mirror remote.*.skipdefaultupdate "
	  "remote.*.skipfetchall remote.*.promisor "
	  "remote.*.partialclonefilter remote.*.followremotehead "
	  "remote.*.gh-resolved branch.*.merge branch.*.rebase "
	  "branch.*.description branch.*.vscode-merge-base "
	  "branch.*.gh-merge-base branch.*.github-pr-owner-number "
	  "branch.autosetupmerge submodule.*.active submodule.*.branch "
	  "submodule.*.ignore submodule.*.shallow "
	  "submodule.*.fetchrecursesubmodules submodule.active "
	  "submodule.recurse lfs.repositoryformatversion "
	  "blame.ignorerevsfile advice.* status.*", false, NULL },
	{ "core.bare lfs.*.locksverify filter.lfs.required", false, BOOLEAN },
	{ "extensions.refstorage", false, "files|reftable" },
	/* Where it is fetched from and pushed to */
	{ "extensions.partialclone remote.*.url remote.*.pushurl "
	  "branch.*.remote branch.*.pushremote submodule.*.url", false, "@url" },
	{ "submodule.*.path", false, "@path" },
	{ "remote.*.tagopt", false, "--tags|--no-tags" },
	{ "submodule.*.update", false, "checkout|rebase|merge|none" },
	{ "lfs.*.access", false, "basic|none" },
	{ "filter.lfs.clean", false, "git-lfs clean -- %f" },
	{ "filter.lfs.smudge", false, "git-lfs smudge -- %f|git-lfs smudge --skip -- %f" },
	{ "filter.lfs.process", false, "git-lfs filter-process|git-lfs filter-process --skip" },
};

/**
 * struct cursor - Where we are, and in which section
 * @section:	Lower case; a subsection after its first dot
 */
struct cursor {
	const char *p, *end;
	struct buf section;
};

/* True if git starts no program for this address: not "ext::sh -c x", not an option */
static bool is_ordinary_url(const char *value)
{
	static const char schemes[] = "https http ssh git file git+ssh ssh+git";
	const char *end = strstr(value, "://");
	auto_free char *scheme = end ? mem_strndup(value, (size_t)(end - value)) : NULL;
	const char *slash = strchr(value, '/'), *helper = strstr(value, "::");

	if (*value == '-' || (helper && (!slash || helper < slash)))
		return false;
	return !scheme || text_has_word(schemes, scheme);
}

static bool is_ordinary_path(const char *value)
{
	auto_free char *path = mem_printf("/%s", value);

	return *value && *value != '-' && *value != '/' && !path_has(path, "..");
}

/* The name of a submodule is a path below .git/modules, to old versions any path */
static bool has_ordinary_name(const char *key)
{
	const char *name = key + strlen("submodule."), *end = strrchr(key, '.');
	auto_free char *path = !strncmp(key, "submodule.", strlen("submodule.")) &&
			       end > name ? mem_strndup(name, (size_t)(end - name)) : NULL;

	return !path || is_ordinary_path(path);
}

static bool is_value(const char *want, const char *value)
{
	if (!want)
		return true;
	if (!strcmp(want, "@url"))
		return is_ordinary_url(value);
	if (!strcmp(want, "@path"))
		return is_ordinary_path(value);
	return *value ? text_is_choice(want, value) : *want == '|';
}

static const struct gitkey *find_key(const char *key, const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(gitkeys); i++) {
		if (text_matches(gitkeys[i].keys, key, strlen(key)) && has_ordinary_name(key) &&
		    is_value(gitkeys[i].value, value))
			return &gitkeys[i];
	}
	return NULL;
}

bool gitconfig_is_harmless(const char *key, const char *value)
{
	return find_key(key, value);
}

bool gitconfig_is_for_home(const char *key, const char *value)
{
	const struct gitkey *found = find_key(key, value);

	return found && found->home;
}

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '-';
}

/* "sub" in [section "sub"]: @c->p is at the quote */
static int parse_quoted(struct cursor *c)
{
	for (c->p++; c->p < c->end && *c->p != '"'; c->p++) {
		if (*c->p == '\\')
			c->p++;
		if (c->p >= c->end || *c->p == '\n')
			return -EINVAL;
		buf_addc(&c->section, *c->p);
	}
	if (c->end - c->p < 2 || c->p[1] != ']')
		return -EINVAL;
	c->p += 2;
	return 0;
}

/* "[section]", "[section.sub]" or "[section "sub"]" */
static int parse_section(struct cursor *c)
{
	c->section.len = 0;
	for (c->p++; c->p < c->end; c->p++) {
		if (*c->p == ']') {
			c->p++;
			return c->section.len ? 0 : -EINVAL;
		}
		if (isspace((unsigned char)*c->p)) {
			while (c->p < c->end && *c->p != '\n' &&
			       isspace((unsigned char)*c->p))
				c->p++;
			if (c->p >= c->end || *c->p != '"')
				return -EINVAL;
			buf_addc(&c->section, '.');
			return parse_quoted(c);
		}
		if (!is_name_byte(*c->p) && *c->p != '.')
			return -EINVAL;
		buf_addc(&c->section, (char)tolower((unsigned char)*c->p));
	}
	return -EINVAL;
}

/* To the end of the value, which goes on after a backslash; @value is what is
 * left without quotes and comments
 */
static int parse_value(struct cursor *c, struct buf *value)
{
	static const char escapes[] = "tbn\\\"", bytes[] = "\t\b\n\\\"";
	bool quoted = false, comment = false;

	for (; c->p < c->end; c->p++) {
		if (*c->p == '\n') {
			c->p++;
			return quoted ? -EINVAL : 0;
		}
		if (comment)
			continue;
		if (*c->p == '\\') {
			/* Git looks at one more byte; "\r\n" counts as one */
			c->p++;
			if (c->end - c->p > 1 && c->p[0] == '\r' &&
			    c->p[1] == '\n')
				c->p++;
			if (c->p >= c->end)
				return -EINVAL;
			if (*c->p == '\n')
				continue;
			if (!strchr(escapes, *c->p))
				return -EINVAL;
			buf_addc(value, bytes[strchr(escapes, *c->p) -
					      escapes]);
		} else if (*c->p == '"') {
			quoted = !quoted;
		} else if (!quoted && (*c->p == '#' || *c->p == ';')) {
			comment = true;
		} else if (quoted || value->len ||
			   !isspace((unsigned char)*c->p)) {
			buf_addc(value, *c->p);
		}
	}
	return quoted ? -EINVAL : 0;
}

static int parse_entry(struct cursor *c, struct buf *name, struct buf *value)
{
	while (c->p < c->end && is_name_byte(*c->p))
		buf_addc(name, (char)tolower((unsigned char)*c->p++));
	while (c->p < c->end && (*c->p == ' ' || *c->p == '\t'))
		c->p++;
	if (c->p < c->end && *c->p == '\r' && c->end - c->p > 1 &&
	    c->p[1] == '\n')
		c->p++;
	if (c->p >= c->end)
		return 0;
	if (*c->p == '\n') {
		c->p++;
		return 0;
	}
	if (*c->p == '=') {
		c->p++;
		return parse_value(c, value);
	}
	/* A comment may follow a name without a value in newer versions */
	if (*c->p == '#' || *c->p == ';')
		return parse_value(c, value);
	return -EINVAL;
}

/* Spaces at the end of a value do not count */
static void trim(struct buf *value)
{
	while (value->len && isspace((unsigned char)value->p[value->len - 1]))
		value->p[--value->len] = '\0';
}

/**
 * struct reader - What is to be done with each setting
 * @out:	Where all but what is taken out goes, or NULL
 * @take:	Called for each that is not harmless; @each: for all of them
 */
struct reader {
	struct buf *out;
	gitconfig_fn take;
	gitconfig_each_fn each;
	void *arg;
	int removed;
};

static void copy(const struct reader *r, const char *start, const char *end)
{
	if (r->out)
		buf_add(r->out, start, (size_t)(end - start));
}

/* A setting that is not known to be harmless is removed, unless @take keeps it */
static void clean_entry(struct reader *r, const char *key, const char *value,
			const char *start, const char *end)
{
	if (find_key(key, value) || (r->take && r->take(r->arg, key, value))) {
		copy(r, start, end);
		return;
	}
	if (r->out->len && r->out->p[r->out->len - 1] != '\n')
		buf_addc(r->out, '\n');
	r->removed++;
}

static int read_entry(struct cursor *c, struct reader *r)
{
	auto_buf struct buf name = { 0 }, value = { 0 }, key = { 0 };
	const char *start = c->p;

	if (parse_entry(c, &name, &value) < 0 || !c->section.len)
		return -EINVAL;
	trim(&value);
	buf_addf(&key, "%s.%s", buf_str(&c->section), buf_str(&name));
	if (r->each)
		r->each(r->arg, buf_str(&key), buf_str(&value));
	else
		clean_entry(r, buf_str(&key), buf_str(&value), start, c->p);
	return 0;
}

static int read_all(const char *text, size_t n, struct reader *r)
{
	struct cursor c = { .p = text, .end = text + n };
	int error = 0;

	if (n > GITCONFIG_MAX || memchr(text, 0, n))
		return -EINVAL;
	if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		c.p += 3;	/* Git skips it, and so do we */
	while (c.p < c.end && !error) {
		const char *start = c.p;

		if (isalpha((unsigned char)*c.p)) {
			error = read_entry(&c, r);
			continue;
		}
		if (*c.p == '[')
			error = parse_section(&c);
		else if (*c.p == '#' || *c.p == ';')
			c.p = memchr(c.p, '\n', (size_t)(c.end - c.p));
		else if (isspace((unsigned char)*c.p))
			c.p++;
		else
			error = -EINVAL;
		if (!c.p)	/* No line comes after the comment */
			c.p = c.end;
		copy(r, start, c.p);
	}
	buf_done(&c.section);
	return error;
}

int gitconfig_clean(const char *text, size_t n, struct buf *out,
		    gitconfig_fn fn, void *arg)
{
	struct reader r = { .out = out, .take = fn, .arg = arg };
	const int error = read_all(text, n, &r);

	return error ? error : r.removed;
}

int gitconfig_each(const char *text, size_t n, gitconfig_each_fn fn, void *arg)
{
	struct reader r = { .each = fn, .arg = arg };

	return read_all(text, n, &r);
}

/**
 * struct comparing - Settings before and after
 * @fixed:	What must stay as it is: each key and value, with a NUL behind it;
 *		of the old text and of the new one
 * @branches:	The same of what may go, but not change: the remotes of branches and the
 *		addresses of submodules, which git removes after the branch or the tree
 * @new:	The new one is being read
 * @changed:	One of @branches has another value
 * @added:	Addresses that came, in words
 */
struct comparing {
	struct buf fixed[2], branches;
	bool new, changed;
	struct buf *added;
};

static void add_setting(struct buf *set, const char *key, const char *value)
{
	buf_add(set, key, strlen(key) + 1);
	buf_add(set, value, strlen(value) + 1);
}

/* True if @set has a key with the first @n bytes of @key, and that @value, which may
 * be NULL for any
 */
static bool has_setting(const struct buf *set, const char *key, size_t n,
			const char *value)
{
	const char *p = buf_str(set), *end = p + set->len;

	while (p < end) {
		const char *has = p + strlen(p) + 1;

		if (!strncmp(p, key, n) && (!value || !strcmp(has, value)))
			return true;
		p = has + strlen(has) + 1;
	}
	return false;
}

static void compare(void *arg, const char *key, const char *value)
{
	struct comparing *c = arg;
	const struct gitkey *row = find_key(key, value);
	const bool remote = !strncmp(key, "remote.", 7);
	const bool leads = row && row->value && !strcmp(row->value, "@url");
	const bool may_go = leads && (!strncmp(key, "branch.", 7) ||
				      !strncmp(key, "submodule.", 10));
	const char *name = strrchr(key, '.');
	/* One that is there gets no second address to push to */
	const size_t n = remote && (leads || !strcmp(name, ".mirror")) ?
			 (size_t)(name - key) + 1 : strlen(key) + 1;

	if (row && !leads && !remote)
		return;
	if (may_go && !c->new) {
		add_setting(&c->branches, key, value);
		return;
	}
	if (may_go && has_setting(&c->branches, key, n, NULL)) {
		c->changed |= !has_setting(&c->branches, key, n, value);
		return;
	}
	if (c->new && row && !has_setting(&c->fixed[0], key, n, NULL)) {
		if (leads && (remote || strpbrk(value, ":/")))
			buf_addf(c->added, "%s%s = %s", c->added->len ? ", " :
				 "", key, value);
		return;
	}
	add_setting(&c->fixed[c->new], key, value);
}

static void check_modules(void *arg, const char *key, const char *value)
{
	int *n = arg;

	if (strncmp(key, "submodule.", 10) != 0 || !find_key(key, value))
		*n = -EACCES;
	*n += *n >= 0;
}

bool gitconfig_is_modules(const struct buf *text)
{
	int n = 0;

	return gitconfig_each(buf_str(text), text->len, check_modules, &n) == 0 && n > 0;
}

int gitconfig_may_become(const struct buf *old, const struct buf *new,
			 struct buf *added)
{
	struct comparing c = { .added = added };
	int r = gitconfig_each(old->p, old->len, compare, &c);

	c.new = true;
	if (r == 0)
		r = gitconfig_each(new->p, new->len, compare, &c);
	if (r == 0 && (c.changed || c.fixed[0].len != c.fixed[1].len ||
		       memcmp(buf_str(&c.fixed[0]), buf_str(&c.fixed[1]),
			      c.fixed[0].len) != 0))
		r = -EACCES;
	buf_done(&c.fixed[0]);
	buf_done(&c.fixed[1]);
	buf_done(&c.branches);
	return r;
}
