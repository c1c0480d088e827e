/* SPDX-License-Identifier: Apache-2.0 */
/* cli/shim.c - cloche shim: a program's own name runs it in the sandbox */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/hook.h"
#include "lib/options.h"
#include "lib/shim.h"

/* Options of run up to the first word that is none: its index */
static int check_options(int argc, char **argv, struct err *err)
{
	struct options options = { 0 };
	const int first = cli_parse_options(argc, argv, &options, err);

	options_done(&options);
	return first;
}

/* "OPTIONS NAME OPTIONS": @words becomes all options, NULL-ended */
static int split(int argc, char **argv, const char **name,
		 const char **words, struct err *err)
{
	const int first = check_options(argc, argv, err);
	int rest;

	if (first < 0)
		return first;
	if (first >= argc)
		return fail(err, -EINVAL, "shim install needs the name of a program");
	rest = check_options(argc - first, argv + first, err);
	if (rest < 0)
		return rest;
	if (rest < argc - first)
		return fail(err, -EINVAL, "shim install: '%s' is no option of run",
			    argv[first + rest]);
	*name = argv[first];
	for (int i = 1; i < argc; i++) {
		if (i != first && strcmp(argv[i], "--") != 0)
			*words++ = argv[i];
	}
	*words = NULL;
	return 0;
}

static void tell(const struct shim *s)
{
	auto_free char *dir = path_parent(s->path);
	auto_buf struct buf quoted = { 0 };

	cli_say(stdout, "%s: runs %s in the sandbox", s->path, s->real);
	if (shim_state(s, getenv("PATH")) != SHIM_BYPASSED)
		return;
	text_shell_quote(&quoted, dir);
	cli_say(stderr, "cloche: shim: not used yet: add this to the start of your shell: export PATH=%s:\"$PATH\"",
		buf_str(&quoted));
}

static int install(int argc, char **argv, struct err *err)
{
	auto_free const char **words = mem_zalloc(
		((size_t)argc + 1) * sizeof(*words));
	const char *dir = cli_take(&argc, argv, "--dir"), *name = NULL;
	struct shim shim = { 0 };
	char path[PATH_MAX];
	int r = dir && !*dir ?
		fail(err, -EINVAL, "--dir needs a directory") : 0;

	if (r == 0)
		r = split(argc, argv, &name, words, err);
	if (r == 0)
		r = shim_install(own_path(path, sizeof(path)), name, dir,
				 words, &shim, err);
	if (r == 0)
		tell(&shim);
	shim_done(&shim);
	return r;
}

static int remove_one(int argc, char **argv, struct err *err)
{
	int r;

	if (argc != 2)
		return fail(err, -EINVAL, "shim remove needs the name of one shim");
	r = shim_remove(argv[1], err);
	if (r == 0)
		cli_say(stdout, "%s: removed", argv[1]);
	return r;
}

static const char *words_of(enum shim_state state)
{
	static const char *const words[] = {
		[SHIM_OK] = "in use",
		[SHIM_BYPASSED] = "BYPASSED: $PATH leads past it",
		[SHIM_CHANGED] = "CHANGED: the file is not ours any more",
		[SHIM_GONE] = "GONE: the file is not there",
		[SHIM_NO_PROGRAM] = "the program is gone",
	};

	return words[state];
}

static void print_line(const struct shim *s, const char *state)
{
	const char *const fields[] = { s->name, s->path, s->real };
	auto_buf struct buf line = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		text_escape(&line, fields[i]);
		buf_addc(&line, '\t');
	}
	printf("%s%s\n", buf_str(&line), state);
}

static int list(int argc, char **argv, struct err *err)
{
	const bool json = argc == 2 && !strcmp(argv[1], "--json");
	json_t *rows = json_array();
	struct shim_list all = { 0 };
	bool bad = false;
	int r = 0;

	if (argc > 1 && !json)
		r = fail(err, -EINVAL, "shim list takes --json and nothing else");
	if (r == 0)
		r = shim_read_list(&all, err);
	for (size_t i = 0; i < all.len && r == 0; i++) {
		const struct shim *s = &all.v[i];
		const enum shim_state state = shim_state(s, getenv("PATH"));

		bad |= state != SHIM_OK;
		if (!json)
			print_line(s, words_of(state));
		(void)json_array_append_new(rows, json_pack(
			"{s:o, s:o, s:o, s:s}", "name", json_text(s->name),
			"path", json_text(s->path), "real",
			json_text(s->real), "state", shim_state_name(state)));
	}
	if (json && r == 0) {
		json_t *root = json_pack("{s:i, s:O}", "version", 1, "shims",
					 rows);
		auto_free char *text = json_dumps(root, JSON_INDENT(2));

		puts(text ? text : "{}");
		json_decref(root);
	}
	json_decref(rows);
	shim_list_done(&all);
	return r < 0 ? r : bad;
}

int cli_shim(int argc, char **argv, struct err *err)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv, struct err *err);
	} verbs[] = {
#define SHIM_COMMAND(id, name, synopsis, help) { name, id },
#include "cli/shim.def"
#undef SHIM_COMMAND
	};

	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(verbs); i++) {
		if (!strcmp(verbs[i].name, argv[1]))
			return verbs[i].run(argc - 1, argv + 1, err);
	}
	return fail(err, -EINVAL, argc > 1 ?
		    "shim: '%s' is not one of install, list, remove" :
		    "shim needs one of install, list, remove",
		    argc > 1 ? argv[1] : "");
}
