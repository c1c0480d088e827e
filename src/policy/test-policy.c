/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-policy.c - lists, flags, the path grammar and the default rules */

#include "policy/policy.h"

#include <errno.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "policy/env-rules.h"
#include "policy/glob.h"
#include "policy/pathrule.h"
#include "policy/protected-names.h"
#include "test.h"

static struct origin from(struct policy *p, enum scope scope, const char *base)
{
	return origin_make(policy_add_source(p, scope, "test", NULL, 0, base),
			   NULL, NULL);
}

/* What "path | literal" becomes of @text below /base, home /home/u */
static const char *read_as(const char *text)
{
	static char shown[ERR_MSG_MAX + 2];
	auto_policy struct policy *p = policy_new("/w", "/home/u");
	const struct path_rules *rules = &p->paths[PATH_ALLOW_WRITE];
	struct err err = { 0 };

	if (policy_add_path(p, PATH_ALLOW_WRITE, text, RULE_USER,
			    from(p, SCOPE_USER, "/base"), &err) < 0)
		snprintf(shown, sizeof(shown), "! %s", err.msg);
	else if (rules->v[0].glob)
		snprintf(shown, sizeof(shown), "%s | %s", rules->v[0].path,
			 rules->v[0].literal);
	else
		snprintf(shown, sizeof(shown), "%s", rules->v[0].path);
	return shown;
}

TEST(path_settings_are_resolved_by_the_grammar)
{
	static const struct { const char *text, *path; } rows[] = {
		{ "//etc", "/etc" },
		{ "/etc", "/etc" },
		{ "/", "/" },
		{ "/**", "/" },
		{ "~", "/home/u" },
		{ "~/x/../y", "/home/u/y" },
		{ "~//x", "/home/u/x" },
		{ "~other/x", "/base/~other/x" },
		{ "a", "/base/a" },
		{ "./a/./b//c/", "/base/a/b/c" },
		{ "a/**", "/base/a" },
		{ "a/**/", "/base/a" },
		{ "a/**/**", "/base/a" },
		{ "..", "/" },
		{ "../../..", "/" },
		{ ".", "/base" },
		{ "a\nb", "/base/a\nb" },
		{ "\377", "/base/\377" },
		{ "src/*.c", "/base/src | /base/src/*.c" },
		{ "*.c", "/base | /base/*.c" },
		{ "/**/*.pem", "/ | /**/*.pem" },
		{ "~/.cred*", "/home/u | /home/u/.cred*" },
		{ "a/[bc]/d", "/base/a | /base/a/[bc]/d" },
		{ "../x?", "/ | /x?" },
		{ "", "! the path is empty" },
		{ "a/*/../b", "! '..' after a pattern; write where it leads" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_STR(read_as(rows[i].text), rows[i].path);
}

TEST(a_base_directory_is_never_a_pattern)
{
	auto_policy struct policy *p = policy_new("/w", NULL);
	const struct path_rule *rule;

	CHECK_INT(policy_add_path(p, PATH_DENY_READ, "*.pem", RULE_USER,
				  from(p, SCOPE_USER, "/a[1]*"), NULL), 0);
	rule = &p->paths[PATH_DENY_READ].v[0];
	CHECK_STR(rule->path, "/a[1]*");
	CHECK(glob_match(rule->glob, "/a[1]*/x.pem"));
	CHECK(!glob_match(rule->glob, "/a1b/x.pem"));
	CHECK(!glob_match(rule->glob, "/a[1]b/x.pem"));
}

TEST(without_a_home_a_tilde_is_refused)
{
	auto_policy struct policy *p = policy_new("/w", NULL);
	struct err err = { 0 };

	CHECK_INT(policy_add_path(p, PATH_DENY_READ, "~/x", RULE_USER,
				  from(p, SCOPE_USER, "/"), &err), -EINVAL);
	CHECK_CONTAINS(err.msg, "$HOME");
	CHECK_INT(policy_finish(p, &err), 0);
}

TEST(repeated_entries_are_merged_in_order)
{
	auto_policy struct policy *p = policy_new("/w", NULL);
	const struct path_rules *rules = &p->paths[PATH_ALLOW_WRITE];
	static const char *const texts[] = { "b", "a", "./b", "/w/a", "c" };

	CHECK(!rules->set);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		CHECK_INT(policy_add_path(p, PATH_ALLOW_WRITE, texts[i],
					  RULE_USER, from(p, SCOPE_USER, "/w"),
					  NULL), 0);
	CHECK_INT(rules->len, 3);
	CHECK_STR(rules->v[0].path, "/w/b");
	CHECK_STR(rules->v[2].path, "/w/c");
	CHECK(rules->set);
}

TEST(the_first_value_of_the_strongest_scope_wins)
{
	auto_policy struct policy *p = policy_new("/w", NULL);

	CHECK(policy_flag(p, FLAG_ENABLED, true));
	policy_set_flag(p, FLAG_ENABLED, false, from(p, SCOPE_FLAG, "/"));
	policy_set_flag(p, FLAG_ENABLED, true, from(p, SCOPE_USER, "/"));
	CHECK(!policy_flag(p, FLAG_ENABLED, true));
	policy_set_flag(p, FLAG_PASS_ENV, false, from(p, SCOPE_MANAGED, "/"));
	policy_set_flag(p, FLAG_PASS_ENV, true, from(p, SCOPE_FLAG, "/"));
	CHECK(!policy_flag(p, FLAG_PASS_ENV, true));
	policy_set_number(p, NUMBER_PIDS, 5, from(p, SCOPE_FLAG, "/"));
	policy_set_number(p, NUMBER_PIDS, 6, from(p, SCOPE_USER, "/"));
	CHECK_INT(p->numbers[NUMBER_PIDS].value, 5);
	CHECK(!p->numbers[NUMBER_MEMORY].set);
	policy_set_net(p, NET_NONE, from(p, SCOPE_FLAG, "/"));
	policy_set_net(p, NET_HOST, from(p, SCOPE_USER, "/"));
	CHECK_INT(p->net, NET_NONE);
}

TEST(a_stricter_value_overrides_a_managed_one)
{
	auto_policy struct policy *p = policy_new("/w", NULL);

	policy_set_number(p, NUMBER_TIMEOUT_MS, 60, from(p, SCOPE_MANAGED, "/"));
	policy_set_number(p, NUMBER_TIMEOUT_MS, 70, from(p, SCOPE_FLAG, "/"));
	CHECK_INT(p->numbers[NUMBER_TIMEOUT_MS].value, 60);
	policy_set_number(p, NUMBER_TIMEOUT_MS, 3, from(p, SCOPE_FLAG, "/"));
	CHECK_INT(p->numbers[NUMBER_TIMEOUT_MS].value, 3);
	policy_set_number(p, NUMBER_TIMEOUT_MS, 2, from(p, SCOPE_USER, "/"));
	CHECK_INT(p->numbers[NUMBER_TIMEOUT_MS].value, 3);
	policy_set_net(p, NET_FILTERED, from(p, SCOPE_MANAGED, "/"));
	policy_set_net(p, NET_HOST, from(p, SCOPE_FLAG, "/"));
	CHECK_INT(p->net, NET_FILTERED);
	policy_set_net(p, NET_NONE, from(p, SCOPE_FLAG, "/"));
	CHECK_INT(p->net, NET_NONE);
	policy_set_profile(p, PROFILE_DEFAULT, from(p, SCOPE_MANAGED, "/"));
	policy_set_profile(p, PROFILE_SRT, from(p, SCOPE_FLAG, "/"));
	CHECK_INT(p->profile, PROFILE_DEFAULT);
	policy_set_profile(p, PROFILE_HOME, from(p, SCOPE_FLAG, "/"));
	CHECK_INT(p->profile, PROFILE_HOME);
	policy_set_flag(p, FLAG_NO_FORGE, false, from(p, SCOPE_MANAGED, "/"));
	policy_set_flag(p, FLAG_NO_FORGE, true, from(p, SCOPE_FLAG, "/"));
	CHECK(policy_flag(p, FLAG_NO_FORGE, false));
}

static const struct path_rule *rule_for(const struct policy *p,
					enum path_list list, const char *path)
{
	for (size_t i = 0; i < p->paths[list].len; i++) {
		if (!strcmp(p->paths[list].v[i].path, path))
			return &p->paths[list].v[i];
	}
	return NULL;
}

TEST(a_finished_policy_contains_the_default_rules)
{
	auto_policy struct policy *p = policy_new("/home/u/w", "/home/u");
	const struct path_rule *rule;
	auto_buf struct buf words = { 0 };

	policy_set_dir(p, DIR_CONFIG, "/elsewhere");
	policy_set_dir(p, DIR_STATE, "not/absolute");
	CHECK_INT(policy_finish(p, NULL), 0);
	CHECK_INT(policy_finish(p, NULL), -EALREADY);

	CHECK(rule_for(p, PATH_ALLOW_WRITE, "/home/u/w"));
	rule = rule_for(p, PATH_DENY_READ, "/home/u/.ssh");
	CHECK(rule && rule->strength == RULE_BASELINE && !rule->marker);
	origin_describe(&rule->origin, &words);
	CHECK_STR(buf_str(&words), "built in: SSH private keys");
	CHECK(rule_for(p, PATH_ALLOW_READ, "/home/u/.ssh/known_hosts"));
	rule = rule_for(p, PATH_DENY_READ, "/home/u/.npmrc");
	CHECK(rule && rule->marker);
	rule = rule_for(p, PATH_DENY_READ, "/elsewhere/cloche");
	CHECK(rule && rule->strength == RULE_ALWAYS);
	CHECK(rule_for(p, PATH_DENY_READ, "/home/u/.config/cloche"));
	CHECK(rule_for(p, PATH_DENY_READ, "/home/u/.local/state/cloche"));
	CHECK(rule_for(p, PATH_DENY_WRITE, "/home/u/w/.claude/settings.json"));
	CHECK(rule_for(p, PATH_DENY_WRITE, "/home/.claude/skills"));
	CHECK(rule_for(p, PATH_DENY_WRITE, "/.claude/skills"));
	CHECK(rule_for(p, PATH_DENY_WRITE,
		       "/etc/claude-code/managed-settings.d"));
}

TEST(an_explicit_denial_also_hides_public_files)
{
	auto_policy struct policy *p = policy_new("/home/u/w", "/home/u");
	auto_policy struct policy *above = policy_new("/home/u/w", "/home/u");
	const struct path_rule *rule;

	policy_add_literal(p, PATH_DENY_READ, "/home/u/.gnupg", RULE_USER,
			   from(p, SCOPE_FLAG, "/"));
	CHECK_INT(policy_finish(p, NULL), 0);
	rule = rule_for(p, PATH_DENY_READ, "/home/u/.gnupg");
	CHECK(rule && rule->place == PLACE_HOST);
	CHECK(!rule_for(p, PATH_ALLOW_READ, "/home/u/.gnupg/pubring.kbx"));
	CHECK(rule_for(p, PATH_ALLOW_READ, "/home/u/.ssh/known_hosts"));

	policy_add_literal(above, PATH_DENY_READ, "/home", RULE_USER,
			   from(above, SCOPE_FLAG, "/"));
	CHECK_INT(policy_finish(above, NULL), 0);
	rule = rule_for(above, PATH_DENY_READ, "/home/u/.gnupg");
	CHECK(rule && rule->place == PLACE_HOST);
	CHECK(!rule_for(above, PATH_ALLOW_READ, "/home/u/.ssh/known_hosts"));
}

TEST(profile_srt_has_only_srts_rules)
{
	auto_policy struct policy *p = policy_new("/home/u/w", "/home/u");
	const struct source *flag = policy_add_source(p, SCOPE_FLAG,
		"--profile", NULL, 0, "/");

	policy_set_profile(p, PROFILE_SRT, origin_make(flag, NULL, NULL));
	CHECK_INT(policy_finish(p, NULL), 0);
	CHECK(!rule_for(p, PATH_ALLOW_WRITE, "/home/u/w"));
	CHECK(rule_for(p, PATH_ALLOW_WRITE, "/tmp/claude"));
	CHECK(!rule_for(p, PATH_DENY_READ, "/home/u/.ssh"));
	CHECK(rule_for(p, PATH_DENY_READ, "/home/u/.local/state/cloche"));
}

TEST(protected_names_match_in_the_project_only)
{
	auto_policy struct policy *p = policy_new("/w", NULL);
	const struct source *flag = policy_add_source(p, SCOPE_FLAG, "test",
		NULL, 0, "/");

	CHECK(protected_match(p, "/w/.bashrc"));
	CHECK(protected_match(p, "/w/a/b/.vscode/tasks.json"));
	CHECK(protected_match(p, "/w/.claude/agents/x.md"));
	CHECK(!protected_match(p, "/w/.claude/agent"));
	CHECK(!protected_match(p, "/w/x.claude/agents"));
	CHECK(!protected_match(p, "/w/.bashrc.d"));
	CHECK(!protected_match(p, "/w/hooks/x"));
	CHECK(protected_match_repo(p, "hooks/pre-commit"));
	CHECK(protected_match_repo(p, "modules/a/config"));
	CHECK(!protected_match_repo(p, "modules/a"));
	CHECK(!protected_match_repo(p, "objects/hooks"));
	CHECK(!protected_match_repo(p, "modules//config"));

	/* Some file systems do not tell them apart */
	CHECK(protected_match(p, "/w/.VSCode/Tasks.json"));
	CHECK(protected_match(p, "/w/.Claude/AGENTS/x.md"));
	CHECK(protected_match_repo(p, "Modules/a/Config"));
	CHECK_STR(protected_in_git("/w/.GIT/Hooks/x"), "Hooks/x");
	CHECK(!protected_in_git("/w/.gitx/hooks"));

	CHECK(protected_match(p, "/w/.idea"));
	policy_add_string(p, LIST_UNPROTECT, ".idea",
			  origin_make(flag, NULL, NULL), NULL);
	CHECK(!protected_match(p, "/w/.idea"));
	policy_set_flag(p, FLAG_ALLOW_GIT_CONFIG, true,
			origin_make(flag, NULL, NULL));
	CHECK(!protected_match_repo(p, "config"));
	CHECK(!protected_match_repo(p, "modules/a/config"));
	CHECK(protected_match_repo(p, "hooks"));
	CHECK(protected_match(p, "/w/.husky/x"));
	policy_set_profile(p, PROFILE_SRT, origin_make(flag, NULL, NULL));
	CHECK(!protected_match(p, "/w/.husky/x"));
	CHECK(protected_match(p, "/w/.vscode/x"));
}

static struct env_verdict verdict(const struct policy *p, const char *entry)
{
	return env_decide(p, entry, strcspn(entry, "="));
}

static bool passes(const struct policy *p, const char *entry)
{
	return verdict(p, entry).pass;
}

TEST(secret_variables_do_not_pass_by_default)
{
	auto_policy struct policy *p = policy_new("/w", NULL);
	const struct source *flag = policy_add_source(p, SCOPE_FLAG, "test",
		NULL, 0, "/");

	CHECK(passes(p, "PATH=/bin"));
	CHECK(!passes(p, "LD_PRELOAD=/x.so"));
	CHECK(!passes(p, "GITHUB_TOKEN=x"));
	CHECK(!passes(p, "MINE=ghp_0123456789abcdefghij"));
	policy_set_flag(p, FLAG_PASS_ENV, true, origin_make(flag, NULL, NULL));
	CHECK(passes(p, "MINE=ghp_0123456789abcdefghij"));
	CHECK(!passes(p, "GITHUB_TOKEN=x"));
	CHECK(!passes(p, "LD_PRELOAD=/x.so"));
	policy_add_string(p, LIST_ENV_SET, "GITHUB_TOKEN",
			  origin_make(flag, NULL, NULL), NULL);
	policy_add_string(p, LIST_ENV_SET, "LD_PRELOAD=x",
			  origin_make(flag, NULL, NULL), NULL);
	CHECK(passes(p, "GITHUB_TOKEN=x"));
	CHECK(passes(p, "LD_PRELOAD=/x.so"));
	CHECK(!passes(p, "GITLAB_TOKEN=x"));
}

TEST(secrets_are_recognised_by_name_or_value)
{
	static const char *const secrets[] = {
		"MYSQL_PWD=x", "PGPASSWORD=x", "MY_PASS=x", "DB_PASSWORD=123",
		"npm_config__authToken=x", "clientSecret=x", "AWS_ACCESS_KEY_ID=x",
		"API_KEY=abc", "STRIPE_APIKEY=x", "SIGNING_KEYS=a,b", "GH_PAT=x",
		"NPM_TOKEN=", "TOKEN=12345678901234567890", "GIT_ASKPASS=/x",
		"DATABASE_URL=postgres://u:p@h/db", "KUBECONFIG=/k",
		"CONN=Server=a;Password=b", "X=sk-ant-api03-0123456789abcdef",
		"X=AKIA0123456789ABCDEF", "X=xoxb-1234567890-abc",
		"X=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc0123456789",
		"X=-----BEGIN RSA PRIVATE KEY-----\nabc", "X=Authorization: Basic eDp5",
		"X=a b ghp_0123456789abcdefghij c",
	};
	static const char *const session[] = {
		"SSH_AUTH_SOCK=/s", "DBUS_SESSION_BUS_ADDRESS=unix:path=/x",
		"DISPLAY=:0", "CLAUDE_CODE_MESSAGING_SOCKET=/s", "LD_PRELOAD=x",
		"VSCODE_IPC_HOOK_CLI=/s", "TMUX=/tmp/s,1,0", "MY_SERVER=unix:///run/x",
		"CLOCHE_X=1",
	};
	static const char *const plain[] = {
		"PORT=4000", "DEBUG=*", "DATABASE_URL=postgres://localhost/db",
		"DATABASE_URL=postgres://u@h/db", "npm_config_registry=http://r",
		"LD_LIBRARY_PATH=/x", "MAX_OUTPUT_TOKENS=4096", "USE_AUTH=true",
		"TOKENIZERS_PARALLELISM=false", "KEYBOARD=us", "MONKEY=1", "PWD=/x",
		"GIT_CONFIG_KEY_0=user.name", "GIT_AUTHOR_NAME=A", "COMPASS=n",
		"X=task-force", "X=sk-short", "X=AKIA", "PATH=/opt/ghp_x:/bin", "=x",
		"EMPTY=", "VITE_TITLE=secrets of the sea",
	};
	auto_policy struct policy *p = policy_new("/w", NULL);

	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
		CHECK_STR(verdict(p, secrets[i]).secret ? "" : secrets[i], "");
	for (size_t i = 0; i < ARRAY_SIZE(session); i++)
		CHECK_STR(verdict(p, session[i]).pass ||
			  verdict(p, session[i]).secret ? session[i] : "", "");
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		CHECK_STR(passes(p, plain[i]) ? "" : plain[i], "");
}

TEST(markers_recognise_files_with_secrets)
{
	static const struct {
		const char *marker, *text;
		bool found;
	} rows[] = {
		{ "_auth|_password", "//r.io/:_authToken=x", true },
		{ "_auth|_password", "save-exact=true\n", false },
		{ "\"auth\"", "{\"auths\": {}}", false },
		{ "\"auth\"", "{\"auths\": {\"x\": {\"auth\": \"y\"}}}", true },
		{ "@url", "index-url = https://u:p@pypi.example/simple", true },
		{ "@url", "index-url = https://tok@pypi.example/", true },
		{ "@url", "https://pypi.example/@scope mail a@b", false },
		{ "@url", "https://@", false },
		{ "@url", "", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_INT(path_rule_has_marker(rows[i].marker, rows[i].text,
					      strlen(rows[i].text)),
			  rows[i].found);
}

TEST(adding_many_rules_takes_linear_time)
{
	auto_policy struct policy *p = policy_new("/w", NULL);
	const struct source *source = policy_add_source(p, SCOPE_USER, "test",
		NULL, 0, "/w");
	struct err err = { 0 };
	char text[32];

	for (int i = 0; i < POLICY_RULES_MAX; i++) {
		snprintf(text, sizeof(text), "d/%d", i);
		CHECK_INT(policy_add_path(p, PATH_DENY_READ, text, RULE_USER,
					  origin_make(source, NULL, NULL),
					  &err), 0);
	}
	CHECK_INT(policy_add_path(p, PATH_DENY_READ, "one more", RULE_USER,
				  origin_make(source, NULL, NULL), &err),
		  -E2BIG);
	CHECK_INT(p->paths[PATH_DENY_READ].len, POLICY_RULES_MAX);
}

TEST(a_full_list_is_reported)
{
	auto_policy struct policy *p = policy_new("/w", NULL);
	struct err err = { 0 };
	char text[32];

	for (int i = 0; i < POLICY_RULES_MAX; i++) {
		snprintf(text, sizeof(text), "V%d", i);
		CHECK_INT(policy_add_string(p, LIST_ENV_DENY, text,
					    (struct origin){ 0 }, &err), 0);
		CHECK_INT(policy_add_ignore(p, "*", text,
					    (struct origin){ 0 }, &err), 0);
	}
	CHECK_INT(policy_add_string(p, LIST_ENV_DENY, "W",
				    (struct origin){ 0 }, &err), -E2BIG);
	CHECK_CONTAINS(err.msg, "131072");
	CHECK_INT(policy_add_ignore(p, "*", "W", (struct origin){ 0 }, &err),
		  -E2BIG);
}
