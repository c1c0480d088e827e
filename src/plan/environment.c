/* SPDX-License-Identifier: Apache-2.0 */
/* plan/environment.c - the command's environment, from the caller's and the policy */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/network.h"
#include "plan/plan.h"
#include "policy/env-rules.h"
#include "view/realpath.h"
#include "view/view.h"

enum {
	TRUSTED_MAX = 8,		/* More directories become all of them */
	TRUSTED_COUNT_MAX = 10000,	/* Entries that the caller may have */
};

/* A growing list of "NAME=VALUE" */
struct env {
	char **v;
	size_t len, cap;
};

/* Later values replace earlier ones */
static void put(struct env *env, const char *name, size_t n, const char *value)
{
	const size_t m = strlen(value) + 1;
	char *entry = mem_alloc(n + 1 + m);

	memcpy(entry, name, n);
	entry[n] = '=';
	memcpy(entry + n + 1, value, m);
	for (size_t i = 0; i < env->len; i++) {
		if (env->v[i][0] == entry[0] && !strncmp(env->v[i], entry, n + 1)) {
			free(env->v[i]);
			env->v[i] = entry;
			return;
		}
	}
	*vec_push(env) = entry;
}

static void put_name(struct env *env, const char *name, const char *value)
{
	put(env, name, strlen(name), value);
}

static const char *find_with(char *const *v, size_t len, const char *name,
			     int (*compare)(const char *, const char *, size_t))
{
	const size_t n = strlen(name);

	for (size_t i = 0; i < len && v[i]; i++) {
		/* Letters of two cases differ in this bit */
		if (!((v[i][0] ^ name[0]) & ~0x20) &&
		    !compare(v[i], name, n) && v[i][n] == '=')
			return v[i] + n + 1;
	}
	return NULL;
}

/* The value that the command will have, or NULL */
static const char *find(const struct env *env, const char *name)
{
	return find_with(env->v, env->len, name, strncmp);
}

static void put_variable(void *arg, const char *name, const char *value)
{
	put_name(arg, name, value);
}

const char *env_lookup(char *const *caller, const char *name)
{
	return find_with(caller, SIZE_MAX, name, strncmp);
}

static void pass_allowed(struct env *env, const struct policy *policy,
			 char *const *caller)
{
	for (; *caller; caller++) {
		const size_t n = strcspn(*caller, "=");

		if ((*caller)[n] && n &&
		    env_decide(policy, *caller, n).pass)
			put(env, *caller, n, *caller + n + 1);
	}
}

/* --env NAME=VALUE sets, --env NAME passes the caller's. A variable that a rule denies
 * stays outside all the same.
 */
static void put_asked(struct env *env, const struct policy *policy,
		      char *const *caller)
{
	const struct list_rules *asked = &policy->lists[LIST_ENV_SET];

	for (size_t i = 0; i < asked->len; i++) {
		const char *text = asked->v[i].text;
		const char *equals = strchr(text, '=');
		const bool denied = !equals && policy_has_string(policy,
							LIST_ENV_DENY, text);
		const char *value = equals ? equals + 1 : env_lookup(caller, text);

		if (value && !denied)
			put(env, text, strcspn(text, "="), value);
	}
}

/* An agent whose socket is allowed is no secret any more */
static void put_agent(struct env *env, const struct policy *policy,
		      char *const *caller)
{
	const struct list_rules *sockets = &policy->lists[LIST_UNIX_SOCKETS];
	const char *agent = env_lookup(caller, "SSH_AUTH_SOCK");

	for (size_t i = 0; agent && i < sockets->len; i++) {
		if (!strcmp(sockets->v[i].text, agent))
			put_name(env, "SSH_AUTH_SOCK", agent);
	}
}

/* A directory in which a command may have planted a program: in the home, and not in
 * the project, which is the command's own
 */
static bool is_behind(const struct policy *policy, const char *dir)
{
	return path_is_within(policy->home, dir) &&
	       !path_is_within(policy->project, dir);
}

static void add_word(struct buf *out, const char *word)
{
	buf_addf(out, "%s%s", out->len ? ":" : "", word);
}

char *env_path(const struct policy *policy, const char *path)
{
	auto_free char *bin = path_join(policy->home, ".local/bin");
	auto_free char *words = mem_strdup(path);
	auto_buf struct buf front = { 0 }, behind = { 0 };
	char *save = NULL;

	for (char *word = strtok_r(words, ":", &save); word;
	     word = strtok_r(NULL, ":", &save)) {
		auto_free char *named = path_resolve(policy->cwd, word);
		auto_free char *dir = realpath_find(named);

		if (!strcmp(dir, bin))
			continue;
		add_word(is_behind(policy, dir) ? &behind : &front, word);
	}
	if (behind.len)
		add_word(&front, buf_str(&behind));
	add_word(&front, bin);
	return buf_take(&front);
}

/* Profile home: nothing in the home shadows a program of the system, and git
 * reads what was made for it
 */
static void put_home(struct env *env, const struct policy *policy,
		     char *const *caller)
{
	const char *path = env_lookup(caller, "PATH");
	auto_free char *ordered = env_path(policy, path && *path ? path :
		"/usr/local/bin:/usr/bin:/bin");
	auto_free char *config = path_join(policy->home, ".gitconfig");

	put_name(env, "HOME", policy->home);
	put_name(env, "PATH", ordered);
	put_name(env, "GIT_CONFIG_SYSTEM", "/dev/null");
	put_name(env, "GIT_CONFIG_GLOBAL", config);
}

/* git's ssh asks our gate by name, and tells its user why not. A command of
 * the caller's own that may pass goes before ours.
 */
static void put_ssh(struct env *env, const char *program)
{
	static const char name[] = "GIT_SSH_COMMAND";
	auto_buf struct buf command = { 0 };

	if (find(env, name))
		return;
	if (program && network_ssh(program, &command))
		put_name(env, name, buf_str(&command));
}

static void put_git(struct env *env, unsigned int *count, const char *key,
		    const char *value)
{
	auto_free char *k = mem_printf("GIT_CONFIG_KEY_%u", *count);
	auto_free char *v = mem_printf("GIT_CONFIG_VALUE_%u", (*count)++);

	put_name(env, k, key);
	put_name(env, v, value);
}

/* Repositories that git shall trust, and those below them, behind what the
 * caller has there already; a count of 0 is the caller's wish for none
 */
static void put_trusted(struct env *env, const struct policy *policy)
{
	static const char key[] = "safe.directory", total[] = "GIT_CONFIG_COUNT";
	const struct list_rules *dirs = &policy->lists[LIST_GIT_SAFE];
	const char *had = find(env, total);
	unsigned int count = had ? (unsigned int)strtoul(had, NULL, 10) : 0;
	auto_free char *sum = NULL;

	if (!dirs->len || policy->profile == PROFILE_HOME ||
	    (had && !strcmp(had, "0")) || count > TRUSTED_COUNT_MAX)
		return;
	for (size_t i = 0; dirs->len <= TRUSTED_MAX && i < dirs->len; i++) {
		auto_free char *dir = mem_strdup(dirs->v[i].text);
		auto_free char *below = NULL;
		size_t n = strlen(dir);

		while (n > 1 && dir[n - 1] == '/')
			dir[--n] = '\0';
		below = path_join(dir, "*");
		put_git(env, &count, key, dir);
		put_git(env, &count, key, below);
	}
	if (dirs->len > TRUSTED_MAX)
		put_git(env, &count, key, "*");
	sum = mem_printf("%u", count);
	put_name(env, total, sum);
}

/**
 * struct cache - A cache or store that its program wants to write to
 * @variable:	Where the program looks for its place
 * @usual:	Its place in the home otherwise
 * @name:	Ours in $TMPDIR, which is the project's own and is kept
 * @keep:	What the host has there is of use unchanged, and not moved
 */
static const struct cache {
	const char *variable, *usual, *name;
	bool keep;
} caches[] = {
	{ "npm_config_cache",		".npm",				"npm-cache" },
	{ "PNPM_HOME",			".local/share/pnpm",		"pnpm" },
	{ "YARN_CACHE_FOLDER",		".cache/yarn",			"yarn-cache" },
	{ "YARN_GLOBAL_FOLDER",		".yarn/berry",			"yarn-berry" },
	{ "BUN_INSTALL_CACHE_DIR",	".bun/install/cache",		"bun-cache" },
	{ "DENO_DIR",			".cache/deno",			"deno" },
	{ "COREPACK_HOME",		".cache/node/corepack",		"corepack", true },
	{ "PLAYWRIGHT_BROWSERS_PATH",	".cache/ms-playwright",		"ms-playwright", true },
	{ "PUPPETEER_CACHE_DIR",	".cache/puppeteer",		"puppeteer", true },
	{ "CYPRESS_CACHE_FOLDER",	".cache/Cypress",		"cypress", true },
	{ "PIP_CACHE_DIR",		".cache/pip",			"pip-cache" },
	{ "UV_CACHE_DIR",		".cache/uv",			"uv-cache" },
	{ "POETRY_CACHE_DIR",		".cache/pypoetry",		"poetry-cache" },
	{ "PRE_COMMIT_HOME",		".cache/pre-commit",		"pre-commit" },
	{ "GOCACHE",			".cache/go-build",		"go-build" },
	{ "GOMODCACHE",			"go/pkg/mod",			"go-mod" },
	{ "GOLANGCI_LINT_CACHE",	".cache/golangci-lint",		"golangci-lint" },
	{ "CARGO_HOME",			".cargo",			"cargo" },
	{ "SCCACHE_DIR",		".cache/sccache",		"sccache" },
	{ "CCACHE_DIR",			".cache/ccache",		"ccache" },
	{ "ZIG_GLOBAL_CACHE_DIR",	".cache/zig",			"zig" },
	{ "GRADLE_USER_HOME",		".gradle",			"gradle" },
	{ "GEM_SPEC_CACHE",		".local/share/gem/specs",	"gem-specs" },
	{ "COMPOSER_CACHE_DIR",		".cache/composer",		"composer-cache" },
	{ "NUGET_PACKAGES",		".nuget/packages",		"nuget" },
	{ "BUNDLE_USER_CACHE",		".bundle/cache",		"bundle-cache" },
	{ "SCREENDIR",			".screen",			"screen" },
};

/* Maven and Gradle read what the host has, beside a place of their own; Maven's has
 * no variable
 */
static void put_java(struct env *env, const struct view *view,
		     const char *tmpdir)
{
	auto_free char *maven = path_join(view->policy->home, ".m2/repository");
	auto_free char *gradle = path_join(view->policy->home, ".gradle/caches");
	const char *had = find(env, "MAVEN_OPTS");
	auto_free char *options = mem_printf("%s%s-Dmaven.repo.local=%s/m2 -Dmaven.repo.local.tail=%s",
		had ? had : "", had ? " " : "", tmpdir, maven);

	if (!view_verdict(view, VIEW_WRITE, maven).allowed)
		put_name(env, "MAVEN_OPTS", options);
	if (!view_verdict(view, VIEW_WRITE, gradle).allowed &&
	    !find(env, "GRADLE_RO_DEP_CACHE") && access(gradle, F_OK) == 0)
		put_name(env, "GRADLE_RO_DEP_CACHE", gradle);
}

/* Move caches that their programs cannot write to */
static void put_caches(struct env *env, const struct view *view,
		       const char *tmpdir)
{
	const struct policy *policy = view->policy;

	if (policy->profile != PROFILE_DEFAULT || !policy->home || !tmpdir)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(caches); i++) {
		const struct cache *c = &caches[i];
		/* npm takes its own in any letters */
		const char *value = find_with(env->v, env->len, c->variable,
					      strncasecmp);
		auto_free char *usual = value ? path_resolve("/", value) :
						path_join(policy->home, c->usual);
		auto_free char *ours = path_join(tmpdir, c->name);

		if ((value && *value != '/') ||
		    (c->keep && access(usual, F_OK) == 0) ||
		    view_verdict(view, VIEW_WRITE, usual).allowed)
			continue;
		put_name(env, c->variable, ours);
	}
	put_java(env, view, tmpdir);
}

/* $TMPDIR, and the other names of it that the caller has */
static void put_tmpdir(struct env *env, const char *tmpdir)
{
	static const char *const others[] = { "TMP", "TEMP", "TEMPDIR" };

	put_name(env, "TMPDIR", tmpdir);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (find(env, others[i]))
			put_name(env, others[i], tmpdir);
	}
}

/* The start directory as the caller names it, if the command can follow the same
 * links: that is what a shell shows, and passes on
 */
static const char *start_name(const struct view *view, char *const *caller)
{
	const char *cwd = view->policy->cwd;
	const char *name = env_lookup(caller, "PWD");
	auto_free char *real = NULL;

	if (!name || *name != '/' || !strcmp(name, cwd))
		return cwd;
	real = realpath(name, NULL);
	if (!real || strcmp(real, cwd) != 0 || view_is_private(view, name) ||
	    !view_verdict(view, VIEW_READ, name).allowed)
		return cwd;
	return name;
}

/* Without a network, retries only delay the failure */
static void put_no_retries(struct env *env)
{
	static const char *const names[] = {
		"npm_config_fetch_retries", "PIP_RETRIES", "CARGO_NET_RETRY",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!find(env, names[i]))
			put_name(env, names[i], "0");
	}
}

/* For `cloche status` inside; profile srt has srt's variables alone */
static void put_status(struct env *env, const struct policy *policy, enum tier tier,
		       enum net_mode net)
{
	const size_t hosts = policy->lists[HOST_ALLOW].len;
	auto_free char *text = NULL;

	if (policy->profile == PROFILE_SRT)
		return;
	if (net == NET_FILTERED)
		text = mem_printf("%s, %zu host%s", tier_name(tier), hosts,
				  hosts == 1 ? "" : "s");
	else
		text = mem_printf("%s, %s", tier_name(tier), net == NET_NONE ?
				  "no network" : net == NET_HOST ?
				  "the host's network" : "egress jail");
	put_name(env, "CLOCHE_SANDBOX", text);
}

char **env_build(const struct view *view, const struct plan_request *request,
		 const char *tmpdir, enum net_mode net)
{
	const struct policy *policy = view->policy;
	char *const *caller = request->environ;
	struct env env = { 0 };

	pass_allowed(&env, policy, caller);
	if (policy->profile == PROFILE_HOME && policy->home)
		put_home(&env, policy, caller);
	put_name(&env, "PWD", start_name(view, caller));
	put_name(&env, "SANDBOX_RUNTIME", "1");
	put_status(&env, policy, request->tier, net);
	if (tmpdir)
		put_tmpdir(&env, tmpdir);
	put_caches(&env, view, tmpdir);
	if (net == NET_FILTERED) {
		network_env(policy, request->proxies,
			    request->observe && !request->proxies,
			    put_variable, &env);
		put_ssh(&env, request->program);
	}
	if (net == NET_NONE)
		put_no_retries(&env);
	put_trusted(&env, policy);
	put_agent(&env, policy, caller);
	put_asked(&env, policy, caller);
	*vec_push(&env) = NULL;
	return env.v;
}

void env_free(char **env)
{
	for (size_t i = 0; env && env[i]; i++)
		free(env[i]);
	free(env);
}
