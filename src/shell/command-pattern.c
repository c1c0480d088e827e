/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell/command-pattern.c - Bash rule contents against simple commands
 *
 * Theory of operation: deny and ask rules match if any reading of the command does:
 * with and without assignments, inside each wrapper, with and without quotes. Allow
 * rules and excluded commands must match the command as it is written; they skip
 * harmless assignments only, and their wildcards never stand for the name of the
 * command when that name is not known.
 */

#include "shell/command-pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "shell/parse.h"

/* Commands that run another one: a rule is matched against what they run. An
 * allow rule sees through the plain ones, and not with an option of @more, which may
 * do more (time -o writes a file, xargs -I edits words). An option that is in no
 * column may hide the command: the user is asked. Options, with blanks between them:
 * "-p" alone; "-n:" has a value, attached or in the next word; "--signal=" as well,
 * behind "=" or in the next word; "-#" is a number ("nice -5").
 */
static const struct wrapper {
	const char *name;
	size_t arguments;	/* Before the command */
	bool plain;		/* Allow rules see through it, too */
	const char *options, *more;
} wrappers[] = {
	{ "timeout", 1, true,
	  "-k: --kill-after= -s: --signal= -v --verbose --foreground "
	  "--preserve-status",
	  "-f -p" },
	{ "time", 0, true,
	  "-p",
	  "-v -q -a --verbose --quiet --append -o: --output= -f: "
	  "--format=" },
	{ "nice", 0, true, "-n: --adjustment= -#", "" },
	{ "nohup", 0, true, "", "" },
	{ "stdbuf", 0, true, "-i: -o: -e: --input= --output= --error=", "" },
	{ "command", 0, true, "", "-p" },
	{ "builtin", 0, true, "", "" },
	{ "noglob", 0, true, "", "" },
	{ "xargs", 0, true,
	  "",
	  "-0 --null -r --no-run-if-empty -t --verbose -x --exit -o "
	  "--open-tty -n: --max-args= -P: --max-procs= -I: -L: "
	  "--max-lines= -s: --max-chars= -d: --delimiter= -E: -a: "
	  "--arg-file=" },
	{ "env", 0, false,
	  "- -i --ignore-environment -0 --null -v --debug -u: "
	  "--unset= -C: --chdir=",
	  "" },
	{ "exec", 0, false, "-c -l -cl -a:", "" },
	{ "sudo", 0, false,
	  "-A -b -E -H -k -n -S --askpass --background "
	  "--non-interactive --preserve-env --set-home --stdin -u: "
	  "--user= -g: --group= -p: --prompt= -D: --chdir= -T: "
	  "--command-timeout=",
	  "" },
	{ "doas", 0, false, "-n -u: -C:", "" },
	{ "busybox", 0, false, "", "" },
	{ "toybox", 0, false, "", "" },
	{ "setsid", 0, false, "-c --ctty -f --fork -w --wait", "" },
	{ "ionice", 0, false, "-t --ignore -c: --class= -n: --classdata=", "" },
	{ "flock", 1, false,
	  "-e -x -s -n -u -o -F --exclusive --shared --nonblock "
	  "--close -w: --timeout= --wait= -E: --conflict-exit-code=",
	  "" },
	{ "watch", 0, false,
	  "-b -c -d -e -g -t -w -x --beep --color --errexit "
	  "--chgexit --no-title --no-wrap --exec -n: --interval=",
	  "" },
	{ "chrt", 1, false, "-a -b -f -i -o -r", "" },
	{ "taskset", 1, false, "-a -c", "" },
	{ "chroot", 1, false, "--userspec= --groups= --skip-chdir", "" },
	{ "strace", 0, false,
	  "-f -ff -q -qq -r -t -tt -y -yy -v -e: -o: -s:",
	  "" },
	{ "unbuffer", 0, false, "-p", "" },
	{ "fakeroot", 0, false, "", "" },
	{ "setarch", 0, false, "-R -v", "" },
	{ "prlimit", 0, false, "", "" },
	{ "unshare", 0, false, "", "" },
	{ "nsenter", 0, false, "", "" },
	{ "parallel", 0, false, "", "" },
	{ "su", 0, false, "", "" },
	{ "runuser", 0, false, "", "" },
	{ "pkexec", 0, false, "", "" },
	{ "script", 0, false, "", "" },
	{ "systemd-run", 0, false, "", "" },
	{ "dbus-run-session", 0, false, "", "" },
};

/* Variables that an allow rule sees past: they change how a program talks, never
 * what it runs, loads, reads or reaches
 */
static const char safe_env[] =
	"CARGO_TERM_COLOR CI CLICOLOR CLICOLOR_FORCE COLORTERM COLUMNS "
	"FORCE_COLOR GOARCH GOOS LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE "
	"LC_MESSAGES LC_NUMERIC LC_TIME LINES NODE_ENV NO_COLOR "
	"PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED RUST_BACKTRACE RUST_LOG TERM TZ";

enum { COMMAND_STAGES_MAX = 16 };	/* Wrappers in each other */

/* Whether wrappers are unfolded for an allow rule, or for deny and ask rules */
enum look { LOOK_ALLOW, LOOK_DENY };

enum wrapped {
	WRAPPED_NOT,		/* No wrapper */
	WRAPPED_RUNS,
	WRAPPED_NOTHING,	/* It runs no command */
	WRAPPED_HIDDEN,		/* Where its command begins is unknown */
};

/* They run what follows, at once or later: a prefix says nothing about it */
static const char runners[] = "watch setsid ionice flock";

static const char find_actions[] =
	"-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls";

int command_pattern_init(struct command_pattern *ret, const char *text,
			 struct err *err)
{
	struct command_pattern p = { 0 };
	bool word;
	size_t n;

	text += strspn(text, " \t");
	n = strlen(text);
	while (n && strchr(" \t", text[n - 1]))
		n--;
	if (n > COMMAND_PATTERN_MAX)
		return fail(err, -EINVAL, "a command pattern of more than %d "
			    "characters", COMMAND_PATTERN_MAX);
	word = n >= 2 && text[n - 1] == '*' && strchr(": ", text[n - 2]);
	if (word)
		n -= 2;
	if (!n)
		return fail(err, -EINVAL, "the command pattern is empty; for "
			    "every command write *");
	p.text = mem_strndup(text, n);
	p.longer = word ? mem_printf("%s *", p.text) : NULL;
	p.plain = strcspn(p.text, "*");
	p.exact = !word && !p.text[p.plain];
	*ret = p;
	return 0;
}

void command_pattern_done(struct command_pattern *p)
{
	free(p->text);
	free(p->longer);
	*p = (struct command_pattern){ 0 };
}

/* "*" is any text. Each piece between stars goes where it first fits: if any
 * place leads to a match, the first does. The last piece goes to the end.
 */
static bool wild_match(const char *pattern, const char *text, size_t n)
{
	size_t piece = strcspn(pattern, "*");
	const char *end = text + n;

	if (piece > n || memcmp(pattern, text, piece) != 0)
		return false;
	if (!pattern[piece])
		return piece == n;
	text += piece;
	pattern += piece + 1;
	while (pattern[piece = strcspn(pattern, "*")]) {
		text = piece ? memmem(text, (size_t)(end - text), pattern,
				      piece) : text;
		if (!text)
			return false;
		text += piece;
		pattern += piece + 1;
	}
	return (size_t)(end - text) >= piece &&
	       !memcmp(end - piece, pattern, piece);
}

static bool is_match(const struct command_pattern *p, const char *text,
		     const char *end)
{
	const size_t n = (size_t)(end - text);

	if (wild_match(p->text, text, n))
		return true;
	return p->longer && wild_match(p->longer, text, n);
}

bool command_pattern_match(const struct command_pattern *p, const char *text)
{
	return is_match(p, text, text + strlen(text));
}

static const struct shell_word *word_at(const struct shell_script *script,
					const struct shell_command *c,
					size_t i)
{
	return &script->words.v[c->first + i];
}

/* How many words the option @spec (@n bytes) takes at word @i: 0 if it is
 * another one
 */
static size_t take_option(const char *spec, size_t n,
			  const struct shell_script *script,
			  const struct shell_command *c, size_t i)
{
	const struct shell_word *w = word_at(script, c, i);
	const char *text = shell_plain_from(script, c, i);
	const bool valued = spec[n - 1] == ':' || spec[n - 1] == '=';
	const size_t name = valued ? n - 1 : n;

	if (!w->known)
		return 0;
	if (n == 2 && !strncmp(spec, "-#", n))
		return *text == '-' && w->plain_len > 1 &&
		       strspn(text + 1, "0123456789") >= w->plain_len - 1;
	if (w->plain_len < name || strncmp(text, spec, name) != 0)
		return 0;
	if (!valued)
		return w->plain_len == name;
	if (w->plain_len == name)	/* The value is the next word */
		return i + 1 < c->count && word_at(script, c, i + 1)->known ?
		       2 : 0;
	return spec[n - 1] == ':' || text[name] == '=';
}

static size_t skip_options(const char *options,
			   const struct shell_script *script,
			   const struct shell_command *c, size_t i)
{
	const char *spec = options;

	while (*spec && i < c->count) {
		const size_t n = strcspn(spec, " ");
		const size_t taken = take_option(spec, n, script, c, i);

		i += taken;
		spec = taken ? options : spec + n + (spec[n] == ' ');
	}
	return i;
}

static size_t skip_all_options(const struct wrapper *wrapper, enum look look,
			       const struct shell_script *script,
			       const struct shell_command *c, size_t i)
{
	size_t before;

	do {
		before = i;
		i = skip_options(wrapper->options, script, c, i);
		if (look == LOOK_DENY)
			i = skip_options(wrapper->more, script, c, i);
	} while (i > before);
	return i;
}

/* For an allow rule, the name must have no directory before it */
static const struct wrapper *find_wrapper(const struct shell_script *script,
					  const struct shell_command *c,
					  size_t i, enum look look)
{
	for (size_t k = 0; k < ARRAY_SIZE(wrappers); k++) {
		const struct wrapper *w = &wrappers[k];

		if (look == LOOK_DENY ? command_is(script, c, i, w->name) :
		    w->plain && shell_word_is(script, c, i, w->name))
			return w;
	}
	return NULL;
}

/* "command -v" runs nothing */
static bool is_question(const struct wrapper *wrapper,
			const struct shell_script *script,
			const struct shell_command *c, size_t i)
{
	return !strcmp(wrapper->name, "command") &&
	       shell_word_is(script, c, i, "-v -V");
}

/* env and sudo set variables */
static size_t skip_assignments(const struct shell_script *script,
			       const struct shell_command *c, size_t i)
{
	while (i < c->count && word_at(script, c, i)->known &&
	       *shell_plain_from(script, c, i) != '-' && memchr(
			shell_plain_from(script, c, i), '=',
			word_at(script, c, i)->plain_len))
		i++;
	return i;
}

/* Move *@i to the first word of what the wrapper there runs */
static enum wrapped unwrap(const struct shell_script *script,
			   const struct shell_command *c, size_t *i,
			   enum look look)
{
	const struct wrapper *wrapper = find_wrapper(script, c, *i, look);
	size_t next = *i + 1;

	if (!wrapper)
		return WRAPPED_NOT;
	next = skip_all_options(wrapper, look, script, c, next);
	if (shell_word_is(script, c, next, "--"))
		next++;
	for (size_t k = 0; k <= wrapper->arguments; k++, next++) {
		if (!wrapper->plain)
			next = skip_assignments(script, c, next);
		if (next >= c->count || is_question(wrapper, script, c, next))
			return WRAPPED_NOTHING;
		if (!word_at(script, c, next)->known ||
		    *shell_plain_from(script, c, next) == '-')
			return WRAPPED_HIDDEN;
	}
	*i = next - 1;
	return WRAPPED_RUNS;
}

/* A path in LANGUAGE or TZ is a file that is loaded */
static bool is_path_list(const char *value)
{
	return *value == '/' || strstr(value, ":/") || strstr(value, "..");
}

static bool is_safe_assignment(const struct shell_script *script,
			       const struct shell_command *c, size_t i)
{
	const struct shell_word *w = word_at(script, c, i);
	auto_free char *text = mem_strndup(script->plain.p + w->plain,
					   w->plain_len);
	const size_t n = strcspn(text, "=");

	return w->known && text[n] && text_has_bytes(safe_env, text, n) &&
	       !is_path_list(text + n + 1);
}

/* A command is read in stages: all of it, behind its assignments, and behind
 * each wrapper. Move *@i to the next; false if there is none.
 */
static bool next_stage(const struct shell_script *script,
		       const struct shell_command *c, size_t *i,
		       enum look look)
{
	if (*i >= c->assignments)
		return unwrap(script, c, i, look) == WRAPPED_RUNS;
	*i = c->assignments;
	return *i < c->count;
}

/* The text from word @i on, whose directory is left out: "/bin/rm" is "rm" */
static const char *without_dir(const struct shell_script *script,
			       const struct shell_command *c, size_t i)
{
	const char *text = shell_plain_from(script, c, i);
	const char *slash = i < c->assignments ? NULL :
		memrchr(text, '/', word_at(script, c, i)->plain_len);

	return slash ? slash + 1 : text;
}

/* True if the words from @i on match: as written, without quotes, or without a directory */
static bool is_read_as(const struct command_pattern *p,
		       const struct shell_script *script,
		       const struct shell_command *c, size_t i)
{
	const char *end = shell_plain_from(script, c, c->count);

	return is_match(p, shell_raw_from(script, c, i),
			shell_raw_from(script, c, c->count)) ||
	       is_match(p, shell_plain_from(script, c, i), end) ||
	       is_match(p, without_dir(script, c, i), end);
}

bool command_may_match(const struct command_pattern *p,
		       const struct shell_script *script,
		       const struct shell_command *c)
{
	unsigned int stages = 0;
	size_t i = 0;

	do {
		if (is_read_as(p, script, c, i))
			return true;
		/* More wrappers than any real command has: count it as a match */
		if (stages++ == COMMAND_STAGES_MAX)
			return true;
	} while (next_stage(script, c, &i, LOOK_DENY));
	/* The command may begin at any word. A leading "*" was matched already. */
	if (!p->plain || unwrap(script, c, &i, LOOK_DENY) != WRAPPED_HIDDEN)
		return false;
	while (++i < c->count) {
		if (is_read_as(p, script, c, i))
			return true;
	}
	return false;
}

size_t command_name(const struct shell_script *script,
		    const struct shell_command *c)
{
	unsigned int stages = 0;
	size_t i = c->assignments;
	enum wrapped last;

	if (i >= c->count)
		return i;
	while ((last = unwrap(script, c, &i, LOOK_DENY)) == WRAPPED_RUNS) {
		if (stages++ == COMMAND_STAGES_MAX)
			return c->count;
	}
	if (last == WRAPPED_HIDDEN ||
	    (last == WRAPPED_NOTHING && command_is_fed(script, c, i)))
		return c->count;
	return i;
}

bool command_is(const struct shell_script *script,
		const struct shell_command *c, size_t i, const char *names)
{
	const struct shell_word *w = word_at(script, c, i);
	const char *text = shell_plain_from(script, c, i), *slash;

	if (i >= c->count || !w->known)
		return false;
	slash = memrchr(text, '/', w->plain_len);
	return text_has_bytes(names, slash ? slash + 1 : text,
			      slash ? (size_t)(text + w->plain_len - slash) - 1
				    : w->plain_len);
}

bool command_is_fed(const struct shell_script *script,
		    const struct shell_command *c, size_t i)
{
	while (i--) {
		if (command_is(script, c, i, "xargs"))
			return true;
	}
	return false;
}

/* True if the program at word @i runs or deletes what its arguments say, or
 * may do so with unknown ones
 */
static bool is_runner(const struct shell_script *script,
		      const struct shell_command *c, size_t i)
{
	if (command_is(script, c, i, runners))
		return true;
	if (!command_is(script, c, i, "find"))
		return false;
	if (command_is_fed(script, c, i))
		return true;
	for (size_t k = i + 1; k < c->count; k++) {
		if (!word_at(script, c, k)->known ||
		    shell_word_is(script, c, k, find_actions))
			return true;
	}
	return false;
}

/* A wildcard must not stand for what is unknown: assignments that are not
 * harmless, a name that the shell makes up, a command that runs another
 */
static bool is_wildcard_fair(const struct command_pattern *p,
			     const struct shell_script *script,
			     const struct shell_command *c, size_t i)
{
	size_t name = i < c->assignments ? c->assignments : i;
	const struct shell_word *w;

	if (p->exact)
		return true;
	if (name >= c->count)
		return false;
	w = word_at(script, c, name);
	if ((name > i || !w->known) &&
	    p->plain < w->raw + w->raw_len - word_at(script, c, i)->raw)
		return false;
	do {
		if (is_runner(script, c, name))
			return false;
	} while (next_stage(script, c, &name, LOOK_ALLOW));
	return true;
}

/* True if @p matches the words that xargs puts at the end */
static bool takes_more(const struct command_pattern *p)
{
	return p->longer || p->text[strlen(p->text) - 1] == '*';
}

bool command_must_match(const struct command_pattern *p,
			const struct shell_script *script,
			const struct shell_command *c)
{
	unsigned int stages = 0;
	bool harmless = true;
	size_t i = 0;

	for (size_t k = 0; k < c->assignments; k++)
		harmless = harmless && is_safe_assignment(script, c, k);
	do {
		if (command_pattern_match(p, shell_raw_from(script, c, i)) &&
		    is_wildcard_fair(p, script, c, i) &&
		    (takes_more(p) || !command_is_fed(script, c, i)))
			return true;
		if (i < c->assignments && !harmless)
			return false;
	} while (stages++ < COMMAND_STAGES_MAX &&
		 next_stage(script, c, &i, LOOK_ALLOW));
	return false;
}
