/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/test-authority.c - random settings: a repository opens nothing by itself
 *
 * Theory of operation: random files of all scopes are loaded three times: without
 * the repository's files; with them, nothing approved; with all approved. The
 * second policy is never wider than the first, rule by rule. The third has beside
 * the first just what the files ask for and may be given. A mismatch prints the
 * files and the seed; CLOCHE_SEED=N repeats it.
 */

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/asks.h"
#include "policy/document.h"
#include "policy/permission.h"
#include "policy/policy.h"
#include "policy/schema.h"
#include "policy/settings.h"
#include "policy/test-memory.h"
#include "test.h"

static const struct {
	const char *path;
	bool claude, repository;
} places[] = {
	{ "/etc/claude-code/managed-settings.json", true, false },
	{ "/etc/cloche/policy.json", false, false },
	{ "/home/u/flags/flag.json", true, false },
	{ "/home/u/.claude/settings.json", true, false },
	{ "/home/u/.config/cloche/policy.json", false, false },
	{ "/home/u/p/.claude/settings.local.json", true, true },
	{ "/home/u/p/.claude/settings.json", true, true },
	{ "/home/u/p/.cloche.json", false, true },
};

static const char *const paths[] = {
	"/w", "/w/x", "~/.ssh", "~/.ssh/id", "~", "..", "../q", ".", "in",
	"in/deep", "link", "link/x", "/srv/*", "~/.aws", "in/*", "/", "~/n",
	"/home/u/p/in",
};
static const char *const hosts[] = {
	"a.example", "*.b.example", "c.b.example:443", "10.0.0.1", "localhost",
};
static const char *const agent_rules[] = {
	"Edit(//w/**)", "Edit(in/**)", "Edit(~/.ssh/**)", "Read(//w/**)",
	"Read(~/n)", "WebFetch(domain:a.example)", "Bash(make *)", "Bash",
	"Edit(*.c)", "Bash(docker *)",
};
static const char *const words[] = { "docker *", ".idea", "linux", "macos", "T" };

/* In the place of a value or of an entry; reported, where a file is only checked */
static const char *const junk[] = {
	"5", "\"\"", "\"a b\"", "null", "true", "[]", "[5]", "{}", "\"/[\"",
	"{\"path\": 5}", "{\"path\": \"/w\", \"mode\": 5}", "-1", "\"Edit(\"",
	"[\"\", \"~\"]", "[[\"/w\"]]", "\"false\"", "{\"path\": \"/w\"}",
};

static uint32_t seed;
static bool damaged;	/* Whether the files of this case have some of it */

static size_t pick(size_t n)
{
	return test_random(&seed) % n;
}

#define PICK(list) (list)[pick(ARRAY_SIZE(list))]

static void add_entry(enum setting_type type, struct buf *out)
{
	if (damaged && !pick(3)) {
		buf_adds(out, PICK(junk));
		return;
	}
	switch (type) {
	case TYPE_PATHS:
		buf_addf(out, "\"%s\"", PICK(paths));
		break;
	case TYPE_HOSTS:
		buf_addf(out, "\"%s\"", PICK(hosts));
		break;
	case TYPE_RULES:
		buf_addf(out, "\"%s\"", PICK(agent_rules));
		break;
	case TYPE_PORTS:
		buf_addf(out, "%zu", 1 + pick(3));
		break;
	case TYPE_RANGES:
		buf_addf(out, "\"10.0.0.%zu\"", pick(3));
		break;
	case TYPE_SOCKETS:
		buf_addf(out, "\"%s/%zu\"", pick(2) ? "/run" : "in", pick(3));
		break;
	case TYPE_CREDENTIALS:
		buf_addf(out, "{\"path\": \"~/k%zu\", \"mode\": \"%s\"}", pick(2),
			 pick(2) ? "mask" : "deny");
		break;
	case TYPE_OBJECTS:
		buf_addf(out, "{\"accessKeyIdVar\": \"ID%zu\", \"secretAccessKeyVar\": \"KEY\"}",
			 pick(3));
		break;
	default:
		buf_addf(out, "\"%s\"", PICK(words));
	}
}

static void add_value(const struct setting *row, struct buf *out)
{
	static const char *const nets[] = { "filtered", "none", "jail", "host" };
	static const char *const profiles[] = { "default", "home", "srt" };

	if (damaged && !pick(3)) {
		buf_adds(out, PICK(junk));
		return;
	}
	switch (row->type) {
	case TYPE_FLAG:
		buf_adds(out, pick(2) ? "true" : "false");
		return;
	case TYPE_COUNT: case TYPE_PORT: case TYPE_DEPTH: case TYPE_SIZE:
	case TYPE_DURATION:
		buf_addf(out, "%zu", 1 + pick(9));
		return;
	case TYPE_NET:
		buf_addf(out, "\"%s\"", PICK(nets));
		return;
	case TYPE_PROFILE:
		buf_addf(out, "\"%s\"", PICK(profiles));
		return;
	case TYPE_TIER:
		buf_addf(out, "\"%s\"", pick(2) ? "full" : "landlock");
		return;
	case TYPE_PROXY: case TYPE_TEXT:
		buf_addf(out, "\"p%zu:1\"", pick(3));
		return;
	case TYPE_IGNORES:
		buf_addf(out, "{\"*\": [\"%s\"]}", PICK(words));
		return;
	case TYPE_TLS: case TYPE_REASONS: case TYPE_OBJECT:
		buf_adds(out, "{}");
		return;
	default:
		break;
	}
	buf_addc(out, '[');
	for (size_t i = 0, n = pick(4); i < n; i++) {
		if (i)
			buf_addc(out, ',');
		add_entry(row->type, out);
	}
	buf_addc(out, ']');
}

/* A file of a few random keys; each object holds one, for no key may come twice */
static char *random_file(bool claude)
{
	json_t *root = json_object();
	size_t rows;
	const struct setting *table = schema_table(&rows);
	char *text;

	for (size_t n = pick(6); n--;) {
		const struct setting *row = &table[pick(rows)];
		auto_free char *path = mem_printf("%s%s",
			claude && row->area == AREA_SANDBOX ? "sandbox." : "",
			row->path);
		auto_buf struct buf value = { 0 };
		json_t *at = root;
		char *save = NULL, *name = strtok_r(path, ".", &save), *next;

		if ((!claude && row->area == AREA_CLAUDE) ||
		    row->type == TYPE_UNUSED || row->type == TYPE_FOREIGN)
			continue;
		for (; (next = strtok_r(NULL, ".", &save)); name = next) {
			if (!json_object_get(at, name))
				json_object_set_new(at, name, json_object());
			at = json_object_get(at, name);
		}
		add_value(row, &value);
		json_object_set_new(at, name, json_loadb(buf_str(&value),
			value.len, JSON_DECODE_ANY, NULL));
	}
	text = json_dumps(root, 0);
	json_decref(root);
	return text;
}

static bool approve_all(void *arg, enum authority authority, const char *id,
			const char *line)
{
	(void)arg;
	(void)authority;
	(void)id;
	(void)line;
	return true;
}

/**
 * struct trial - The files of one case
 */
struct trial {
	char *texts[ARRAY_SIZE(places)];
};

static struct policy *load(const struct trial *t, bool repository,
			   bool approved, struct settings_report *report)
{
	struct memory files = { 0 };
	struct file_reader reader;
	struct settings_request req = {
		.cwd = "/home/u/p", .home = "/home/u",
		.reader = &reader, .check = true,
		.flag = t->texts[2] ? places[2].path : NULL,
		.approves = approved ? approve_all : NULL,
	};
	struct policy *policy = NULL;
	struct err err = { 0 };

	memory_add(&files, "/home/u/p/in/deep", NULL);
	memory_add(&files, "/w/x", NULL);
	memory_add(&files, "/home/u/.ssh", NULL);
	memory_add_link(&files, "/home/u/p/link", "/home/u/.ssh");
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (t->texts[i] && (repository || !places[i].repository))
			memory_add(&files, places[i].path, t->texts[i]);
	}
	reader = memory_reader(&files);
	/* A combination that is refused as a whole opens nothing */
	(void)settings_load(&req, &policy, report, &err);
	memory_done(&files);
	return policy;
}

static bool is_lifted(const struct path_rules *rules, const char *denied,
		      const char *path)
{
	for (size_t i = 0; i < rules->len; i++) {
		if (path_is_below(denied, rules->v[i].path) &&
		    path_is_within(rules->v[i].path, path))
			return true;
	}
	return false;
}

/* True if a rule denies reading @path that no more specific one lifts */
static bool is_denied(const struct policy *p, const char *path)
{
	const struct path_rules *no = &p->paths[PATH_DENY_READ];

	for (size_t i = 0; i < no->len; i++) {
		if (path_is_within(no->v[i].path, path) &&
		    !is_lifted(&p->paths[PATH_ALLOW_READ], no->v[i].path, path) &&
		    !is_lifted(&p->paths[PATH_ALLOW_WRITE], no->v[i].path, path))
			return true;
	}
	return false;
}

/* What is wrong, or NULL: each names what @a has beyond @b */
static const char *wider_paths(const struct policy *a, const struct policy *b)
{
	for (enum path_list list = 0; list < PATH_LISTS; list++) {
		const bool deny = path_list_denies(list);
		const struct policy *from = deny ? b : a, *in = deny ? a : b;

		for (size_t i = 0; i < from->paths[list].len; i++) {
			const struct path_rule *r = &from->paths[list].v[i];
			bool found = false;

			for (size_t k = 0; k < in->paths[list].len; k++) {
				const struct path_rule *o = &in->paths[list].v[k];

				found |= !strcmp(o->path, r->path) &&
					 !o->glob == !r->glob &&
					 (!r->glob || !strcmp(o->text, r->text)) &&
					 o->strength >= r->strength * deny;
			}
			/* Inside the project, without a rule that denies it */
			if (!found && !deny &&
			    path_is_within(a->project, r->path) &&
			    (list == PATH_ALLOW_READ ||
			     b->profile != PROFILE_SRT))
				found = !is_denied(b, r->path);
			/* What the srt profile or home profile adds itself */
			if (!found && a->profile == b->profile)
				return r->path;
		}
	}
	return NULL;
}

static const char *wider_lists(const struct policy *a, const struct policy *b)
{
	for (enum string_list list = 0; list < LIST_COUNT; list++) {
		const bool deny = list == LIST_ENV_DENY || list == HOST_DENY ||
				  list == LIST_DENIED_ADDRESSES;
		const struct policy *from = deny ? b : a, *in = deny ? a : b;

		for (size_t i = 0; i < from->lists[list].len; i++) {
			if (!policy_has_string(in, list,
					       from->lists[list].v[i].text))
				return from->lists[list].v[i].text;
		}
	}
	return NULL;
}

static bool is_strict_on(enum policy_flag flag)
{
	return flag == FLAG_ENABLED || flag == FLAG_FAIL_IF_UNAVAILABLE ||
	       flag == FLAG_STRICT_ALLOWLIST || flag == FLAG_NO_FORGE ||
	       flag == FLAG_MANAGED_DOMAINS_ONLY ||
	       flag == FLAG_MANAGED_READS_ONLY ||
	       flag == FLAG_MANAGED_RULES_ONLY ||
	       flag == FLAG_BLOCK_OUTSIDE_READS;
}

static const char *wider_scalars(const struct policy *a, const struct policy *b)
{
	for (enum policy_flag f = 0; f < FLAG_COUNT; f++) {
		/* Without settings the sandbox is on, and commands may be excluded */
		const bool otherwise = f == FLAG_ENABLED ||
				       f == FLAG_ALLOW_UNSANDBOXED;
		const bool mine = policy_flag(a, f, otherwise);
		const bool theirs = policy_flag(b, f, otherwise);

		if (mine != theirs && mine != is_strict_on(f))
			return "a switch";
	}
	for (enum policy_number n = 0; n < NUMBER_COUNT; n++) {
		const struct number *x = &a->numbers[n], *y = &b->numbers[n];

		if (n == NUMBER_HTTP_PROXY_PORT || n == NUMBER_SOCKS_PROXY_PORT) {
			if (x->set != y->set || x->value != y->value)
				return "a proxy";
		} else if (n == NUMBER_SEARCH_DEPTH) {
			if ((x->set ? x->value : 3) < (y->set ? y->value : 3))
				return "the depth";
		} else if (y->set && (!x->set || x->value > y->value)) {
			return "a limit";
		}
	}
	if (a->net != b->net && a->net != NET_NONE)
		return "the network";
	if (a->profile != b->profile)	/* Home shows the tokens of gh */
		return "the profile";
	for (enum policy_text t = 0; t < TEXT_COUNT; t++) {
		const char *x = a->texts[t].value, *y = b->texts[t].value;

		if (strcmp(x ? x : "", y ? y : "") != 0 &&
		    !(t == TEXT_MINIMUM_TIER && x && !strcmp(x, "full")))
			return "a text";
	}
	return NULL;
}

static const char *wider_rules(const struct policy *a, const struct policy *b)
{
	static const char *const commands[] = { "make all", "docker ps", "ls" };
	const char *wider = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		struct permission_verdict x = permission_decide_command(a->ruleset,
			commands[i], false);
		struct permission_verdict y = permission_decide_command(b->ruleset,
			commands[i], false);

		if (x.action == ACTION_ALLOW && y.action != ACTION_ALLOW)
			wider = commands[i];
		permission_verdict_done(&x);
		permission_verdict_done(&y);
	}
	return wider;
}

static const char *wider(const struct policy *a, const struct policy *b)
{
	const char *what = wider_scalars(a, b);

	if (!what)
		what = wider_lists(a, b);
	if (!what)
		what = wider_rules(a, b);
	if (!what && !policy_flag(b, FLAG_FS_DISABLED, false))
		what = wider_paths(a, b);
	return what;
}

/* The list that an ask of each kind opens, + 1 */
static const int opened_lists[ASK_KINDS] = {
	[ASK_HOST] = 1 + HOST_ALLOW,
	[ASK_SOCKET] = 1 + LIST_UNIX_SOCKETS,
	[ASK_HOST_PORT] = 1 + LIST_HOST_PORTS,
	[ASK_PUBLISH] = 1 + LIST_PUBLISH,
	[ASK_ADDRESS] = 1 + LIST_ALLOW_IPS,
};

static bool has_rule(const struct policy *p, const struct ask *ask)
{
	const struct path_rules *opened =
		&p->paths[ask->kind == ASK_READ ? PATH_ALLOW_READ
						: PATH_ALLOW_WRITE];

	if (strchr(ask->text, '=') || ask->kind == ASK_MODE ||
	    ask->kind == ASK_RULE || ask->kind >= ASK_NEVER)
		return true;	/* A switch: a stronger source may have set it */
	if (opened_lists[ask->kind])
		return policy_has_string(p,
			(enum string_list)(opened_lists[ask->kind] - 1),
			ask->kind == ASK_SOCKET ? ask->path : ask->text);
	for (size_t i = 0; i < opened->len; i++) {
		if (!strcmp(opened->v[i].path, ask->path))
			return true;
	}
	return false;
}

/* The files of a trial, strongest first */
struct loaded {
	struct { json_t *root; const char *path; bool claude, repository; } v[8];
	bool files, domains, unsandboxed;
};

static json_t *value_in(const struct loaded *l, size_t n,
			const struct setting *row)
{
	json_t *at = l->v[n].root;
	auto_free char *path = mem_printf("%s%s", l->v[n].claude &&
		row->area == AREA_SANDBOX ? "sandbox." : "", row->path);
	char *save = NULL;

	for (char *key = strtok_r(path, ".", &save); at && key;
	     key = strtok_r(NULL, ".", &save))
		at = json_object_get(at, key);
	return at;
}

static bool is_managed(const struct loaded *l, size_t n)
{
	return !strncmp(l->v[n].path, "/etc/", 5);
}

static bool has_file_denial(json_t *rules)
{
	json_t *rule;
	size_t i;

	json_array_foreach(rules, i, rule) {
		const char *text = json_string_value(rule);

		if (!strncmp(text, "Read(", 5) || !strncmp(text, "Edit(", 5))
			return true;
	}
	return false;
}

static void find_locks(struct loaded *l)
{
	size_t rows;
	const struct setting *table = schema_table(&rows);

	for (size_t i = 0; i < rows * ARRAY_SIZE(l->v); i++) {
		const struct setting *row = &table[i % rows];
		const size_t n = i / rows;
		const bool managed = is_managed(l, n);
		json_t *value = managed || n == 2 ? value_in(l, n, row) : NULL;

		l->unsandboxed |= json_is_false(value) &&
			row->slot == FLAG_ALLOW_UNSANDBOXED &&
			row->type == TYPE_FLAG;
		l->domains |= managed && row->type == TYPE_FLAG &&
			row->slot == FLAG_MANAGED_DOMAINS_ONLY &&
			json_is_true(value);
		l->files |= managed && value &&
			(!strncmp(row->path, "filesystem.", 11) ||
			 (!strcmp(row->path, "credentials.files") &&
			  json_array_size(value)) ||
			 (!strcmp(row->path, "permissions.deny") &&
			  has_file_denial(value)));
	}
	l->unsandboxed |= l->domains;
}

/* Not beyond what every file says that is not a repository's, or the default */
static bool is_within_others(const struct loaded *l, const struct setting *row,
			     json_t *value, bool less)
{
	uint64_t mine, other;
	bool set = false;

	CHECK(schema_number(row->type, value, &mine) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(l->v); i++) {
		json_t *v = l->v[i].repository ? NULL : value_in(l, i, row);

		if (!v || schema_number(row->type, v, &other) < 0)
			continue;
		set = true;
		if (less ? mine > other : mine < other)
			return false;
	}
	return set || less || mine >= 3;
}

static bool only_tightens(const struct loaded *l, const struct setting *row,
			  json_t *value)
{
	const char *word = json_string_value(value);

	switch (row->type) {
	case TYPE_FLAG:
		return json_is_true(value) == is_strict_on(
			(enum policy_flag)row->slot);
	case TYPE_DEPTH:
		return is_within_others(l, row, value, false);
	case TYPE_COUNT: case TYPE_SIZE: case TYPE_DURATION:
		return is_within_others(l, row, value, true);
	default:
		return (row->type == TYPE_TIER && !strcmp(word, "full")) ||
		       (row->type == TYPE_NET && !strcmp(word, "none"));
	}
}

/* What may be approved, of switches: the rest is never a repository's to open */
static bool is_approvable(const struct setting *row, json_t *value)
{
	static const char *const keys[] = {
		"autoAllowBashIfSandboxed", "enableWeakerNestedSandbox",
		"network.allowAllUnixSockets", "network.allowLocalBinding",
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!strcmp(row->path, keys[i]))
			return true;
	}
	return row->type == TYPE_PROFILE &&
	       !strcmp(json_string_value(value), "home");
}

static bool counts(const struct loaded *l, size_t n, const struct setting *row,
		   json_t *value)
{
	const bool only_managed = row->guard == GUARD_MANAGED ||
		(row->guard == GUARD_FS_DISABLED && l->files) ||
		(row->guard == GUARD_DOMAINS && l->domains);

	if (only_managed && !is_managed(l, n))
		return false;
	return !l->v[n].repository || only_tightens(l, row, value) ||
	       (is_approvable(row, value) && !l->unsandboxed);
}

static bool sticks(const struct loaded *l, size_t n, const struct setting *row,
		   json_t *value)
{
	return row->guard == GUARD_ANY_TRUE ? json_is_true(value) :
	       l->v[n].repository ? false :
	       row->guard == GUARD_STICKY_TRUE ? json_is_true(value) :
	       row->guard == GUARD_STICKY_FALSE && json_is_false(value);
}

static bool is_stricter(const struct setting *row, json_t *value, json_t *held)
{
	const char *word = json_string_value(value);
	const char *other = json_string_value(held);
	uint64_t mine = 0, theirs = 0;

	(void)schema_number(row->type, value, &mine);
	(void)schema_number(row->type, held, &theirs);
	switch (row->type) {
	case TYPE_FLAG:
		return json_is_true(value) != json_is_true(held) &&
		       json_is_true(value) == is_strict_on(
			(enum policy_flag)row->slot);
	case TYPE_DEPTH:
		return mine > theirs;
	case TYPE_COUNT: case TYPE_SIZE: case TYPE_DURATION:
		return mine < theirs;
	case TYPE_NET:
		return !strcmp(word, "none") || !strcmp(other, "host");
	case TYPE_PROFILE:
		return !strcmp(word, "home");
	case TYPE_TIER:
		return !strcmp(word, "full");
	default:
		return false;
	}
}

/* The union rule of switches, numbers and words: the strongest that counts, unless
 * that is an administrator's and another is stricter
 */
static json_t *chosen(const struct loaded *l, const struct setting *row)
{
	json_t *held = NULL;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(l->v); i++) {
		const size_t n = i % ARRAY_SIZE(l->v);
		json_t *value = value_in(l, n, row);

		if (!value || !counts(l, n, row, value) ||
		    (i < ARRAY_SIZE(l->v) && !sticks(l, n, row, value)))
			continue;
		if (!is_managed(l, n) && (!held || is_stricter(row, value, held)))
			return value;
		held = held ? held : value;
	}
	return held;
}

static bool has_value(const struct policy *p, const struct setting *row,
		      json_t *value)
{
	const char *word = json_string_value(value);
	enum profile profile;
	enum net_mode net;
	uint64_t number;

	switch (row->type) {
	case TYPE_FLAG: case TYPE_TLS:
		return p->flags[row->slot].set == !!value && (!value ||
			p->flags[row->slot].value == !json_is_false(value));
	case TYPE_COUNT: case TYPE_PORT: case TYPE_DEPTH: case TYPE_SIZE:
	case TYPE_DURATION:
		return p->numbers[row->slot].set == !!value && (!value ||
			(schema_number(row->type, value, &number) == 0 &&
			 p->numbers[row->slot].value == number));
	case TYPE_NET:
		return !p->net_origin.source == !value && (!value ||
			(net_mode_parse(word, &net) == 0 && p->net == net));
	case TYPE_PROFILE:
		return !p->profile_origin.source == !value && (!value ||
			(profile_parse(word, &profile) == 0 &&
			 p->profile == profile));
	case TYPE_TEXT: case TYPE_PROXY: case TYPE_TIER:
		return !p->texts[row->slot].value == !value && (!value ||
			!strcmp(p->texts[row->slot].value, word));
	default:
		return true;
	}
}

/* The first switch, number or word that is not what the union rule says */
static const char *not_chosen(const struct policy *with, const struct trial *t)
{
	static const size_t order[] = { 1, 0, 2, 5, 7, 6, 4, 3 };
	struct loaded l = { 0 };
	const char *what = NULL;
	size_t rows;
	const struct setting *table = schema_table(&rows);

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		const size_t n = order[i];

		l.v[i].root = t->texts[n] ? json_loads(t->texts[n], 0, NULL)
					  : NULL;
		l.v[i].path = places[n].path;
		l.v[i].claude = places[n].claude;
		l.v[i].repository = places[n].repository;
	}
	find_locks(&l);
	for (size_t i = 0; !what && i < rows; i++) {
		if (!has_value(with, &table[i], chosen(&l, &table[i])))
			what = table[i].path;
	}
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		json_decref(l.v[i].root);
	return what;
}

/* True if a repository's file asks for @text, or the path @text, of @list, or of
 * the path list @paths, and may have it
 */
static bool is_asked(const struct settings_report *report, int list, int path_list,
		     const char *text)
{
	for (size_t i = 0; i < report->sources.len; i++) {
		const struct asks *asks = &report->sources.v[i].asks;

		for (size_t k = 0; k < asks->len; k++) {
			const struct ask *ask = &asks->v[k];
			const bool kind = list >= 0 ?
				opened_lists[ask->kind] == list + 1 :
				ask->kind == (path_list == PATH_ALLOW_READ ?
					      ASK_READ : ASK_WRITE);

			if (kind && !ask->refused && !ask->closes &&
			    !strcmp(ask->path ? ask->path : ask->text, text))
				return true;
		}
	}
	return false;
}

/* Approved: all that is requested is granted, and nothing else is */
static const char *not_union(const struct policy *with,
			     const struct settings_report *report)
{
	for (size_t i = 0; i < report->sources.len; i++) {
		const struct asks *asks = &report->sources.v[i].asks;

		for (size_t k = 0; k < asks->len; k++) {
			if (!asks->v[k].refused && !has_rule(with, &asks->v[k]))
				return asks->v[k].text;
		}
	}
	for (int list = 0; list < LIST_COUNT; list++) {
		for (size_t i = 0; i < with->lists[list].len; i++) {
			const struct list_rule *r = &with->lists[list].v[i];

			if (list != HOST_DENY && list != LIST_ENV_DENY &&
			    list != LIST_DENIED_ADDRESSES &&
			    scope_is_repository(r->origin.source->scope) &&
			    !is_asked(report, list, -1, r->text))
				return r->text;
		}
	}
	/* A path inside the project needs no approval */
	for (int list = 0; list < PATH_LISTS; list++) {
		for (size_t i = 0; i < with->paths[list].len; i++) {
			const struct path_rule *r = &with->paths[list].v[i];

			if (!path_list_denies(list) && r->origin.source &&
			    scope_is_repository(r->origin.source->scope) &&
			    !path_is_within(with->project, r->path) &&
			    !is_asked(report, -1, list, r->path))
				return r->path;
		}
	}
	return NULL;
}

static void report(const struct trial *t, uint32_t first, const char *how,
		   const char *what)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (t->texts[i])
			printf("# %s: %s\n", places[i].path, t->texts[i]);
	}
	test_fail(__FILE__, __LINE__, "CLOCHE_SEED=%u: %s: %s", first, how,
		  what);
}

static void try_one(uint32_t first, size_t *wide)
{
	auto_report struct settings_report unused = { 0 }, quiet = { 0 };
	auto_report struct settings_report all = { 0 };
	auto_policy struct policy *none = NULL, *with = NULL, *approved = NULL;
	struct trial t = { 0 };
	const char *what;

	seed = first;
	damaged = !pick(4);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (pick(2))
			t.texts[i] = random_file(places[i].claude);
	}
	none = load(&t, false, false, &unused);
	with = load(&t, true, false, &quiet);
	approved = load(&t, true, true, &all);
	what = with && none ? wider(with, none) : NULL;
	if (what)
		report(&t, first, "wider without approval", what);
	what = approved && !damaged ? not_union(approved, &all) : NULL;
	if (!what && approved && !damaged)
		what = not_chosen(approved, &t);
	if (what)
		report(&t, first, "not what was approved", what);
	*wide += approved && none && wider(approved, none);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		free(t.texts[i]);
}

TEST(an_unapproved_repository_grants_nothing)
{
	const char *only = getenv("CLOCHE_SEED");
	const uint32_t n = getenv("CLOCHE_LONG") ? 50000 : 10000;
	size_t wide = 0;

	if (only) {
		try_one((uint32_t)strtoul(only, NULL, 10), &wide);
		return;
	}
	for (uint32_t i = 1; i <= n; i++)
		try_one(i, &wide);
	/* The control: approved, many are wider */
	printf("# %zu of %u are wider when approved\n", wide, n);
	CHECK(wide > n / 10);
}
