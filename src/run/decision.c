/* SPDX-License-Identifier: Apache-2.0 */
/* run/decision.c - options and settings to policy, view and plan */

#include "run/decision.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "doctor/doctor.h"
#include "ephemeral/ephemeral.h"
#include "guard/journal.h"
#include "guard/settings-receipt.h"
#include "ipc/listener.h"
#include "plan/plan.h"
#include "policy/pathrule.h"
#include "policy/policy.h"
#include "policy/host.h"
#include "policy/settings.h"
#include "report/footer.h"
#include "report/violation-store.h"
#include "run/approval.h"
#include "run/choose-tier.h"
#include "run/landlock-proxies.h"
#include "run/options.h"
#include "run/run-secrets.h"
#include "run/tmpdir.h"
#include "view/realpath.h"
#include "view/symlink-guard.h"
#include "view/view.h"
#include "view/walk-cache.h"

/* The way to the start directory as the user has it; the shell's $PWD is believed if
 * it is that directory. The caller frees.
 */
static char *named_start(const char *asked, const char *real)
{
	const char *pwd = getenv("PWD");
	struct stat here, there;
	char cwd[PATH_MAX];

	if (asked)
		return *asked != '/' && getcwd(cwd, sizeof(cwd)) ?
		       path_join(cwd, asked) : mem_strdup(asked);
	return pwd && *pwd == '/' && stat(pwd, &there) == 0 &&
	       stat(real, &here) == 0 && here.st_dev == there.st_dev &&
	       here.st_ino == there.st_ino ? mem_strdup(pwd) : mem_strdup(real);
}

/* The real start directory: rules and mounts speak of real paths */
static int start_directory(const struct options *options, char **ret, struct err *err)
{
	const char *asked = options_get(options, OPTION_CWD);
	auto_free char *named = NULL, *link = NULL;
	char real[PATH_MAX];
	struct stat st;

	if (!asked && !getcwd(real, sizeof(real))) {
		if (errno == ENOENT)
			return fail(err, -ENOENT, "the current directory was removed; start in another, or use --cwd");
		if (errno == ERANGE)
			return fail(err, -ENAMETOOLONG, "the path of the current directory is too long (%d bytes at most); start in another, or use --cwd",
				    PATH_MAX - 1);
		return fail_errno(err, "cannot tell the current directory");
	}
	/* getcwd() marks a directory outside the root this way */
	if (!asked && real[0] != '/')
		return fail(err, -ENOENT, "the current directory is not reachable from /");
	if (asked && !realpath(asked, real))
		return fail_errno(err, "--cwd '%s'", asked);
	named = named_start(asked, real);
	link = symlink_guard_start(named);
	if (link)
		return fail(err, -ELOOP, "'%s' goes through the symbolic link '%s', which a command could have made; start in '%s' if you mean that",
			    named, link, real);
	if (stat(real, &st) == 0 && !S_ISDIR(st.st_mode))
		return fail(err, -ENOTDIR, "'%s' is not a directory", real);
	if (access(real, X_OK) < 0)
		return fail_errno(err, "cannot enter '%s'", real);
	*ret = mem_strdup(real);
	return 0;
}

static struct origin option_origin(struct policy *policy, const char *name)
{
	return origin_make(policy_add_source(policy, SCOPE_FLAG, name, NULL, 0,
					     "/"), NULL, NULL);
}

static int set_modes(const struct options *options, struct policy *policy,
		     struct err *err)
{
	const char *profile = options_get(options, OPTION_PROFILE);
	const char *net = options_get(options, OPTION_NET);
	enum profile p;
	enum net_mode n;

	if (profile && profile_parse(profile, &p) < 0)
		return fail(err, -EINVAL, "--profile: '%s' is not one of default, home, srt",
			    profile);
	if (profile)
		policy_set_profile(policy, p,
				   option_origin(policy, "--profile"));
	if (net && net_mode_parse(net, &n) < 0)
		return fail(err, -EINVAL, "--net: '%s' is not one of filtered, none, jail, host, jail,filtered",
			    net);
	if (net)
		policy_set_net(policy, n, option_origin(policy, "--net"));
	return 0;
}

static int add_path(struct policy *policy, enum path_list list,
		    const char *value, struct origin origin, struct err *err)
{
	const size_t before = policy->paths[list].len;
	const char *doubt = path_list_denies(list) ?
			    path_rule_doubt(value, false) : NULL;
	int r;

	if (doubt)
		return fail(err, -EINVAL, "'%s': %s", value, doubt);
	r = policy_add_path(policy, list, value, RULE_USER, origin, err);

	/* A path on the command line should exist */
	if (r == 0 && policy->paths[list].len > before &&
	    (list == PATH_ALLOW_WRITE || list == PATH_ALLOW_READ))
		policy->paths[list].v[before].must_exist = true;
	return r;
}

static int apply_option(const struct option_value *v, struct policy *policy,
		 struct err *err)
{
	const struct option_row *row = option_row(v->id);
	const int index = row->index;
	auto_free char *name = mem_printf("--%s", row->name);
	const struct source *source;
	struct origin origin;
	auto_free char *path = NULL;
	uint64_t n = 0;

	if (row->kind == KIND_RUN)
		return 0;
	source = policy_add_source(policy, SCOPE_FLAG, name, NULL, 0,
				   policy->cwd);
	origin = origin_make(source, NULL, NULL);
	switch (row->kind) {
	case KIND_PATH:
		return add_path(policy, (enum path_list)index, v->value,
				origin, err);
	case KIND_HOST:
		return policy_add_host(policy, (enum string_list)index,
				       v->value, NULL, origin, err);
	case KIND_SOCKET:
		path = path_resolve(policy->cwd, v->value);
		return policy_add_string(policy, (enum string_list)index, path,
					 origin, err);
	case KIND_LIST:
	case KIND_PORT:
	case KIND_ENV:
		return policy_add_string(policy, (enum string_list)index,
					 v->value, origin, err);
	case KIND_FLAG:
		policy_set_flag(policy, (enum policy_flag)index, true, origin);
		return 0;
	default:
		(void)option_number(row->kind, v->value, &n);
		policy_set_number(policy, (enum policy_number)index, n,
				  origin);
		return 0;
	}
}

/* Add all options that concern the policy to it, as scope "flag" */
static int add_options(const struct options *options, struct policy *policy,
		       struct err *err)
{
	for (size_t i = 0; i < options->len; i++) {
		const int r = apply_option(&options->v[i], policy, err);

		if (r < 0)
			return fail_in(err, r, "--%s",
				       option_row(options->v[i].id)->name);
	}
	return 0;
}

static int apply_options(void *arg, struct policy *policy, struct err *err)
{
	const struct options *options = arg;
	const int r = set_modes(options, policy, err);

	event_stream_protect(policy, options_get(options, OPTION_EVENTS));
	immutable_files_add(policy);
	if (options_has(options, OPTION_READ_ONLY))
		policy_add_literal(policy, PATH_DENY_WRITE, policy->project, RULE_USER,
				   option_origin(policy, "--read-only"));
	if (options_has(options, OPTION_SHARE_TMP))
		tmpdir_share(policy, option_origin(policy, "--share-tmp"));
	for (size_t i = 0; i < options->granted.len; i++)
		policy_add_literal(policy, PATH_ALLOW_WRITE, options->granted.v[i],
				   RULE_USER, option_origin(policy, "--ask"));
	return r < 0 ? r : add_options(options, policy, err);
}

/* A user's settings file that appeared in a writable root of a run that goes on may
 * be the command's, which won a race against the observer. That run decides about it
 * when it ends; until then only what cloche itself wrote counts.
 */
static int check_user_files(const struct policy *policy, struct err *err)
{
	auto_free char *state = violation_store_default_dir();

	for (size_t i = 0; state && i < policy->sources.len; i++) {
		const struct source *source = policy->sources.v[i];
		auto_free char *real = source->scope == SCOPE_USER && source->text ?
			realpath(source->name, NULL) : NULL;

		if (real && journal_may_have_made(state, real) &&
		    !settings_receipt_holds(state, real, source->text, source->len) &&
		    !settings_receipt_holds(state, source->name, source->text,
					    source->len))
			return fail(err, -EPERM, "'%s' appeared during a run that goes on and may write there; end that run, or use --no-settings",
				    source->name);
	}
	return 0;
}

int decision_policy_report(const struct options *options, bool check,
			  struct policy **ret, struct settings_report *report,
			  struct err *err)
{
	auto_free char *cwd = NULL;
	auto_request struct settings_request request = { 0 };
	auto_json json_t *approvals = NULL;
	int r = start_directory(options, &cwd, err);

	if (r < 0)
		return r;
	settings_request_init(&request, cwd);
	request.flag = options_get(options, OPTION_SETTINGS);
	request.no_settings = options_has(options, OPTION_NO_SETTINGS);
	request.as_srt = options->as_srt;
	request.check = check;
	request.options = apply_options;
	/* The callback only reads them */
	request.options_arg = (void *)(uintptr_t)options;
	approvals = approvals_read();
	request.approves = approvals_allow;
	request.approves_arg = approvals;
	r = settings_load(&request, ret, report, err);
	if (r == 0 && (r = secret_bindings_expand(*ret, err)) < 0) {
		policy_unref(*ret);
		*ret = NULL;
	}
	return r;
}

int decision_policy(const struct options *options, struct policy **ret,
		   struct err *err)
{
	int r = decision_policy_report(options, false, ret, NULL, err);

	if (r == 0 && (r = check_user_files(*ret, err)) < 0) {
		policy_unref(*ret);
		*ret = NULL;
	}
	return r;
}

/* "http://..." or without a scheme: other kinds of proxies are not ours to use,
 * and the user did not set them for us
 */
static bool is_http_proxy(const char *url)
{
	return *url && (!strstr(url, "://") || !strncasecmp(url, "http://", 7));
}

/* Where the settings say nothing, the gate takes the way that the user's other
 * programs take
 */
static int use_own_proxies(struct policy *policy, struct err *err)
{
	static const struct {
		enum policy_text text;
		const char *names[2];
		bool is_url;
	} rows[] = {
		{ TEXT_PARENT_HTTP, { "http_proxy", "HTTP_PROXY" }, true },
		{ TEXT_PARENT_HTTPS, { "https_proxy", "HTTPS_PROXY" }, true },
		{ TEXT_PARENT_NO_PROXY, { "no_proxy", "NO_PROXY" }, false },
	};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		const char *name = rows[i / 2].names[i % 2];
		const char *value = getenv(name), *user;
		struct host host;
		size_t n;
		int r = 0;

		if (!value || (rows[i / 2].is_url && !is_http_proxy(value)))
			continue;
		if (rows[i / 2].is_url)
			r = proxy_parse(value, &host, &user, &n, err);
		if (r < 0)
			return fail_in(err, r, "$%s", name);
		policy_set_text(policy, rows[i / 2].text, value,
				option_origin(policy, name));
	}
	/* Programs in there connect by themselves, and are taken to a gate. This one
	 * asks that gate by name: addresses of names are made up there.
	 */
	if (tier_is_nested())
		policy_force_text(policy, TEXT_PARENT_NO_PROXY, "",
				  option_origin(policy, "the sandbox around it"));
	return 0;
}

int decision_run_policy(const struct options *options, struct policy **ret,
		       struct settings_report *report, struct err *err)
{
	int r = decision_policy_report(options, false, ret, report, err);

	if (r == 0 && net_is_filtered((*ret)->net))
		r = use_own_proxies(*ret, err);
	if (r < 0) {
		policy_unref(*ret);
		*ret = NULL;
	}
	return r;
}

/* What is observed, and the form of the footer */
static int set_observe(const struct options *options,
		       struct plan_request *request, struct err *err)
{
	const char *what = options_get(options, OPTION_OBSERVE);
	const char *form = options_get(options, OPTION_ANNOTATE);
	enum footer_mode mode;

	request->observe = !what || strcmp(what, "off") != 0;
	request->observe_full = what && !strcmp(what, "full");
	if (form && footer_parse(form, &mode) < 0)
		return fail(err, -EINVAL, "--annotate: '%s' is not one of auto, text, tags, never, each",
			    form);
	if (what && strcmp(what, "on") != 0 && strcmp(what, "off") != 0 &&
	    strcmp(what, "full") != 0)
		return fail(err, -EINVAL, "--observe: '%s' is not one of on, off, full",
			    what);
	return 0;
}

/* Inside a sandbox of ours /tmp is private already, and no other could be made
 */
static void use_outer_tmp(struct view *view)
{
	view->private_tmp = false;
	view_add(view, PATH_ALLOW_WRITE, "/tmp",
		 view_own_rule(view, "/tmp", "/tmp",
			       "the outer sandbox's own /tmp"), false);
	view_sort(view);
}

/* In the landlock tier $TMPDIR stands for /tmp */
static void close_tmp(struct view *view, const char *tmpdir)
{
	if (tier_is_nested() && view->private_tmp)
		use_outer_tmp(view);
	landlock_grants_close_tmp(view, tmpdir);
}

static void set_tmpdir(struct decision *s, struct plan_request *request)
{
	const bool landlock = request->tier == TIER_LANDLOCK;
	const char *around = doctor_around();
	const bool nested = tier_is_nested();

	/* Ours says so with the tier it falls back to */
	if (around && !nested)
		view_note(s->view, mem_printf("running inside %s; its restrictions still apply",
					      around));

	if (!nested && s->view->private_tmp)
		s->tmpdir = request->ephemeral ? ephemeral_tmp(s->policy) :
			    tmpdir_path(s->policy, landlock);
	if (!landlock)
		return;
	if (s->tmpdir) {	/* ~/.local may be a link; rules are for real paths */
		auto_free char *path = take_ptr(s->tmpdir);

		s->tmpdir = realpath_find(path);
	}
	request->tmpdir = s->tmpdir;
	close_tmp(s->view, s->tmpdir);
}

/* In the landlock tier the proxies are on the host's loopback, and the
 * observer takes the command there, or that of a sandbox around this one
 */
static int set_proxies(struct decision *s, struct plan_request *request,
		       struct network_proxies *ports, struct err *err)
{
	if (request->tier != TIER_LANDLOCK || !net_is_filtered(s->policy->net))
		return 0;
	if (!request->observe && !tier_is_nested()) {
		view_note(s->view, mem_strdup("tier landlock has no network with --observe off: the allowed hosts cannot be reached"));
		return 0;
	}
	s->proxies = mem_zalloc(sizeof(*s->proxies));
	request->proxies = ports;
	return landlock_proxies_open(s->proxies, ports, err);
}

/* Ports of the host's loopback are near, and a jail leads only far away */
static int check_ports(const struct policy *policy, struct err *err)
{
	if (net_is_jail(policy->net) && policy->lists[LIST_HOST_PORTS].len)
		return fail(err, -EINVAL, "--host-port does not lead out of a jail; leave it out, or use --net filtered");
	if (policy->net == NET_JAIL && policy->lists[LIST_PUBLISH].len)
		return fail(err, -EINVAL, "--publish needs the domain filter; use --net jail,filtered");
	return 0;
}

/* Options that others make idle. In settings the same words may wait for a run
 * of another kind.
 */
static void note_idle(struct decision *s, const struct options *options)
{
	const enum net_mode net = s->policy->net;
	const struct {
		enum option_id id;
		bool counts;
		const char *when;
	} rows[] = {
		{ OPTION_ALLOW, net != NET_NONE, "with --net none" },
		{ OPTION_HOST_PORT, net != NET_NONE, "with --net none" },
		{ OPTION_PUBLISH, net != NET_NONE, "with --net none" },
		{ OPTION_ALLOW_IP, net_is_jail(net), "without --net jail" },
		{ OPTION_NO_FORGE, s->policy->profile == PROFILE_HOME,
		  "without --profile home" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (options_has(options, rows[i].id) && !rows[i].counts)
			view_note(s->view, mem_printf("--%s has no effect %s",
						      option_row(rows[i].id)->name,
						      rows[i].when));
	}
}

/* --env NAME where the caller has no such variable, or a name that no shell reads */
static void note_variables(struct decision *s, const struct options *options)
{
	static const char letters[] = "0123456789_"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	for (size_t i = 0; i < options->len; i++) {
		const char *text = options->v[i].value;
		const int n = options->v[i].id == OPTION_ENV ?
			      (int)strcspn(text, "=") : 0;
		auto_free char *name = n ? mem_strndup(text, (size_t)n) : NULL;

		if (n && !text[n] && !getenv(name))
			view_note(s->view, mem_printf("--env %s: there is no such variable here",
						      name));
		if (n && ((*name >= '0' && *name <= '9') ||
			  name[strspn(name, letters)]))
			view_note(s->view, mem_printf("--env %s: not a name that a shell accepts for a variable",
						      name));
	}
}

/* True if bound secrets can be put into requests of the command */
static bool can_put_in(const struct policy *policy, enum tier tier)
{
	return net_is_filtered(policy->net) && tier == TIER_FULL;
}

/* What waits for the user's approval, and requests that have no effect */
static void note_policy(struct decision *s, const struct plan_request *request)
{
	const struct list_rules *asked = &s->policy->lists[LIST_ENV_SET];
	char *text = approvals_note(s->report);

	if (!request->observe && policy_flag(s->policy, FLAG_LOCAL_BINDING, false))
		view_note(s->view, mem_strdup("allowLocalBinding needs the observer: name ports with --publish"));
	if (text)
		view_note(s->view, text);
	if (s->policy->lists[LIST_SECRETS].len &&
	    !can_put_in(s->policy, request->tier))
		view_note(s->view, mem_strdup("bound secrets stay outside, and requests go out without them: that needs the full tier and --net filtered"));
	for (size_t i = 0; i < asked->len; i++) {
		const char *name = asked->v[i].text;

		if (policy_has_string(s->policy, LIST_ENV_DENY, name))
			view_note(s->view, mem_printf("'%s' is not passed: %s", name,
						      secret_is_bound(s->policy, name) ?
						      "it is a bound secret" :
						      "credentials.envVars denies it"));
	}
}

static const char *program_path;

void decision_set_program(const char *path)
{
	program_path = path;
}

/* Our own program as the command will find it, if it does */
static char *find_program(const struct decision *s)
{
	char real[PATH_MAX];

	if (!program_path || !net_is_filtered(s->policy->net) ||
	    !realpath(program_path, real) || access(real, X_OK) < 0 ||
	    (s->view->private_tmp && path_is_below("/tmp", real)) ||
	    !view_verdict(s->view, VIEW_READ, real).allowed)
		return NULL;
	return mem_strdup(real);
}

/* In profile home the command's own program is there */
static void show_command(struct view *view, char *const *argv,
			 char *const *env)
{
	const char *path = env_lookup(env, "PATH");
	auto_free char *ordered = NULL;

	if (view->policy->profile != PROFILE_HOME || !argv || !argv[0])
		return;
	ordered = env_path(view->policy, path ? path : "");
	profile_home_show_command(view, argv[0], ordered);
}

static void furnish_home(struct decision *s, struct plan_request *request)
{
	if (s->policy->profile == PROFILE_HOME) {
		s->git_config = profile_home_gitconfig(s->policy);
		profile_home_show_link(s->view);
	}
	request->git_config = s->git_config;
	show_command(s->view, request->argv, request->environ);
}

/* An unusable drop-in of the administrator's, an unknown key and a proxy that srt
 * would use stop nothing, but are reported
 */
static void note_settings(struct view *view,
			  const struct settings_report *report, bool as_srt)
{
	for (size_t i = 0; i < report->notes.len; i++) {
		const struct settings_note *note = &report->notes.v[i];

		if (note->level == NOTE_ERROR)
			view_note(view, mem_printf("%s; the rest is enforced",
						   note->text));
		else if ((note->level == NOTE_UNKNOWN && !as_srt) ||
			 strstr(note->text, "network.mitmProxy.socketPath: "))
			view_note(view, mem_strdup(note->text));
	}
}

/* What is known of the project is kept between runs in the state directory, which no
 * command can see
 */
static char *walk_directory(const struct policy *policy)
{
	const char *state = policy->dirs[DIR_STATE];

	return state ? path_join(state, "cloche/walk") : NULL;
}

static struct walk_cache *open_walk(const struct policy *policy)
{
	auto_free char *dir = walk_directory(policy);
	auto_free char *name = path_id(policy->project);
	auto_free char *file = dir ? path_join(dir, name) : NULL;
	auto_buf struct buf text = { 0 };

	if (!file)
		return NULL;
	(void)fs_read(AT_FDCWD, file, WALK_CACHE_MAX, &text, NULL);
	return walk_cache_new(text.p, text.len);
}

/* The variables that a run would set, for `explain` */
static int name_placeholders(struct policy *policy, struct err *err)
{
	const struct list_rules *list = &policy->lists[LIST_SECRETS];
	int r = 0;

	for (size_t i = 0; !r && i < list->len; i++) {
		const char *text = list->v[i].text;
		auto_free char *entry = mem_printf("%.*s=", (int)strcspn(text, "@"), text);

		r = policy_add_string(policy, LIST_ENV_SET, entry,
				      list->v[i].origin, err);
	}
	return r;
}

/* `explain` reads no secret: it shows where one would be */
static int start_secrets(struct decision *s, const struct plan_request *request,
			 struct err *err)
{
	int r;

	if (!run_secrets_wanted(s->policy))
		return 0;
	/* Every command of a session could use them */
	if (options_has(s->options, OPTION_SESSION) &&
	    !s->policy->lists[LIST_SECRETS].len)
		return 0;
	/* What settings bind stays outside where it cannot be put in */
	if (!can_put_in(s->policy, request->tier))
		return !options_has(s->options, OPTION_SECRET) ? 0 :
			fail(err, -EINVAL, "--secret needs the full tier and --net filtered");
	if (s->options->reads_no_secrets)
		return name_placeholders(s->policy, err);
	r = run_secrets_start(s->policy, &s->secrets, err);
	return r < 0 ? fail_in(err, r, "--secret") : 0;
}

/* cloche-tls makes its certificates while the view is built; the plan needs them */
static int collect_secrets(struct decision *s, struct plan_request *request,
			   struct err *err)
{
	int r;

	if (!s->secrets)
		return 0;
	r = run_secrets_collect(s->secrets, s->policy, s->options, err);
	if (r < 0)
		return fail_in(err, r, "--secret");
	request->bundle = s->secrets->bundle;
	request->java_store = &s->secrets->java;
	request->shown = s->secrets->shown.v;
	request->n_shown = s->secrets->shown.len;
	for (size_t i = 0; i < s->secrets->notes.len; i++)
		view_note(s->view, mem_strdup(s->secrets->notes.v[i]));
	return 0;
}

static int fill_decision(struct decision *s, char *const *argv, struct err *err)
{
	const struct options *options = s->options;
	const struct machine machine = {
		.landlock_abi = sys_landlock_abi(), .nested = tier_is_nested(),
		.uid = geteuid(), .gid = getegid(),
	};
	struct plan_request request = {
		.argv = argv, .environ = options_env(options),
		.ephemeral = options_has(options, OPTION_EPHEMERAL),
	};
	auto_free char *program = NULL;
	struct network_proxies ports;
	int r;

	if ((r = set_observe(options, &request, err)) < 0 ||
	    (r = decision_run_policy(options, &s->policy, s->report, err)) < 0 ||
	    (r = check_user_files(s->policy, err)) < 0 ||
	    (r = tier_choose(options, s->policy, &machine, &request.tier,
			     err)) < 0 ||
	    (r = check_ports(s->policy, err)) < 0 ||
	    (r = start_secrets(s, &request, err)) < 0 ||
	    (r = profile_home_check(s->policy, err)) < 0)
		return r;
	s->walked = options->joins ? NULL : open_walk(s->policy);
	r = view_build_how(s->policy, &(struct view_how){
		.cache = s->walked, .unwalked = options->joins }, &s->view, err);
	if (r < 0 ||
	    (r = collect_secrets(s, &request, err)) < 0)
		return r;
	note_settings(s->view, s->report, options->as_srt);
	note_idle(s, options);
	note_variables(s, options);
	note_policy(s, &request);
	furnish_home(s, &request);
	set_tmpdir(s, &request);
	request.program = program = find_program(s);
	if ((r = set_proxies(s, &request, &ports, err)) < 0 ||
	    (r = plan_build(s->view, &machine, &request, &s->plan, err)) < 0)
		return r;
	return plan_check_frozen(s->plan, s->plan->observe, err);
}

int decision_make(const struct options *options, char *const *argv,
		 struct decision *ret, struct err *err)
{
	struct decision s = {
		.options = options,
		.report = mem_zalloc(sizeof(*s.report)),
	};
	const int r = fill_decision(&s, argv, err);

	if (r < 0)
		decision_done(&s);
	else
		*ret = s;
	return r;
}

int decision_view(const struct decision *decision, struct policy *policy,
		 struct view **ret, struct err *err)
{
	const int r = view_build(policy, ret, err);

	if (r < 0)
		return r;
	show_command(*ret, decision->plan->argv,
		     options_env(decision->options));
	if (decision->plan->tier == TIER_LANDLOCK)
		close_tmp(*ret, decision->tmpdir);
	symlink_guard_deny(*ret);
	return 0;
}

void decision_done(struct decision *decision)
{
	plan_free(decision->plan);
	view_free(decision->view);
	walk_cache_free(decision->walked);
	policy_unref(decision->policy);
	free(decision->tmpdir);
	if (decision->proxies)
		listener_done(decision->proxies);
	free(decision->proxies);
	free(decision->git_config);
	run_secrets_end(decision->secrets);
	if (decision->report)
		settings_report_done(decision->report);
	free(decision->report);
	*decision = (struct decision){ 0 };
}

/* Not durable: a file that is not whole is not used */
static void replace_walk(int dir, const char *name, const struct buf *text)
{
	auto_free char *new = mem_printf("%s.%d", name, (int)getpid());
	auto_close int fd = openat(dir, new, O_WRONLY | O_CREAT | O_EXCL |
				   O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0 && (fs_write_all(fd, text->p, text->len) < 0 ||
			renameat(dir, new, dir, name) < 0))
		(void)unlinkat(dir, new, 0);
}

void decision_keep_walk(const struct decision *d)
{
	auto_free char *path = walk_directory(d->policy);
	auto_free char *name = path_id(d->policy->project);
	auto_buf struct buf text = { 0 };
	auto_close int dir = -1;

	if (!d->walked || !path || !walk_cache_text(d->walked, &text))
		return;
	dir = fs_open_private_dir(path, NULL);
	if (dir >= 0)
		replace_walk(dir, name, &text);
}
