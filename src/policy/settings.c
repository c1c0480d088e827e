/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/settings.c - from settings files to one explained policy
 *
 * Theory of operation: every place is looked at, strongest first. Its text is
 * taken apart into facts (document.c), the facts tell which locks hold
 * (locks.c), and then they go into the policy (apply.c), whose own rule is that
 * the first value stays. Nothing is applied before all files have been read:
 * what a weak file may say depends on the strong ones, and the other way round
 * for "any true wins".
 */

#include "policy/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/apply.h"
#include "policy/asks.h"
#include "policy/document.h"
#include "policy/footguns.h"
#include "policy/git.h"
#include "policy/locks.h"
#include "policy/outside.h"
#include "policy/policy.h"
#include "policy/reader.h"

/**
 * struct place - A file that decides
 */
struct place {
	enum scope scope;
	char *path;
};

/**
 * struct load - One run of settings_load()
 * @files:	Every place that was looked at, there or not
 * @repo:	The repository around the start directory
 * @in_repo:	There is one
 */
struct load {
	const struct settings_request *req;
	const struct reader *reader;
	struct policy *policy;
	struct facts facts;
	struct { struct place *v; size_t len, cap; } files;
	struct git_repo repo;
	bool in_repo;
	struct err *err;
};

static void note_file(struct load *load, enum scope scope, const char *path,
		      enum file_state state)
{
	if (load->facts.report)
		*vec_push(&load->facts.report->files) = (struct settings_file){
			.scope = scope,
			.state = state,
			.path = mem_strdup(path),
		};
}

/* Nobody may change the rules while they hold, or for the next run: whatever was
 * read stays as it is, in every profile. Called as srt we read nothing of the
 * agent's, and freeze nothing of it.
 */
static void freeze_files(struct load *load)
{
	const struct source *source = policy_add_source(load->policy,
		SCOPE_BUILTIN, "settings", NULL, 0, "/");

	for (size_t i = 0; i < load->files.len; i++) {
		const struct place *file = &load->files.v[i];

		policy_add_literal(load->policy, PATH_DENY_WRITE, file->path,
			RULE_ALWAYS,
			origin_make(source, NULL, "a settings file"));
	}
}

static void remember_file(struct load *load,
			  const struct document_place *place)
{
	*vec_push(&load->files) = (struct place){
		.scope = place->scope, .path = mem_strdup(place->name),
	};
}

/* Read the file @place->name; a missing one is fine but where @required */
static int add_file(struct load *load, const struct document_place *place,
		    bool required)
{
	auto_buf struct buf text = { 0 };
	struct err why = { 0 };
	int r;

	remember_file(load, place);
	r = load->reader->read(load->reader->arg, place->name, JSON_TEXT_MAX,
			       &text, &why);
	if (r == -ENOENT && !required) {
		note_file(load, place->scope, place->name, FILE_MISSING);
		return 0;
	}
	if (r < 0) {
		note_file(load, place->scope, place->name, FILE_BAD);
		if (!load->req->check && !place->drop_in)
			return fail(load->err, r, "%s%s", why.msg,
				    r == -EACCES && place->scope == SCOPE_USER ?
				    "; set HOME to your own, or use --no-settings" : "");
		settings_note(load->facts.report, NOTE_ERROR, "%s", why.msg);
		return 0;
	}
	r = document_add(&load->facts, load->policy, place, buf_str(&text),
			 text.len, load->err);
	note_file(load, place->scope, place->name,
		  r == 0 ? FILE_READ : FILE_BAD);
	return r < 0 ? r : 0;
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
	struct reader_names names = { 0 };
	struct err why = { 0 };
	int r;

	r = load->reader->list(load->reader->arg, dir, &names, &why);
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	/* Not to know what the administrator wants is no reason to go on */
	if (r < 0)
		return fail(load->err, r, "%s", why.msg);
	for (size_t i = names.len; i-- > 0 && r == 0;) {
		auto_free char *path = path_join(dir, names.v[i]);

		if (is_drop_in(names.v[i]))
			r = add_file(load, &(struct document_place){
				.scope = SCOPE_MANAGED, .shape = shape,
				.name = path, .base = load->req->cwd,
				.rules_base = dir, .tolerant = true,
				.drop_in = true,
			}, false);
	}
	reader_names_done(&names);
	return r;
}

static int add_managed(struct load *load, const char *dir_name,
		       const char *file, const char *drop_ins,
		       enum document_shape shape)
{
	auto_free char *dir = path_join(load->policy->dirs[DIR_ETC], dir_name);
	auto_free char *path = path_join(dir, file);
	auto_free char *more = path_join(dir, drop_ins);
	int r;

	r = add_drop_ins(load, more, shape);
	if (r < 0)
		return r;
	return add_file(load, &(struct document_place){
		.scope = SCOPE_MANAGED, .shape = shape, .name = path,
		.base = load->req->cwd, .rules_base = dir, .tolerant = true,
	}, false);
}

static int add_flag(struct load *load)
{
	const char *flag = load->req->flag;
	auto_free char *path = NULL;
	auto_free char *dir = NULL;

	if (!flag)
		return 0;
	if (flag[strspn(flag, " \t\r\n")] == '{') {
		const int r = document_add(&load->facts, load->policy,
			&(struct document_place){
				.scope = SCOPE_FLAG, .shape = SHAPE_GUESS,
				.name = "--settings", .base = load->req->cwd,
				.rules_base = load->req->cwd,
			}, flag, strlen(flag), load->err);

		note_file(load, SCOPE_FLAG, "--settings",
			  r == 0 ? FILE_READ : FILE_BAD);
		return r < 0 ? r : 0;
	}
	path = path_resolve(load->req->cwd, flag);
	dir = path_parent(path);
	return add_file(load, &(struct document_place){
		.scope = SCOPE_FLAG,
		.shape = load->req->as_srt ? SHAPE_SRT : SHAPE_GUESS,
		.name = path, .base = load->req->cwd, .rules_base = dir,
		.as_srt = load->req->as_srt,
	}, true);
}

/* The directory whose .claude/settings.local.json is the local one: the
 * repository's, so that a linked working tree has the settings of the main one
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
	if (load->reader->kind(load->reader->arg, root, &owned) !=
	    READER_DIR || !owned)
		return NULL;
	/* /tmp is root's, and what is in it anybody's */
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *path = path_join(root, names[i]);

		if (load->reader->kind(load->reader->arg, path, &owned) !=
		    READER_NONE && !owned)
			return NULL;
	}
	return root;
}

static int add_local(struct load *load)
{
	const char *roots[] = { local_root(load), load->req->cwd };

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		auto_free char *path = roots[i] ? path_join(roots[i],
			".claude/settings.local.json") : NULL;
		int r;

		if (!path)
			continue;
		r = add_file(load, &(struct document_place){
			.scope = SCOPE_LOCAL, .shape = SHAPE_CLAUDE,
			.name = path, .base = load->req->cwd,
			.rules_base = load->req->cwd,
			.authority = AUTHORITY_REPOSITORY,
		}, false);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Started in the home, the user's own file is no project's */
static bool is_users(const struct load *load, const char *path)
{
	const char *claude = load->policy->dirs[DIR_CLAUDE];
	auto_free char *theirs = claude ? path_join(claude, "settings.json")
					: NULL;

	return theirs && !strcmp(theirs, path);
}

static int add_project_files(struct load *load, const char *dir)
{
	auto_free char *own = path_join(dir, ".cloche.json");
	auto_free char *claude = path_join(dir, ".claude/settings.json");
	int r;

	r = add_file(load, &(struct document_place){
		.scope = SCOPE_PROJECT, .shape = SHAPE_OWN, .name = own,
		.base = dir, .rules_base = dir,
		.authority = AUTHORITY_REPOSITORY,
	}, false);
	if (r < 0 || is_users(load, claude))
		return r;
	return add_file(load, &(struct document_place){
		.scope = SCOPE_PROJECT, .shape = SHAPE_CLAUDE, .name = claude,
		.base = dir, .rules_base = dir,
		.authority = AUTHORITY_REPOSITORY,
	}, false);
}

/* Those of the start directory, then of what is above it. A command can make a
 * repository around a later start directory, and must not get rid of the denials
 * above it.
 */
static int add_project(struct load *load)
{
	auto_free char *dir = mem_strdup(load->req->cwd);
	bool owned = true;
	int r = 0;

	while (r == 0 && owned) {
		char *parent;

		r = add_project_files(load, dir);
		parent = path_parent(dir);
		free(dir);
		dir = parent;
		owned = !policy_holds_home(load->policy, dir) &&
			load->reader->kind(load->reader->arg, dir, &owned) ==
				READER_DIR && owned;
	}
	return r;
}

/* The git work tree around the start directory is the project, unless it holds
 * the home
 */
static void find_project(struct load *load)
{
	struct policy *policy = load->policy;
	const char *state = policy->dirs[DIR_STATE];
	auto_free char *made = state ? path_join(state, "cloche/" GIT_MADE)
				     : NULL;
	auto_free char *record = NULL;

	/* A ".git" that nobody can read is not ours to complain about here */
	load->in_repo = git_discover(load->reader, load->req->cwd,
				     &load->repo);
	if (!load->in_repo || policy_holds_home(policy, load->repo.top))
		return;
	record = made ? git_made_record(made, load->repo.dir) : NULL;
	if (record && load->reader->kind(load->reader->arg, record, NULL) !=
		      READER_NONE) {
		policy->made_top = mem_strdup(load->repo.top);
		policy->made_record = take_ptr(record);
		return;
	}
	if (!strcmp(load->repo.top, policy->cwd) ||
	    !git_is_project(load->reader, &load->repo))
		return;
	free(policy->project);
	policy->project = mem_strdup(load->repo.top);
}

static int add_user(struct load *load)
{
	const char *config = load->policy->dirs[DIR_CONFIG];
	const char *claude = load->policy->dirs[DIR_CLAUDE];
	auto_free char *own = config ? path_join(config, "cloche/policy.json")
				     : NULL;
	auto_free char *theirs = claude ? path_join(claude, "settings.json")
					: NULL;
	int r = 0;

	if (own)
		r = add_file(load, &(struct document_place){
			.scope = SCOPE_USER, .shape = SHAPE_OWN, .name = own,
			.base = load->req->cwd, .rules_base = load->req->cwd,
		}, false);
	if (r == 0 && theirs)
		r = add_file(load, &(struct document_place){
			.scope = SCOPE_USER, .shape = SHAPE_CLAUDE,
			.name = theirs, .base = claude, .rules_base = claude,
		}, false);
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

/* An option that opens what a managed file denies */
static int check_denied(const struct load *load, enum path_list list)
{
	const struct path_rules *rules = &load->policy->paths[list];
	const struct path_rules *denied =
		&load->policy->paths[PATH_DENY_READ];

	for (size_t i = 0; i < rules->len * denied->len; i++) {
		const struct path_rule *rule = &rules->v[i / denied->len];
		const struct path_rule *no = &denied->v[i % denied->len];
		auto_buf struct buf by = { 0 };

		if (rule->origin.source->scope == SCOPE_MANAGED ||
		    no->origin.source->scope != SCOPE_MANAGED ||
		    !path_is_within(no->path, rule->path))
			continue;
		origin_describe(&no->origin, &by);
		return fail(load->err, -EPERM, "%s %s: managed settings deny it (%s)",
			    rule->origin.source->name, rule->text,
			    buf_str(&by));
	}
	return 0;
}

/* An option that a lock forbids was asked for by name: say so and stop */
static int check_options(const struct load *load, const struct locks *locks)
{
	const struct host_rules *hosts = &load->policy->hosts[HOST_ALLOW];
	const struct path_rules *paths = &load->policy->paths[PATH_ALLOW_READ];
	int r;

	if (locks->domains && hosts->len)
		return fail(load->err, -EPERM,
			    "--allow %s: only managed domains count (%s sets %s)",
			    hosts->v[0].text,
			    locks->domains->document->source->name,
			    locks->domains->key);
	if (locks->read_paths && paths->len)
		return fail(load->err, -EPERM,
			    "--read %s: only managed paths count (%s sets %s)",
			    paths->v[0].text,
			    locks->read_paths->document->source->name,
			    locks->read_paths->key);
	r = check_denied(load, PATH_ALLOW_READ);
	return r < 0 ? r : check_denied(load, PATH_ALLOW_WRITE);
}

/* Without a filter the managed lists would mean nothing */
static int check_net(const struct load *load, const struct locks *locks)
{
	const enum net_mode net = load->policy->net;
	const struct origin *origin = &load->policy->net_origin;
	const struct fact *by = net == NET_HOST ? locks->network :
				net == NET_JAIL ? locks->names : NULL;

	if (!by || !origin->source || origin->source->scope == SCOPE_MANAGED)
		return 0;
	return fail(load->err, -EPERM, "%s is refused: %s sets %s%s",
		    net == NET_HOST ? "the host's network" :
		    "a jail that looks at no names",
		    by->document->source->name, by->key,
		    net == NET_JAIL ? "; write jail,filtered" : "");
}

/* The git directory of the main checkout, so that all its working trees share
 * what is approved; a pointer that nobody confirms stands for nothing but itself
 */
static const char *identity(const struct load *load)
{
	if (!load->in_repo)
		return load->req->cwd;
	return load->repo.trusted ? load->repo.common : load->repo.top;
}

/* The directory that a repository's paths are told from */
static const char *top_of(const struct load *load)
{
	return load->in_repo ? load->repo.top : load->req->cwd;
}

/* True if @fact's entry makes @path writable */
static bool entry_opens(const struct load *load, const struct ask_context *ctx,
			const struct fact *fact, json_t *entry,
			const char *path)
{
	const struct settings_request *req = load->req;
	auto_free char *line = NULL;
	struct ask ask;
	bool opens;

	if (!ask_of(ctx, &load->facts, fact, entry, &ask))
		return false;
	opens = ask.kind == ASK_WRITE && !ask.closes &&
		path_is_within(ask.path, path);
	if (opens && fact->document->authority == AUTHORITY_REPOSITORY) {
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
		const struct fact *fact = &load->facts.v[i];
		json_t *entry;
		size_t n;

		json_array_foreach(fact->value, n, entry) {
			if (entry_opens(load, &ctx, fact, entry, path))
				return true;
		}
	}
	return false;
}

/* True if a command of such a run could write @path */
static bool is_writable_inside(const struct load *load, const char *path)
{
	const struct settings_request *req = load->req;
	auto_policy struct policy *p = policy_new(req->cwd, req->home);
	const struct path_rules *rules = &p->paths[PATH_ALLOW_WRITE];
	const char *cache = load->policy->dirs[DIR_CACHE];
	auto_free char *kept = cache ? path_join(cache, "cloche-tmp") : NULL;

	if (req->account_home)
		p->account_home = mem_strdup(req->account_home);
	if (req->options)
		(void)req->options(req->options_arg, p, NULL);
	if (req->as_srt)
		p->profile = PROFILE_SRT;
	(void)policy_finish(p, NULL);
	for (size_t i = 0; i < rules->len; i++) {
		if (path_is_within(rules->v[i].path, path))
			return true;
	}
	return (kept && path_is_within(kept, path)) ||
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

static int apply_all(struct load *load, struct locks *locks)
{
	const struct settings_request *req = load->req;
	struct ask_context asks = {
		.policy = load->policy, .reader = load->reader,
		.top = top_of(load),
		.hides = locks_hide, .arg = locks,
	};
	const struct apply apply = {
		.req = req,
		.facts = &load->facts,
		.policy = load->policy,
		.locks = locks,
		.reader = load->reader,
		.asks = &asks,
		.id = identity(load),
		.err = load->err,
	};
	int r;

	r = apply_facts(&apply, APPLY_STICKY);
	if (r == 0)
		r = apply_facts(&apply, APPLY_MANAGED);
	if (r == 0 && req->options)
		r = req->options(req->options_arg, load->policy, load->err);
	if (r == 0)
		r = check_options(load, locks);
	if (r == 0)
		r = apply_facts(&apply, APPLY_PROFILE);
	if (r < 0)
		return r;
	if (policy_has_project(load->policy))
		asks.open = load->policy->project;
	locks_note_hidden(locks, &load->facts, load->policy);
	apply_find_pinned(&apply);
	r = apply_facts(&apply, APPLY_OTHERS);
	if (r < 0)
		return r;
	locks_note_denials(locks, &load->facts, load->policy, load->reader);
	r = apply_facts(&apply, APPLY_ALLOW);
	apply_report_asks(&apply);
	if (r == 0 && req->check)
		footguns_note(&load->facts, load->policy);
	return r < 0 ? r : check_net(load, locks);
}

static int finish(struct load *load)
{
	if (load->in_repo && load->policy->profile != PROFILE_SRT)
		git_grant(&load->repo, load->policy);
	if (policy_flag(load->policy, FLAG_BLOCK_OUTSIDE_READS, false)) {
		const int r = outside_deny(load->policy, load->reader,
					   load->err);

		if (r < 0)
			return r;
	}
	freeze_files(load);
	return policy_finish(load->policy, load->err);
}

static void load_init(struct load *load, const struct settings_request *req,
		      struct settings_report *report, struct err *err)
{
	*load = (struct load){
		.req = req,
		.reader = req->reader ? req->reader : &reader_files,
		.policy = policy_new(req->cwd, req->home),
		.facts = { .report = report, .check = req->check },
		.err = err,
	};
	if (req->account_home)
		load->policy->account_home = mem_strdup(req->account_home);
	load->policy->variable = req->variable;
	policy_set_dir(load->policy, DIR_ETC, req->etc);
	policy_set_dir(load->policy, DIR_CLAUDE, req->claude);
	policy_set_dir(load->policy, DIR_CONFIG, req->config);
	policy_set_dir(load->policy, DIR_STATE, req->state);
	policy_set_dir(load->policy, DIR_CACHE, req->cache);
	policy_set_dir(load->policy, DIR_DATA, req->data);
}

static int load_end(struct load *load, int r, struct policy **ret)
{
	struct locks locks = { 0 };

	if (r == 0) {
		find_authority(load);
		locks_init(&locks, &load->facts);
		r = apply_all(load, &locks);
	}
	if (r == 0)
		r = finish(load);
	locks_done(&locks);
	facts_done(&load->facts);
	git_repo_done(&load->repo);
	for (size_t i = 0; i < load->files.len; i++)
		free(load->files.v[i].path);
	free(load->files.v);
	if (r == 0 && ret)
		*ret = take_ptr(load->policy);
	policy_unref(load->policy);
	return r;
}

int settings_load(const struct settings_request *req, struct policy **ret,
		  struct settings_report *report, struct err *err)
{
	struct load load;

	if (!req->cwd || *req->cwd != '/')
		return fail(err, -EINVAL, "the start directory is not absolute");
	load_init(&load, req, report, err);
	return load_end(&load, read_all(&load), ret);
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

static void reach_add(const struct load *load, const struct ask_context *ctx,
		      const struct fact *fact, json_t *entry, struct asks *ret)
{
	struct ask ask;

	if (ask_of(ctx, &load->facts, fact, entry, &ask))
		asks_add(ret, ask);
}

int settings_reach(const struct settings_request *req, const char *name,
		   const char *dir, const char *text, size_t n,
		   struct asks *ret, struct err *err)
{
	struct load load;
	struct ask_context ctx;
	int r;

	load_init(&load, req, NULL, err);
	ctx = (struct ask_context){
		.policy = load.policy, .reader = load.reader, .top = dir,
	};
	r = document_add(&load.facts, load.policy, &(struct document_place){
		.scope = SCOPE_PROJECT,
		.shape = is_own(name) ? SHAPE_OWN : SHAPE_GUESS,
		.name = name, .base = dir, .rules_base = dir,
	}, text, n, err);
	for (size_t i = 0; r == 0 && i < load.facts.len; i++) {
		const struct fact *fact = &load.facts.v[i];
		json_t *entry;
		size_t k;

		if (!ask_is_list(fact))
			reach_add(&load, &ctx, fact, fact->value, ret);
		json_array_foreach(fact->value, k, entry)
			reach_add(&load, &ctx, fact, entry, ret);
	}
	facts_done(&load.facts);
	policy_unref(load.policy);
	return r < 0 ? r : 0;
}

int settings_check_text(const struct settings_request *req, enum scope scope,
			const char *name, const char *text, size_t n,
			struct settings_report *report, struct err *err)
{
	struct settings_request checked = *req;
	struct load load;
	int r;

	checked.check = true;
	checked.approves = approve_any;		/* All of it is looked at */
	load_init(&load, &checked, report, err);
	r = document_add(&load.facts, load.policy, &(struct document_place){
		.scope = scope, .shape = is_own(name) ? SHAPE_OWN : SHAPE_GUESS,
		.name = name, .base = req->cwd, .rules_base = req->cwd,
		.authority = scope_is_repository(scope) ?
			     AUTHORITY_REPOSITORY : AUTHORITY_FULL,
	}, text, n, err);
	return load_end(&load, r < 0 ? r : 0, NULL);
}

char *settings_file_for(const struct settings_request *req, enum scope scope)
{
	struct load load;
	const char *dir;
	char *path = NULL;

	load_init(&load, req, NULL, NULL);
	find_project(&load);
	dir = local_root(&load);
	if (scope == SCOPE_LOCAL)
		path = path_join(dir ? dir : req->cwd,
				 ".claude/settings.local.json");
	else if (scope == SCOPE_PROJECT)
		path = path_join(load.policy->project, ".cloche.json");
	else if (load.policy->dirs[DIR_CONFIG])
		path = path_join(load.policy->dirs[DIR_CONFIG],
				 "cloche/policy.json");
	git_repo_done(&load.repo);
	policy_unref(load.policy);
	return path;
}

char *settings_identity(const struct settings_request *req)
{
	struct load load;
	char *id;

	load_init(&load, req, NULL, NULL);
	find_project(&load);
	id = mem_strdup(identity(&load));
	git_repo_done(&load.repo);
	policy_unref(load.policy);
	return id;
}
