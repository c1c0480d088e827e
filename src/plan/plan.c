/* SPDX-License-Identifier: Apache-2.0 */
/* plan/plan.c - everything the launcher will do, as data */

#include "plan/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/redact.h"
#include "view/view.h"

#define RESOLV_CONF "/etc/resolv.conf"

enum {
	RESOLV_MAX = 1 << 16,	/* Bytes of it */
	TRUST_MAX = 1 << 20,	/* Of GnuPG's trustdb.gpg */
};

static char **copy_strings(char *const *strings)
{
	char **copy;
	size_t n = 0;

	while (strings && strings[n])
		n++;
	copy = mem_zalloc((n + 1) * sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = mem_strdup(strings[i]);
	return copy;
}

uint64_t plan_namespaces(enum tier tier, enum net_mode net)
{
	const uint64_t all = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
			     CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

	if (tier != TIER_FULL)
		return 0;
	return net == NET_HOST ? all : all | CLONE_NEWNET;
}

static bool shows_directory(const struct plan *plan, unsigned int mask)
{
	for (size_t i = 0; mask != MASK_EMPTY && i < plan->points.len; i++) {
		if (plan->points.v[i].mask == mask &&
		    plan->points.v[i].is_dir)
			return true;
	}
	return false;
}

/* In our own directories a cloche inside must find nothing rather than an
 * error; profile srt hides as srt does. Programs in a directory that a mask shows
 * look for settings in its parents, and give up at an error.
 */
static void choose_answers(struct plan *plan)
{
	const bool srt = plan->view->policy->profile == PROFILE_SRT;

	for (size_t i = 0; i < plan->mounts.len; i++) {
		struct plan_mount *m = &plan->mounts.v[i];

		m->refuses = !srt && !shows_directory(plan, m->mask) &&
			     !(m->rule && m->rule->strength == RULE_ALWAYS);
	}
}

/* True if a secret is hidden: a FUSE file system is not worth its start-up time for
 * directories of the system alone
 */
static bool hides_secrets(const struct plan *plan)
{
	const char *home = plan->view->home;

	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if ((m->kind != MOUNT_MASK_DIR && m->kind != MOUNT_MASK_FILE) ||
		    !m->rule || m->rule->strength == RULE_ALWAYS)
			continue;
		if (m->rule->strength == RULE_USER ||
		    (home && path_is_below(home, m->path)))
			return true;
	}
	return false;
}

/* True if a file is hidden, or would be, where the command may write: when the host
 * replaces it, neither a mount nor Landlock hides the new one for a moment
 */
static bool hides_in_root(const struct view *view)
{
	const struct view_rule *end = view->rules.v + view->rules.len;

	/* They are sorted: what is below a root comes behind it */
	for (const struct view_rule *root = view->rules.v; root < end; root++) {
		const size_t n = strlen(root->path);

		for (const struct view_rule *r = root + 1;
		     root->list == PATH_ALLOW_WRITE && r < end &&
		     !strncmp(root->path, r->path, n); r++) {
			if (r->list == PATH_DENY_READ && !r->closed &&
			    (S_ISREG(r->mode) ||
			     (!r->mode && r->rule->strength == RULE_USER)) &&
			    path_is_below(root->path, r->path) &&
			    !view_verdict(view, VIEW_READ, r->path).allowed)
				return true;
		}
	}
	return false;
}

static enum tmp_kind tmp_for(const struct plan *plan, const struct view *view)
{
	if (!view->private_tmp)
		return TMP_HOST;
	for (size_t i = 0; i < plan->points.len; i++) {
		if (plan->points.v[i].mask == MASK_TMP)
			return TMP_FRESH;
	}
	return view->policy->home ? TMP_KEPT : TMP_FRESH;
}

/* Only a directory has a layer, and the whole world has none */
static int check_ephemeral(const struct plan *plan, struct err *err)
{
	const struct view *view = plan->view;

	if (!plan->ephemeral)
		return 0;
	if (plan->root_writable)
		return fail(err, -EINVAL, "--ephemeral cannot stage changes to all of /, and %s; name directories instead",
			    policy_flag(view->policy, FLAG_FS_DISABLED, false) ?
			    "filesystem.disabled is set" : "all of it is writable");
	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (r->list == PATH_ALLOW_WRITE && r->mode &&
		    !S_ISDIR(r->mode) &&
		    view_verdict(view, VIEW_WRITE, r->path).allowed)
			return fail(err, -EINVAL, "--ephemeral: '%s' is not a directory, and only changes in directories can be staged; allow its directory instead",
				    r->path);
	}
	return 0;
}

/* A file of the sandbox's own at @path in a mask, with @text, which is taken over: @n bytes,
 * or 0 up to its NUL
 */
static void push_file(struct plan *plan, unsigned int mask, const char *path,
		      char *text, size_t n)
{
	*vec_push(&plan->points) = (struct plan_point){
		.mask = mask, .path = mem_strdup(path), .text = text, .len = n,
		.open = true,
	};
}

/* Show @text, which is taken over, in the place of the file that @m hides */
static void replace_mask(struct plan *plan, struct plan_mount *m, char *text,
			 const char *reason)
{
	m->kind = MOUNT_REDACTED;
	m->mask = plan->masks++;
	m->reason = reason;
	push_file(plan, m->mask, "file", text, 0);
}

/* A file of the private home */
static void add_home_file(struct plan *plan, const char *path, const char *text)
{
	const char *home = plan->view->policy->home;

	for (size_t i = 0; text && i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (m->kind == MOUNT_PRIVATE && !strcmp(m->rule->path, home))
			push_file(plan, m->mask, path, mem_strdup(text), 0);
	}
}

/* GnuPG writes the file of trust when it verifies a signature: the private ~/.gnupg has
 * a copy. One that is too large is left out; the signatures are as good without.
 */
static void add_trust(struct plan *plan)
{
	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];
		auto_free char *path = NULL;
		auto_buf struct buf text = { 0 };
		size_t n;

		if (m->kind != MOUNT_PRIVATE || !plan->view->own_dir ||
		    strcmp(m->path, plan->view->own_dir) != 0)
			continue;
		path = path_join(m->path, "trustdb.gpg");
		if (fs_read(AT_FDCWD, path, TRUST_MAX, &text, NULL) < 0 || !text.len)
			return;
		n = text.len;
		push_file(plan, m->mask, "trustdb.gpg", buf_take(&text), n);
		return;
	}
}

/* A settings file of @rule's without its secrets, in the private home */
static void add_redacted(struct plan *plan, const struct path_rule *rule)
{
	const char *home = plan->view->policy->home;
	auto_buf struct buf text = { 0 }, shown = { 0 };

	if (!rule->keys || !home || !path_is_below(home, rule->path) ||
	    fs_read(AT_FDCWD, rule->path, MARKER_LOOK_MAX, &text, NULL) < 0 ||
	    !redact_settings(rule->keys, buf_str(&text), text.len, &shown))
		return;
	add_home_file(plan, rule->path + strlen(home) + 1, buf_str(&shown));
}

/* The same in the place of the host's, where that is hidden */
static void show_redacted(struct plan *plan, struct plan_mount *m)
{
	auto_buf struct buf text = { 0 }, shown = { 0 };

	if (m->kind == MOUNT_MASK_FILE && m->rule && m->rule->keys &&
	    fs_read(AT_FDCWD, m->path, MARKER_LOOK_MAX, &text, NULL) == 0 &&
	    redact_settings(m->rule->keys, buf_str(&text), text.len, &shown))
		replace_mask(plan, m, buf_take(&shown), "shown without its secrets");
}

/* @text in the place of a file that is hidden: where a mask of its own is, else in the
 * private directory that stands for the host's
 */
static void show_masked(struct plan *plan, const struct shown_file *file)
{
	struct plan_mount *at = NULL, *around = NULL;

	for (size_t i = 0; i < plan->mounts.len; i++) {
		struct plan_mount *m = &plan->mounts.v[i];

		if (!strcmp(m->path, file->path))
			at = m->kind == MOUNT_MASK_FILE ? m : NULL;
		else if (m->kind == MOUNT_PRIVATE &&
			 path_is_below(m->path, file->path))
			around = m;
	}
	if (at)
		replace_mask(plan, at, mem_strdup(file->text),
			     "shown with placeholders for its secrets");
	else if (around)
		push_file(plan, around->mask, file->path + strlen(around->path) + 1,
			  mem_strdup(file->text), 0);
}

/* Settings that name a registry: without them a package manager asks another one */
static void add_all_redacted(struct plan *plan)
{
	const struct policy *policy = plan->view->policy;
	const struct path_rules *hidden = &policy->paths[PATH_DENY_READ];

	for (size_t i = 0; i < plan->mounts.len; i++)
		show_redacted(plan, &plan->mounts.v[i]);
	for (size_t i = 0; policy->profile == PROFILE_HOME && i < hidden->len; i++)
		add_redacted(plan, &hidden->v[i]);
}

static const char *const srt_tmpdirs[] = {
	"CLAUDE_CODE_TMPDIR", "CLAUDE_TMPDIR",
};

/* @text, a resolv.conf, with pasta's addresses for those of its servers */
static char *forwarded(const struct jail *jail, const char *text)
{
	struct buf out = { 0 };

	if (jail->forward4)
		buf_addf(&out, "nameserver " JAIL_FORWARD4 "\n");
	if (jail->forward6)
		buf_addf(&out, "nameserver " JAIL_FORWARD6 "\n");
	for (const char *end; *text; text = end) {
		end = text + strcspn(text, "\n");
		end += *end != '\0';
		if (strncmp(text, "nameserver", strlen("nameserver")) != 0)
			buf_add(&out, text, (size_t)(end - text));
	}
	return buf_take(&out);
}

/* @text, which is taken over, in the place of the file @path, if that exists; @n bytes,
 * or 0 up to its NUL
 */
static void add_made(struct plan *plan, const char *path, char *text, size_t n,
		     const char *reason)
{
	char real[PATH_MAX];
	struct plan_mount *m;
	struct stat st;

	if (!realpath(path, real) || lstat(real, &st) < 0 ||
	    !S_ISREG(st.st_mode)) {
		free(text);
		return;
	}
	m = vec_push(&plan->mounts);
	m->kind = MOUNT_MADE;
	m->path = mem_strdup(real);
	m->dev = st.st_dev;
	m->ino = st.st_ino;
	m->mask = plan->masks++;
	m->reason = reason;
	push_file(plan, m->mask, "file", text, n);
}

static int add_jail(struct plan *plan, struct err *err)
{
	auto_buf struct buf text = { 0 };
	int r;

	if (net_is_jail(plan->view->policy->net))
		(void)fs_read(AT_FDCWD, RESOLV_CONF, RESOLV_MAX, &text, NULL);
	r = jail_plan(plan->view->policy, buf_str(&text), &plan->jail, err);
	if (r == 0 && (plan->jail.forward4 || plan->jail.forward6))
		/* The sandbox asks pasta instead of the host's resolvers. Without
		 * the file names do not resolve, as on the host.
		 */
		add_made(plan, RESOLV_CONF,
			 forwarded(&plan->jail, buf_str(&text)), 0,
			 "pasta asks the host's resolvers");
	return r;
}

static const char *tmpdir_for(const struct plan_request *request,
			      const struct policy *policy)
{
	if (request->tmpdir)
		return request->tmpdir;
	if (policy->profile != PROFILE_SRT)
		return "/tmp";
	/* As srt has it: where it changes no files, it changes no $TMPDIR */
	if (policy_flag(policy, FLAG_FS_DISABLED, false))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(srt_tmpdirs); i++) {
		const char *tmp = env_lookup(request->environ,
					      srt_tmpdirs[i]);

		if (!tmp)	/* run/tmpdir.c may have found another */
			tmp = getenv(srt_tmpdirs[i]);
		if (tmp && *tmp)
			return tmp;
	}
	return "/tmp/claude";
}

/* True if a rule shows what @secret hides, for the start directory */
static bool is_opened(const struct view *view, const struct view_rule *secret)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if ((r->list == PATH_ALLOW_READ ||
		     r->list == PATH_ALLOW_WRITE) &&
		    r->rule->strength != RULE_BASELINE &&
		    path_is_within(secret->path, r->path) &&
		    path_is_within(r->path, view->policy->cwd))
			return true;
	}
	return false;
}

/* "/home" is hidden for the homes of others, and this is the user's own */
static bool is_around_home(const struct view *view, const struct view_rule *r)
{
	return view->home && path_is_within(r->path, view->home) &&
	       path_is_within(view->home, view->policy->cwd);
}

/* The row of our tables that makes the start directory a secret, or NULL. To
 * be in ~/.ssh is not to say that a command may read and change it.
 */
static const struct view_rule *secret_start(const struct view *view)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (r->list == PATH_DENY_READ &&
		    r->rule->strength == RULE_BASELINE &&
		    r->rule->place == PLACE_HOST &&
		    path_is_within(r->path, view->policy->cwd) &&
		    !is_around_home(view, r) && !is_opened(view, r))
			return r;
	}
	return NULL;
}

/* True if something below the start directory, which a rule of the user's hides, is
 * shown again: the command starts in what is left of it, as srt has it
 */
static bool is_shown_in(const struct view *view, const struct verdict *hidden)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (hidden->rule && hidden->rule->strength == RULE_USER &&
		    r->rule->strength == RULE_USER &&
		    (r->list == PATH_ALLOW_READ || r->list == PATH_ALLOW_WRITE) &&
		    r->mode && path_is_below(view->policy->cwd, r->path) &&
		    view_verdict(view, VIEW_READ, r->path).allowed)
			return true;
	}
	return false;
}

static int check_start(const struct view *view, struct err *err)
{
	const char *cwd = view->policy->cwd;
	const struct verdict v = view_verdict(view, VIEW_READ, cwd);
	const struct view_rule *secret;
	auto_buf struct buf by = { 0 };

	if (!v.allowed && v.rule)
		origin_describe(&v.rule->origin, &by);
	if (!v.allowed && is_shown_in(view, &v))
		return 0;
	if (!v.allowed)
		return fail(err, -EACCES, "the start directory '%s' is hidden by '%s' (%s); start elsewhere, deny less, or give it back with --read",
			    cwd, v.rule ? v.rule->text : "/", buf_str(&by));
	secret = secret_start(view);
	if (!secret)
		return 0;
	return fail(err, -EACCES, "the start directory '%s' is hidden (%s); start elsewhere, or allow it with --read '%s'",
		    cwd, secret->rule->origin.reason, cwd);
}

/* What neither tier has to think about */
static void fill(struct plan *plan, const struct view *view,
		 const struct machine *machine,
		 const struct plan_request *request)
{
	const struct policy *policy = view->policy;

	plan->view = view;
	plan->machine = *machine;
	plan->root_writable = view_verdict(view, VIEW_WRITE, "/").allowed;
	plan->net = policy->net == NET_JAIL_FILTERED ? NET_FILTERED
						     : policy->net;
	plan->tier = request->tier;
	plan->weak_proc = policy_flag(policy, FLAG_WEAKER_NESTED, false) ||
			  policy->profile == PROFILE_HOME;
	plan->namespaces = plan_namespaces(plan->tier, plan->net);
	plan->unix_sockets = policy_flag(policy, FLAG_ALL_UNIX_SOCKETS, false);
	/* srt has none at all, unless some are named */
	plan->sockets_by_path = !plan->unix_sockets &&
				(policy->profile != PROFILE_SRT ||
				 policy->lists[LIST_UNIX_SOCKETS].len > 0);
	plan->nested_userns = policy_flag(policy, FLAG_NESTED_USERNS, false);
	plan->observe = request->observe;
	plan->observe_full = request->observe_full;
	plan->cwd = mem_strdup(policy->cwd);
	plan->argv = copy_strings(request->argv);
}

static int fill_full(struct plan *plan, const struct view *view,
		     const struct plan_request *request, struct err *err)
{
	int r;

	plan->ephemeral = request->ephemeral;
	r = check_ephemeral(plan, err);
	if (r < 0)
		return r;
	mounts_plan(plan, view);
	choose_answers(plan);
	/* Where GIT_CONFIG_GLOBAL leads */
	add_home_file(plan, ".gitconfig", request->git_config);
	for (size_t i = 0; i < request->n_shown; i++)
		show_masked(plan, &request->shown[i]);
	add_all_redacted(plan);
	add_trust(plan);
	if (request->bundle)
		add_made(plan, "/etc/ssl/certs/ca-certificates.crt",
			 mem_strdup(request->bundle), 0,
			 "the system's certificates, and the one of this run");
	if (request->java_store && request->java_store->len)
		add_made(plan, "/etc/ssl/certs/java/cacerts",
			 memcpy(mem_alloc(request->java_store->len),
				request->java_store->p,
				request->java_store->len),
			 request->java_store->len,
			 "Java's certificates, and the one of this run");
	r = add_jail(plan, err);
	if (r < 0)
		return r;
	plan->tmp = tmp_for(plan, view);
	plan->observe_late = view_has_unmade(view);
	plan->observe_files = request->observe && !request->observe_full &&
			      hides_in_root(view);
	plan->talk = request->observe && !request->observe_full &&
		     hides_secrets(plan);
	return 0;
}

/* What the next run would obey, has no mount as it does not exist, and could be made
 * if no observer refused it
 */
static const char *find_unfrozen(const struct view *view)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];
		auto_free char *dir = r->list == PATH_DENY_WRITE && !r->mode &&
			r->rule->obeyed ? path_parent(r->path) : NULL;

		if (dir && view_place(view, dir) == VIEW_HOST &&
		    view_verdict(view, VIEW_WRITE, dir).allowed)
			return r->path;
	}
	return NULL;
}

int plan_check_frozen(const struct plan *plan, bool observed, struct err *err)
{
	if (!plan->unfrozen || observed)
		return 0;
	return fail(err, -EPERM, "the next run would obey '%s', and only the observer can keep the command from making it; create it, or %s",
		    plan->unfrozen,
		    plan->observe ? "do not make its directory writable"
				  : "leave out --observe off");
}

int plan_build(const struct view *view, const struct machine *machine,
	       const struct plan_request *request, struct plan **ret,
	       struct err *err)
{
	auto_plan struct plan *plan = mem_zalloc(sizeof(*plan));
	int r = check_start(view, err);

	if (r < 0)
		return r;
	fill(plan, view, machine, request);
	if (plan->tier == TIER_LANDLOCK) {
		plan->tmp = request->tmpdir ? TMP_KEPT : TMP_HOST;
		plan->observe_late = true;
		r = landlock_grants_plan(plan, view, err);
	} else {
		r = fill_full(plan, view, request, err);
	}
	if (r == 0 && !plan->ephemeral && !machine->nested)
		plan->unfrozen = find_unfrozen(view);
	if (r < 0)
		return r;
	if (request->proxies)
		plan->proxies = *request->proxies;
	else if (plan->tier == TIER_LANDLOCK && plan->net == NET_FILTERED)
		plan->net = NET_NONE;
	plan->env = env_build(view, request, tmpdir_for(request, view->policy),
			      plan->net);
	if (network_plan(view->policy, &plan->network, err) < 0)
		return -EINVAL;
	*ret = take_ptr(plan);
	return 0;
}

struct ground plan_ground(const struct plan *plan)
{
	return (struct ground){
		.abi = plan->machine.landlock_abi,
		.observer = plan->observe && !plan->machine.nested,
	};
}

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->mounts.len; i++)
		free(plan->mounts.v[i].path);
	for (size_t i = 0; i < plan->points.len; i++) {
		free(plan->points.v[i].path);
		free(plan->points.v[i].target);
		free(plan->points.v[i].text);
	}
	for (size_t i = 0; i < plan->grants.len; i++)
		free(plan->grants.v[i].path);
	for (size_t i = 0; i < plan->carved.len; i++) {
		free(plan->carved.v[i].path);
		free(plan->carved.v[i].because);
	}
	free(plan->grants.v);
	free(plan->carved.v);
	free(plan->mounts.v);
	free(plan->points.v);
	jail_done(&plan->jail);
	env_free(plan->env);
	env_free(plan->argv);
	free(plan->cwd);
	free(plan);
}

const char *mount_kind_name(enum mount_kind kind)
{
	static const char *const names[] = {
		[MOUNT_BIND_RW] = "write",
		[MOUNT_BIND_RO] = "read-only",
		[MOUNT_PIN] = "pin",
		[MOUNT_MASK_DIR] = "hide directory",
		[MOUNT_MASK_FILE] = "hide file",
		[MOUNT_SHOW] = "show",
		[MOUNT_PRIVATE] = "private",
		[MOUNT_LAYER] = "private layer",
		[MOUNT_SPARE] = "write, spare",
		[MOUNT_MADE] = "replace",
		[MOUNT_REDACTED] = "redact",
		[MOUNT_STAGED] = "write staged",
	};

	return names[kind];
}
