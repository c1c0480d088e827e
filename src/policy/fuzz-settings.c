/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/fuzz-settings.c - any text as a settings file of any scope
 *
 * The first byte chooses the file, the rest is its text. Beside it stands a
 * managed file that locks, or not. Whatever the text says, a locked project
 * opens nothing, and .cloche.json never does.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/json-edit.h"
#include "policy/policy.h"
#include "policy/settings.h"
#include "policy/test-memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const places[] = {
	"/etc/claude-code/managed-settings.d/10.json",
	"/etc/cloche/policy.json",
	"/home/u/flag.json",
	"/home/u/p/.claude/settings.local.json",
	"/home/u/p/.claude/settings.json",
	"/home/u/p/.cloche.json",
	"/home/u/.claude/settings.json",
	"/home/u/.config/cloche/policy.json",
};

enum { PLACE_FLAG = 2, PLACE_LOCAL = 3, PLACE_PROJECT = 4, PLACE_OWN = 5 };

static const char lock[] =
	"{\"sandbox\": {\"allowUnsandboxedCommands\": false,"
	" \"filesystem\": {\"denyRead\": [\"/secret\"]}}}";

static void must(bool holds)
{
	if (!holds)
		abort();
}

static bool is_repository(const struct origin *origin)
{
	return origin->source->scope == SCOPE_PROJECT ||
	       origin->source->scope == SCOPE_LOCAL;
}

/* Nothing that opens may come from the repository */
static void check_closed(const struct policy *p)
{
	static const enum string_list opening[] = {
		LIST_UNIX_SOCKETS, LIST_HOST_PORTS, LIST_PUBLISH,
		LIST_ALLOW_IPS, LIST_EXCLUDED_COMMANDS, LIST_UNPROTECT,
		LIST_ENV_SET,
	};
	static const enum policy_flag weak[] = {
		FLAG_WEAKER_NESTED, FLAG_NESTED_USERNS, FLAG_ALLOW_GIT_CONFIG,
		FLAG_FS_DISABLED, FLAG_ALL_UNIX_SOCKETS, FLAG_LOCAL_BINDING,
		FLAG_PASS_ENV,
	};

	for (size_t i = 0; i < p->paths[PATH_ALLOW_WRITE].len; i++)
		must(!is_repository(&p->paths[PATH_ALLOW_WRITE].v[i].origin) ||
		     path_is_within(p->cwd,
				    p->paths[PATH_ALLOW_WRITE].v[i].path));
	for (size_t i = 0; i < p->lists[HOST_ALLOW].len; i++)
		must(!is_repository(&p->lists[HOST_ALLOW].v[i].origin));
	for (size_t i = 0; i < ARRAY_SIZE(opening); i++) {
		const struct list_rules *list = &p->lists[opening[i]];

		for (size_t j = 0; j < list->len; j++)
			must(!is_repository(&list->v[j].origin));
	}
	for (size_t i = 0; i < ARRAY_SIZE(weak); i++)
		must(!policy_flag(p, weak[i], false) ||
		     !is_repository(&p->flags[weak[i]].origin));
	must(p->net != NET_HOST && p->profile != PROFILE_SRT);
}

static void check_words(const struct policy *p)
{
	for (size_t list = 0; list < PATH_LISTS; list++) {
		for (size_t i = 0; i < p->paths[list].len; i++) {
			const struct path_rule *rule = &p->paths[list].v[i];
			auto_buf struct buf words = { 0 };

			must(*rule->path == '/');
			origin_describe(&rule->origin, &words);
			must(words.len > 0);
		}
	}
}

static void load(const char *place, size_t which, bool locked,
		 const char *text)
{
	auto_report struct settings_report report = { 0 };
	auto_policy struct policy *policy = NULL;
	struct memory files = { 0 };
	struct file_reader reader = memory_reader(&files);
	struct err err = { 0 };
	struct settings_request req = {
		.reader = &reader, .cwd = "/home/u/p", .home = "/home/u",
		.flag = which == PLACE_FLAG ? place : NULL,
		.check = strlen(text) & 1,
	};
	int r;

	memory_add(&files, place, text);
	memory_add(&files, "/home/u/p", NULL);
	if (locked)
		memory_add(&files, "/etc/claude-code/managed-settings.json",
			   lock);
	r = settings_load(&req, &policy, &report, &err);
	if (r < 0) {
		must(!policy && *err.msg);
	} else {
		check_words(policy);
		if (which == PLACE_OWN || which == PLACE_LOCAL ||
		    which == PLACE_PROJECT)
			check_closed(policy);
	}
	memory_done(&files);
}

/* An edited text must parse again, and editing twice changes nothing */
static void edit(const char *text)
{
	auto_buf struct buf once = { 0 };
	auto_buf struct buf twice = { 0 };

	if (json_edit(text, strlen(text), "f", JSON_EDIT_APPEND, "sandbox.network.x", "a",
			&once, NULL) == 1)
		must(json_edit(once.p, once.len, "f", JSON_EDIT_APPEND, "sandbox.network.x",
				 "a", &twice, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = NULL;
	size_t which;

	if (size < 1 || memchr(data, 0, size))
		return 0;
	which = (data[0] & 0x3f) % ARRAY_SIZE(places);
	text = mem_strndup((const char *)data + 1, size - 1);
	load(places[which], which, data[0] & 0x40, text);
	edit(text);
	return 0;
}
