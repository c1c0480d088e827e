/* SPDX-License-Identifier: Apache-2.0 */
/* cli/command-line.c - parse the arguments of a verb by the tables, and run it */

#include "cli/command-line.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "base/text.h"

static const struct word words[] = {
#define SECRET_COMMAND(function, name, synopsis, fewest, most, help) \
	{ "secret", name, synopsis, help, NULL, fewest, most },
#include "secret/secret-verbs.def"
#undef SECRET_COMMAND
#define MANY INT_MAX
#define WORD(verb, function, name, synopsis, fewest, most, help) \
	{ #verb, name, synopsis, help, cmd_##verb##_##function, fewest, most },
#define PROGRAM_WORD(verb, name, synopsis, help) \
	{ #verb, name, synopsis, help, NULL, 0, MANY },
#include "cli/subcommands.def"
#undef WORD
#undef PROGRAM_WORD
	{ 0 },
};

static const struct verb_option flags[] = {
#define FLAG(verb, words, name, argument, help) \
	{ #verb, words, name, argument, help },
#include "cli/flags.def"
#undef FLAG
#define SECRET_OPTION(field, name, argument, verbs, help) \
	{ "secret", verbs, name, argument, help },
#include "secret/secret-options.def"
#undef SECRET_OPTION
#define FIREWALL_OPTION(id, name, argument, verbs, help) \
	{ "firewall", verbs, name, argument, help },
#include "firewall/firewall-options.def"
#undef FIREWALL_OPTION
	{ 0 },
};
_Static_assert(ARRAY_SIZE(flags) <= VERB_OPTIONS_MAX, "struct call has a slot for each");

const struct verb_option *verb_option_table(void)
{
	return flags;
}

const struct word *word_first(const struct verb *c)
{
	const struct word *word = words;

	while (word->name && strcmp(word->verb, c->name) != 0)
		word++;
	return word->name ? word : NULL;
}

const struct word *word_next(const struct word *word)
{
	return word[1].name && !strcmp(word[1].verb, word->verb) ? word + 1
								 : NULL;
}

const struct word *word_find(const struct verb *c, const char *name)
{
	const struct word *w = word_first(c);

	while (w && strcmp(w->name, name) != 0 && !isupper(w->name[0]))
		w = word_next(w);
	return w;
}

bool synopsis_has_run(const char *synopsis)
{
	return strstr(synopsis, "[OPTIONS of run]") ||
	       (strstr(synopsis, "[OPTIONS]") &&
		strstr(synopsis, "[--] COMMAND"));
}

static const char *synopsis_of(const struct call *call)
{
	return call->word ? call->word->synopsis : call->verb->synopsis;
}

/* All words of policy and hook take the options of run; some do not list them */
static bool takes_run(const struct call *call)
{
	return synopsis_has_run(synopsis_of(call)) ||
	       text_has_word("policy hook", call->verb->name);
}

static bool takes(const struct call *call, const struct verb_option *flag)
{
	return !strcmp(flag->verb, call->verb->name) &&
	       text_has_word(flag->words, call->word ? call->word->name : "");
}

const char *call_flag(const struct call *call, const char *name)
{
	const struct verb_option *flag = flags;

	while (flag->name && (!takes(call, flag) || strcmp(flag->name, name)))
		flag++;
	return flag->name ? call->values[flag - flags] : NULL;
}

char verb_option_letter(const struct verb_option *flag)
{
	return !strcmp(flag->verb, "diff") && !strcmp(flag->name, "patch") ? 'p' : 0;
}

/* "--name", "--name=value", "--name value" or "-n" of the verb alone. Returns the words
 * used, or a negative errno: -ENOENT, without a message, if there is no such option.
 */
static int parse_flag(struct call *call, char **argv, struct err *err)
{
	const bool output = !strcmp(argv[0], "-o");
	const char *name = output ? "output" : argv[0] + 2;
	const size_t n = output || argv[0][1] == '-' ? strcspn(name, "=") : 0;
	const char *value = n && name[n] ? name + n + 1 : NULL;
	const struct verb_option *flag = flags;
	bool next;
	int r;

	while (flag->name && (!takes(call, flag) ||
			      (n ? strlen(flag->name) != n ||
				   strncmp(flag->name, name, n) != 0 :
			       *name || argv[0][1] != verb_option_letter(flag))))
		flag++;
	if (!flag->name)
		return -ENOENT;
	next = flag->argument && !value && argv[1];
	value = next ? argv[1] : value;
	if (takes_run(call) && option_find(name, n) < OPTION_COUNT &&
	    flag->argument && !text_is_choice(flag->argument, value))
		return -ENOENT;	/* --write PATH, not --write project|user */
	r = option_check(flag->name, flag->argument, value, err);
	if (r < 0)
		return r;
	call->values[flag - flags] = value ? value : "";
	return 1 + next;
}

/* The option at @argv, of the verb or of run. Returns the words used. */
static int parse_option(struct call *call, char **argv, struct err *err)
{
	const char *others[VERB_OPTIONS_MAX] = { 0 };
	size_t n = 0;
	int r = parse_flag(call, argv, err);

	if (r == -ENOENT && takes_run(call)) {
		r = options_parse_one(argv, &call->options, err);
		for (int i = 0; i < r; i++)
			*vec_push(&call->given) = argv[i];
	}
	if (r != -ENOENT)
		return r;
	for (const struct verb_option *flag = flags; flag->name; flag++) {
		if (takes(call, flag))
			others[n++] = flag->name;
	}
	return option_fail_unknown(argv[0], takes_run(call), others, err);
}

int call_since(const struct call *call, int64_t *ret_ms, struct err *err)
{
	const char *text = call_flag(call, "since");
	uint64_t ms;

	if (text && text_to_duration_ms(text, &ms) < 0)
		return fail(err, -EINVAL, "--since: '%s' is not a time like 30m, 1h or 2d", text);
	*ret_ms = text ? now_ms(CLOCK_REALTIME) - (int64_t)ms : 0;
	return 0;
}

int call_fail_usage(const struct call *call, struct err *err)
{
	auto_free char *name = mem_printf("%s%s%s", call->verb->name, call->word ? " " : "",
					  call->word ? call->word->name : "");
	const char *example = help_example(name);

	return fail(err, -EINVAL, "usage: cloche %s%s%s%s%s", name,
		    *synopsis_of(call) ? " " : "", synopsis_of(call),
		    example ? "; for example: " : "", example ? example : "");
}

int call_expect(const struct call *call, int fewest, int most, struct err *err)
{
	if (call->count >= fewest && call->count <= most)
		return 0;
	(void)call_fail_usage(call, err);
	return call->count < fewest ? -EINVAL :
	       fail_in(err, -EINVAL, "unexpected argument '%s'",
		       call->args[most]);
}

int call_parse(struct call *call, struct err *err)
{
	/* Where a command follows, options end at its name */
	const bool command = strstr(synopsis_of(call), "COMMAND [ARG...]");
	char **from = call->args;
	int expanded;

	call->count = 0;
	while (*from) {
		const bool option = from[0][0] == '-' && from[0][1];
		const bool end = option && !strcmp(from[0], "--");
		int r = 1;

		from += end;
		if (end || (!option && command)) {
			while (*from)
				call->args[call->count++] = *from++;
			break;
		}
		if (option)
			r = parse_option(call, from, err);
		else
			call->args[call->count++] = *from;
		if (r < 0)
			return r;
		from += r;
	}
	call->args[call->count] = NULL;
	*vec_push(&call->given) = NULL;
	expanded = options_expand(&call->options, err);
	return expanded < 0 ? expanded : call->word ? call_expect(call, call->word->fewest,
					call->word->most, err) : 0;
}

static int fail_word(const struct verb *verb, const char *name, struct err *err)
{
	struct text_near near = { .word = name ? name : "" };
	auto_buf struct buf all = { 0 };

	for (const struct word *w = word_first(verb); w; w = word_next(w)) {
		buf_addf(&all, "%s%s", all.len ? ", " : "", w->name);
		(void)text_near_try(&near, w->name);
	}
	if (!name)
		return fail(err, -EINVAL, "%s needs one of %s", verb->name,
			    buf_str(&all));
	if (near.best)
		return fail(err, -EINVAL, "%s: no command '%s'; did you mean 'cloche %s %s'?",
			    verb->name, name, verb->name, near.best);
	return fail(err, -EINVAL, "%s: '%s' is not one of %s", verb->name, name,
		    buf_str(&all));
}

int call_run(const struct verb *verb, int argc, char **argv, struct err *err)
{
	struct call call = { .verb = verb, .args = argv + 1 };
	int r = 0;

	if (!verb->run) {
		call.name = argc > 1 ? *call.args++ :
			    !strcmp(verb->name, "violations") ? "list" : NULL;
		call.word = call.name ? word_find(verb, call.name) : NULL;
		if (!call.word)
			return fail_word(verb, call.name, err);
	}
	if (!call.word || !isupper(call.word->name[0]))
		r = call_parse(&call, err);
	if (r >= 0)
		r = (call.word ? call.word->run : verb->run)(&call, err);
	free(call.given.v);
	options_done(&call.options);
	return r;
}

void print_json(json_t *value, size_t format)
{
	auto_free char *text = json_dumps(value, format);

	puts(text ? text : "null");
	json_decref(value);
}

void add_names(const char *dir, const char *except, int most, struct buf *out)
{
	struct dirent **names = NULL;
	const int n = scandir(dir, &names, NULL, alphasort);
	int found = 0;

	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;
		auto_free char *path = path_join(dir, name);

		if (strcmp(name, ".") && strcmp(name, "..") &&
		    !(except && path_is_within(path, except)) && ++found <= most)
			buf_addf(out, "%s%s", found > 1 ? ", " : "", name);
		free(names[i]);
	}
	free(names);
	if (found > most)
		buf_addf(out, " and %d more", found - most);
}

char *own_path(void)
{
	char *path = fs_link("/proc/self/exe");

	return path ? path : mem_strdup("cloche");
}
