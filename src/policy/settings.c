/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/settings.c - from settings files to one explained policy
 *
 * Theory of operation: all files are read before any value is applied, because
 * a managed file locks keys of weaker ones, and some switches hold if any file
 * sets them. Each text is parsed into facts (document.c), the facts set the locks
 * (managed.c), and then they are applied, strongest file first (apply.c): the
 * policy keeps the first value of each key.
 */

#include "policy/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/document.h"
#include "policy/file-reader.h"
#include "policy/git.h"
#include "policy/managed.h"
#include "policy/policy.h"

/**
 * struct load - One run of settings_load()
 * @own:	The report, where the caller has none
 * @repo:	The repository around the start directory, if @in_repo
 */
struct load {
	const struct settings_request *req;
	const struct file_reader *reader;
	struct policy *policy;
	struct facts facts;
	struct settings_report own;
	struct git_repo repo;
	bool in_repo;
};

static void load_init(struct load *load, const struct settings_request *req,
		      struct settings_report *report, struct err *err)
{
	*load = (struct load){
		.req = req,
		.reader = req->reader ? req->reader : &file_reader_files,
		.policy = policy_new(req->cwd, req->home),
		.facts = { .report = report ? report : &load->own,
			   .check = req->check, .err = err },
	};
	if (req->account_home)
		load->policy->account_home = mem_strdup(req->account_home);
	load->policy->variable = req->variable;
	for (enum policy_dir dir = 0; dir < DIR_COUNT; dir++)
		policy_set_dir(load->policy, dir, req->dirs[dir]);
}

static void load_done(struct load *load)
{
	facts_done(&load->facts);
	settings_report_done(&load->own);
	git_repo_done(&load->repo);
	policy_unref(load->policy);
}

#define auto_load	__attribute__((cleanup(load_done)))

static void note_file(struct load *load, enum scope scope, const char *path,
		      enum file_state state)
{
	*vec_push(&load->facts.report->files) = (struct settings_file){
		.scope = scope, .state = state, .path = mem_strdup(path),
	};
}

/* A command must not change the rules of this run or of the next: every file
 * that was read, or would have been, is read-only in every profile. Called as srt,
 * cloche reads none of the agent's files and protects none.
 */
static void freeze_files(struct load *load)
{
	const struct source *source = policy_add_source(load->policy,
		SCOPE_BUILTIN, "settings", NULL, 0, "/");
	const struct settings_report *report = load->facts.report;

	for (size_t i = 0; i < report->files.len; i++) {
		if (report->files.v[i].path[0] == '/')
			policy_add_literal(load->policy, PATH_DENY_WRITE,
				report->files.v[i].path, RULE_ALWAYS,
				origin_make(source, NULL, "a settings file"));
	}
}

/* Read the file @place->name. A missing file is an error only if @required. */
static int add_file(struct load *load, const struct document_place *place,
		    bool required)
{
	auto_buf struct buf text = { 0 };
	struct err why = { 0 };
	int r;

	r = load->reader->read(load->reader->arg, place->name, JSON_TEXT_MAX,
			       &text, &why);
	if (r == -ENOENT && !required) {
		note_file(load, place->scope, place->name, FILE_MISSING);
		return 0;
	}
	if (r < 0) {
		note_file(load, place->scope, place->name, FILE_BAD);
		if (!load->req->check && !place->drop_in)
			return fail(load->facts.err, r, "%s%s", why.msg,
				    r == -EACCES && place->scope == SCOPE_USER ?
				    "; set HOME to your own, or use --no-settings" : "");
		settings_note(load->facts.report, NOTE_ERROR, "%s", why.msg);
		return 0;
	}
	r = document_add(&load->facts, load->policy, place, buf_str(&text),
			 text.len);
	note_file(load, place->scope, place->name,
		  r == 0 ? FILE_READ : FILE_BAD);
	return r < 0 ? r : 0;
}

/* The file @name below @dir, if there is one; its paths start at @base */
static int add_below(struct load *load, enum scope scope,
		     enum document_shape shape, const char *dir,
		     const char *name, const char *base)
{
	auto_free char *path = path_join(dir, name);

	return add_file(load, &(struct document_place){
		.scope = scope, .shape = shape, .name = path, .base = base,
		.rules_base = scope == SCOPE_MANAGED ? dir : base,
	}, false);
}

static bool is_drop_in(const char *name)
{
	const size_t n = strlen(name);

	return *name != '.' && n > 5 && !strcmp(name + n - 5, ".json");
}

/* Later names are stronger, so they go first */
static int add_drop_ins(struct load *load, const char *dir,
			enum document_shape shape)
{
	auto_strings struct strings names = { 0 };
	struct err why = { 0 };
	int r;

	r = load->reader->list(load->reader->arg, dir, &names, &why);
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	/* Without the administrator's rules nothing may run */
	if (r < 0)
		return fail(load->facts.err, r, "%s", why.msg);
	for (size_t i = names.len; i-- > 0 && r == 0;) {
		auto_free char *path = path_join(dir, names.v[i]);

		if (is_drop_in(names.v[i]))
			r = add_file(load, &(struct document_place){
				.scope = SCOPE_MANAGED, .shape = shape,
				.name = path, .base = load->req->cwd,
				.rules_base = dir, .drop_in = true,
			}, false);
	}
	return r;
}

static int add_managed(struct load *load, const char *dir_name,
		       const char *file, const char *drop_ins,
		       enum document_shape shape)
{
	auto_free char *dir = path_join(load->policy->dirs[DIR_ETC], dir_name);
	auto_free char *more = path_join(dir, drop_ins);
	const int r = add_drop_ins(load, more, shape);

	return r < 0 ? r : add_below(load, SCOPE_MANAGED, shape, dir, file,
				     load->req->cwd);
}

static int add_flag(struct load *load)
{
	const char *flag = load->req->flag, *cwd = load->req->cwd;
	const bool as_srt = load->req->as_srt;
	struct document_place place = {
		.scope = SCOPE_FLAG, .shape = as_srt ? SHAPE_SRT : SHAPE_GUESS,
		.name = "--settings", .base = cwd, .rules_base = cwd,
		.as_srt = as_srt,
	};
	auto_free char *path = NULL;
	auto_free char *dir = NULL;

	if (!flag)
		return 0;
	if (flag[strspn(flag, " \t\r\n")] == '{') {
		const int r = document_add(&load->facts, load->policy, &place,
					   flag, strlen(flag));

		note_file(load, SCOPE_FLAG, "--settings",
			  r == 0 ? FILE_READ : FILE_BAD);
		return r < 0 ? r : 0;
	}
	path = path_resolve(cwd, flag);
	dir = path_parent(path);
	place.name = path;
	place.rules_base = dir;
	return add_file(load, &place, true);
}

static bool is_owned_dir(const struct load *load, const char *dir)
{
	bool owned = false;

	return load->reader->kind(load->reader->arg, dir, &owned) ==
		       FILE_READER_DIR && owned;
}

/* The directory whose .claude/settings.local.json is the local one: the
 * main checkout's, which its linked working trees share
 */
static const char *local_root(const struct load *load)
{
	const char *root = load->repo.checkout && load->repo.trusted ?
		load->repo.checkout : load->repo.top;
	static const char *const names[] = { ".git", ".claude" };
	bool owned = false;

	if (!load->in_repo || !strcmp(root, load->req->cwd) ||
	    (load->policy->home && !strcmp(root, load->policy->home)))
		return NULL;
	if (!is_owned_dir(load, root))
		return NULL;
	/* /tmp is root's, but any user can make files in it */
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *path = path_join(root, names[i]);

		if (load->reader->kind(load->reader->arg, path, &owned) !=
		    FILE_READER_NONE && !owned)
			return NULL;
	}
	return root;
}

static int add_local(struct load *load)
{
	static const char name[] = ".claude/settings.local.json";
	const char *root = local_root(load), *cwd = load->req->cwd;
	const int r = root ? add_below(load, SCOPE_LOCAL, SHAPE_CLAUDE, root,
				       name, cwd) : 0;

	return r < 0 ? r : add_below(load, SCOPE_LOCAL, SHAPE_CLAUDE, cwd, name,
				     cwd);
}

/* The files of @dir. In the home, ~/.claude/settings.json is the user's file. */
static int add_project_files(struct load *load, const char *dir)
{
	const char *users = load->policy->dirs[DIR_CLAUDE];
	auto_free char *claude = path_join(dir, ".claude");
	const int r = add_below(load, SCOPE_PROJECT, SHAPE_OWN, dir,
				".cloche.json", dir);

	if (r < 0 || (users && !strcmp(users, claude)))
		return r;
	return add_below(load, SCOPE_PROJECT, SHAPE_CLAUDE, dir,
			 ".claude/settings.json", dir);
}

/* The files of the start directory, then of each directory above it: a command
 * that makes a repository around a later start directory must not get rid of
 * the denials above it.
 */
static int add_project(struct load *load)
{
	auto_free char *dir = mem_strdup(load->req->cwd);
	int r;

	do {
		r = add_project_files(load, dir);
	} while (r == 0 && path_up(dir) &&
		 !policy_holds_home(load->policy, dir) && is_owned_dir(load, dir));
	return r;
}

static void find_project(struct load *load)
{
	load->in_repo = project_find(load->reader, load->policy, &load->repo);
}

static int add_user(struct load *load)
{
	const char *config = load->policy->dirs[DIR_CONFIG];
	const char *claude = load->policy->dirs[DIR_CLAUDE];
	int r = 0;

	if (config)
		r = add_below(load, SCOPE_USER, SHAPE_OWN, config,
			      "cloche/policy.json", load->req->cwd);
	if (r == 0 && claude)
		r = add_below(load, SCOPE_USER, SHAPE_CLAUDE, claude,
			      "settings.json", claude);
	return r;
}

static int read_all(struct load *load)
{
	int r;

	r = add_managed(load, "cloche", "policy.json", "policy.d", SHAPE_OWN);
	if (r == 0)
		r = add_managed(load, "claude-code", "managed-settings.json",
				"managed-settings.d", SHAPE_CLAUDE);
	if (r < 0)
		return r;
	find_project(load);
	r = add_flag(load);
	if (r < 0 || load->req->no_settings)
		return r;
	r = add_local(load);
	if (r == 0)
		r = add_project(load);
	return r < 0 ? r : add_user(load);
}

/* The git directory of the main checkout, so that all its working trees share
 * what is approved; a pointer that is not confirmed stands only for itself
 */
static const char *identity(const struct load *load)
{
	if (!load->in_repo)
		return load->req->cwd;
	return load->repo.trusted ? load->repo.common : load->repo.top;
}

/* The directory that a repository's paths start from */
static const char *top_of(const struct load *load)
{
	return load->in_repo ? load->repo.top : load->req->cwd;
}

/* True if @entry makes @path writable */
static bool entry_opens(const struct load *load, const struct ask_context *ctx,
			const struct entry *entry, const char *path)
{
	const struct settings_request *req = load->req;
	auto_free char *line = NULL;
	struct ask ask;
	bool opens;

	if (!ask_of(ctx, entry, &ask))
		return false;
	opens = ask.kind == ASK_WRITE && !ask.closes &&
		path_is_within(ask.path, path);
	if (opens && entry->fact->document->authority == AUTHORITY_REPOSITORY) {
		line = ask_line(&ask);
		opens = req->approves &&
			req->approves(req->approves_arg, AUTHORITY_REPOSITORY,
				      identity(load), line);
	}
	ask_done(&ask);
	return opens;
}

static bool facts_open(const struct load *load, const char *path)
{
	const struct ask_context ctx = {
		.policy = load->policy, .reader = load->reader,
		.top = top_of(load),
	};

	for (size_t i = 0; i < load->facts.len; i++) {
		struct entry e = fact_entry(&load->facts, &load->facts.v[i]);

		while (entry_next(&e)) {
			if (entry_opens(load, &ctx, &e, path))
				return true;
		}
	}
	return false;
}

/* True if a command of such a run could write @path */
static bool is_writable_inside(const struct load *load, const char *path)
{
	const struct settings_request *req = load->req;
	auto_policy struct policy *p = policy_new_like(load->policy);
	const struct path_rules *rules = &p->paths[PATH_ALLOW_WRITE];
	const char *cache = load->policy->dirs[DIR_CACHE];
	auto_free char *tmp = cache ? path_join(cache, "cloche-tmp") : NULL;

	if (req->options)
		(void)req->options(req->options_arg, p, NULL);
	if (req->as_srt)
		p->profile = PROFILE_SRT;
	(void)policy_finish(p, NULL);
	for (size_t i = 0; i < rules->len; i++) {
		if (path_is_within(rules->v[i].path, path))
			return true;
	}
	return (tmp && path_is_within(tmp, path)) ||
	       (load->in_repo && path_is_within(load->repo.common, path)) ||
	       facts_open(load, path);
}

/* The user's own settings of srt */
static bool is_srts(const struct load *load, const char *path)
{
	const char *home = load->policy->home;
	auto_free char *own = home ? path_join(home, ".srt-settings.json")
				   : NULL;

	return own && !strcmp(own, path);
}

/* A file of --settings that a command could have written is believed once */
static void find_authority(struct load *load)
{
	for (size_t i = 0; i < load->facts.documents.len; i++) {
		struct document *d = load->facts.documents.v[i];
		auto_free char *real = NULL;

		if (d->source->scope != SCOPE_FLAG || d->source->name[0] != '/')
			continue;
		real = load->reader->real(load->reader->arg, d->source->name);
		if (!real || is_srts(load, real) ||
		    !is_writable_inside(load, real))
			continue;
		d->authority = AUTHORITY_RECORDED;
		d->id = take_ptr(real);
	}
}

static int apply_all(struct load *load, struct managed *locks)
{
	const struct settings_request *req = load->req;
	struct ask_context asks = {
		.policy = load->policy, .reader = load->reader,
		.top = top_of(load), .hidden = locks->denied,
	};
	const struct apply apply = {
		.facts = &load->facts,
		.policy = load->policy,
		.locks = locks,
		.asks = &asks,
		.id = identity(load),
		.approves = req->approves, .arg = req->approves_arg,
	};
	int r;

	r = apply_facts(&apply, APPLY_STICKY);
	if (r == 0)
		r = apply_facts(&apply, APPLY_MANAGED);
	if (r == 0 && req->options)
		r = req->options(req->options_arg, load->policy,
				 load->facts.err);
	if (r == 0)
		r = managed_check_options(locks, load->policy, load->facts.err);
	if (r == 0)
		r = apply_facts(&apply, APPLY_PROFILE);
	if (r < 0)
		return r;
	if (policy_has_project(load->policy))
		asks.open = load->policy->project;
	managed_note_hidden(locks, &load->facts, load->policy);
	apply_find_pinned(&apply, req->pinned);
	r = apply_facts(&apply, APPLY_OTHERS);
	if (r < 0)
		return r;
	managed_note_denials(locks, &load->facts, load->policy);
	r = apply_facts(&apply, APPLY_ALLOW);
	apply_report_asks(&apply);
	if (r == 0 && req->check)
		lint_note(&load->facts, load->policy);
	return r < 0 ? r : managed_check_net(locks, load->policy,
						load->facts.err);
}

/* Directories of "/" that the system needs */
static const char system_dirs[] =
	"bin boot dev etc lib lib32 lib64 libx32 nix opt proc run sbin sys tmp usr var";

static void deny_one(struct policy *policy, const char *path)
{
	const struct flag *flag = &policy->flags[FLAG_BLOCK_OUTSIDE_READS];

	policy_add_literal(policy, PATH_DENY_READ, path, RULE_USER,
			   flag->origin);
}

/* True if another rule hides the start directory */
static bool is_hidden(const struct policy *policy)
{
	const struct path_rules *rules = &policy->paths[PATH_DENY_READ];

	for (size_t i = 0; i < rules->len; i++) {
		if (path_is_within(rules->v[i].path, policy->cwd))
			return true;
	}
	return false;
}

/* blockReadsOutsideWorkingDirectories: a denial of "/" would hide the system as
 * well, so every directory at the top that is not the system's is denied by name.
 * Only root can add one there while a command runs.
 */
static int block_outside_reads(struct policy *policy,
			       const struct file_reader *reader,
			       struct err *err)
{
	const struct flag *flag = &policy->flags[FLAG_BLOCK_OUTSIDE_READS];
	const bool hidden = is_hidden(policy);
	auto_strings struct strings names = { 0 };
	int r;

	r = reader->list(reader->arg, "/", &names, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *path = path_join("/", names.v[i]);

		if (!text_has_word(system_dirs, names.v[i]) &&
		    reader->kind(reader->arg, path, NULL) == FILE_READER_DIR)
			deny_one(policy, path);
	}
	if (policy->home)
		deny_one(policy, policy->home);
	/* What may be written may be read as well; that needs no rule */
	if (!hidden)
		policy_add_literal(policy, PATH_ALLOW_READ, policy->project,
				   RULE_USER, flag->origin);
	return 0;
}

static int finish(struct load *load)
{
	if (load->in_repo && load->policy->profile != PROFILE_SRT)
		git_grant(&load->repo, load->policy);
	if (policy_flag(load->policy, FLAG_BLOCK_OUTSIDE_READS, false)) {
		const int r = block_outside_reads(load->policy, load->reader,
						  load->facts.err);

		if (r < 0)
			return r;
	}
	freeze_files(load);
	return policy_finish(load->policy, load->facts.err);
}

/* Apply all that was read, and finish the policy: *@ret, if wanted */
static int load_apply(struct load *load, struct policy **ret)
{
	struct managed locks = { 0 };
	int r;

	find_authority(load);
	managed_init(&locks, &load->facts, load->reader);
	r = apply_all(load, &locks);
	if (r == 0)
		r = finish(load);
	managed_done(&locks);
	if (r == 0 && ret)
		*ret = take_ptr(load->policy);
	return r;
}

int settings_load(const struct settings_request *req, struct policy **ret,
		  struct settings_report *report, struct err *err)
{
	auto_load struct load load = { 0 };
	int r;

	if (!req->cwd || *req->cwd != '/')
		return fail(err, -EINVAL, "the start directory is not absolute");
	load_init(&load, req, report, err);
	r = read_all(&load);
	return r < 0 ? r : load_apply(&load, ret);
}

static bool approve_any(void *arg, enum authority authority, const char *id,
			const char *line)
{
	(void)arg;
	(void)authority;
	(void)id;
	(void)line;
	return true;
}

static bool is_own(const char *name)
{
	return !strcmp(path_base(name), ".cloche.json") ||
	       !strcmp(path_base(name), "policy.json");
}

/* Read one file's @text alone */
static int add_text(struct load *load, enum scope scope, const char *name,
		    const char *dir, const char *text, size_t n)
{
	const int r = document_add(&load->facts, load->policy,
		&(struct document_place){
			.scope = scope,
			.shape = is_own(name) ? SHAPE_OWN : SHAPE_GUESS,
			.name = name, .base = dir, .rules_base = dir,
		}, text, n);

	return r < 0 ? r : 0;
}

int settings_reach(const struct settings_request *req, const char *name,
		   const char *dir, const char *text, size_t n,
		   struct asks *ret, struct err *err)
{
	auto_load struct load load;
	struct ask_context ctx;
	struct ask ask;
	int r;

	load_init(&load, req, NULL, err);
	ctx = (struct ask_context){
		.policy = load.policy, .reader = load.reader, .top = dir,
	};
	r = add_text(&load, SCOPE_PROJECT, name, dir, text, n);
	for (size_t i = 0; r == 0 && i < load.facts.len; i++) {
		struct entry e = fact_entry(&load.facts, &load.facts.v[i]);

		while (entry_next(&e)) {
			if (ask_of(&ctx, &e, &ask))
				*vec_push(ret) = ask;
		}
	}
	return r;
}

int settings_check_text(const struct settings_request *req, enum scope scope,
			const char *name, const char *text, size_t n,
			struct settings_report *report, struct err *err)
{
	struct settings_request checked = *req;
	auto_load struct load load;
	int r;

	checked.check = true;
	checked.approves = approve_any;		/* Every entry is checked */
	load_init(&load, &checked, report, err);
	r = add_text(&load, scope, name, req->cwd, text, n);
	return r < 0 ? r : load_apply(&load, NULL);
}

char *settings_file_for(const struct settings_request *req, enum scope scope)
{
	auto_load struct load load;
	const char *dir;

	load_init(&load, req, NULL, NULL);
	find_project(&load);
	dir = local_root(&load);
	if (scope == SCOPE_LOCAL)
		return path_join(dir ? dir : req->cwd,
				 ".claude/settings.local.json");
	if (scope == SCOPE_PROJECT)
		return path_join(load.policy->project, ".cloche.json");
	dir = load.policy->dirs[DIR_CONFIG];
	return dir ? path_join(dir, "cloche/policy.json") : NULL;
}

char *settings_identity(const struct settings_request *req)
{
	auto_load struct load load;

	load_init(&load, req, NULL, NULL);
	find_project(&load);
	return mem_strdup(identity(&load));
}

static const char *variable(const char *name)
{
	return getenv(name);
}

void settings_request_init(struct settings_request *req, const char *cwd)
{
	*req = (struct settings_request){
		.cwd = cwd,
		.dirs = {
			[DIR_ETC] = etc_dir(),
			[DIR_CLAUDE] = getenv("CLAUDE_CONFIG_DIR"),
			[DIR_CONFIG] = getenv("XDG_CONFIG_HOME"),
			[DIR_CACHE] = getenv("XDG_CACHE_HOME"),
			[DIR_DATA] = getenv("XDG_DATA_HOME"),
		},
		.variable = variable,
		.pinned = getenv("CLOCHE_TRUST"),
		.owned = { fs_home(), fs_account_home(), fs_state_home() },
	};
	req->home = req->owned[0];
	req->account_home = req->owned[1];
	req->dirs[DIR_STATE] = req->owned[2];
}

void settings_request_done(struct settings_request *req)
{
	for (size_t i = 0; i < ARRAY_SIZE(req->owned); i++)
		free(req->owned[i]);
	*req = (struct settings_request){ 0 };
}
