/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/test-shell-oracle.c - generated lines, run by real shells
 *
 * The claim: when a line is understood, every command that a shell runs for it
 * was listed. Lines are generated, then damaged; nothing in them exists as a
 * program, and the shell reports each name that it fails to find, with its
 * arguments, before it goes on: bash and zsh have a hook for that. dash has
 * none, so its names are links to a script that reports.
 */

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "shell/parse.h"
#include "test.h"

enum { LINES = 600, LINE_SECONDS = 60, WORD_END = '\037',
       COMMAND_END = '\036', NEWLINE = '\035', NOT_THERE = 99 };

static uint32_t state;

static uint32_t any(uint32_t below)
{
	return test_random(&state) % below;
}

static const char *one_of(const char *const *v, size_t n)
{
	return v[any((uint32_t)n)];
}

static void add_list(struct buf *b, unsigned int depth);

static void add_word(struct buf *b, unsigned int depth)
{
	static const char *const plain[] = {
		"aa", "bb", "cc", "-x", "'aa bb'", "\"cc;\"", "a\\ a", "$x", "\\b",
		"${x-aa}", "\"$x\"", "a'b'\"c\"", "*", "~", "{aa,bb}", "''",
		"\"a\\\"a\"", "'#'", "a#b", "$'cc'", "\"'\"", "'\"'", "x=1",
		"\"\\\\\"", "a\\\na", "!", "if", "\"${x-\"aa\"}\"",
		"${x-<(bb)}", "${x-*(e:bb:)}", "\"${x-<(bb)}\"", "<&-''",
	};

	switch (any(depth ? 12 : 9)) {
	case 9:
		buf_adds(b, "$(");
		add_list(b, depth - 1);
		buf_adds(b, ")");
		break;
	case 10:
		buf_adds(b, "\"");
		buf_adds(b, "$(");
		add_list(b, depth - 1);
		buf_adds(b, ")\"");
		break;
	case 11:
		buf_adds(b, any(2) ? "`aa bb`" : "\"`aa;cc`\"");
		break;
	default:
		buf_adds(b, one_of(plain, ARRAY_SIZE(plain)));
	}
}

static void add_simple(struct buf *b, unsigned int depth)
{
	static const char *const before[] = {
		"", "", "", "", "A=1 ", "A='b;c' B=$x ", "2>&1 ", ">f ",
	};
	static const char *const names[] = {
		"aa", "bb", "cc", "'aa'", "b\\b", "\"c\"c", "time aa", "! bb",
		"time -p aa",
	};
	static const char *const after[] = {
		"", "", "", "", "", " 2>&1", " >f", " >&2", " &>f", " </dev/null",
		" 10>&1",
		" <<<aa", " # aa; bb\n",
	};

	buf_adds(b, one_of(before, ARRAY_SIZE(before)));
	buf_adds(b, one_of(names, ARRAY_SIZE(names)));
	for (uint32_t n = any(3); n; n--) {
		buf_addc(b, ' ');
		add_word(b, depth);
	}
	buf_adds(b, one_of(after, ARRAY_SIZE(after)));
}

static void add_part(struct buf *b, unsigned int depth)
{
	static const char *const shapes[][3] = {
		{ "(", "", ")" }, { "{ ", "", "; }" },
		{ "if ", "; then aa; fi", "" },
		{ "for x in aa bb; do ", "; done", "" },
		{ "[[ aa < bb && ( cc ) ]] && ", "", "" },
		{ "aa <<E\nbb $(cc)\nE\n", "", "" },
		{ "aa <<'E'\nbb $(cc)\nE\n", "", "" },
		{ "aa <(", ")", "" },
	};
	const char *const *shape;

	if (!depth || any(3)) {
		add_simple(b, depth);
		return;
	}
	shape = shapes[any(ARRAY_SIZE(shapes))];
	buf_adds(b, shape[0]);
	add_list(b, depth - 1);
	buf_adds(b, shape[1]);
	buf_adds(b, shape[2]);
}

static void add_list(struct buf *b, unsigned int depth)
{
	static const char *const joints[] = {
		"; ", "&&", " || ", "|", " |& ", " & ", "\n", " && \n", ";",
	};

	add_part(b, depth);
	for (uint32_t n = any(3); n; n--) {
		buf_adds(b, one_of(joints, ARRAY_SIZE(joints)));
		add_part(b, depth);
	}
}

/* Insert a piece at a random place, or remove one */
static void damage(struct buf *b)
{
	static const char *const pieces[] = {
		"'", "\"", "\\", "`", "$", "(", ")", "{", "}", ";", "&", "|",
		"<", ">", "#", "\n", " ", "$(", "<<", "E", "!", "=", "~", "*",
		"[[", "]]", "\t", "$'", "fi ", "do ", "${", "\\\n", "<<-",
	};
	const size_t at = any((uint32_t)b->len + 1);
	auto_free char *rest = mem_strdup(b->p + at);

	b->len = at;
	b->p[at] = '\0';
	if (any(3))
		buf_adds(b, one_of(pieces, ARRAY_SIZE(pieces)));
	buf_adds(b, *rest && any(2) ? rest + 1 : rest);
}

/* A function could call itself for ever, and a loop need not end */
static bool is_harmless(const char *text)
{
	return !strstr(text, "()") && !strstr(text, "( )") &&
	       !strstr(text, "(\n") && !strstr(text, "while") &&
	       !strstr(text, "until");
}

/* Report as one write, or commands mix: a newline would make it two */
#define REPORT							\
	"IFS=$'\\037'; all=\"$*\"; nl=$'\\n'; other=$'\\035'; "	\
	"printf '%s\\037\\036' \"${all//$nl/$other}\" >&9"

/**
 * struct shell - The shell that runs the lines
 * @only_plain:	Compare only lines without the constructs that are other
 *		things in this shell; such lines are never trusted anyway
 */
struct shell {
	const char *name;
	bool only_plain;
};

static void prepare(void)
{
	static const char *const names[] = { "aa", "bb", "cc", "time" };
	const char *hook = test_path("home/.zshenv");
	const char *report = test_path("bin/report");
	const char *work = test_path("work");

	/* zsh also runs NULLCMD where there is a redirection only */
	test_write(hook, "NULLCMD=: READNULLCMD=:\n"
		   "command_not_found_handler() {\nlocal IFS all nl other\n"
		   REPORT "\n}\n");
	test_write(report, "#!/bin/bash\nset -- \"${0##*/}\" \"$@\"\n"
		   REPORT "\n");
	CHECK_INT(chmod(report, 0755), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *link = mem_printf("%s/bin/%s", test_dir(),
						  names[i]);

		CHECK_INT(symlink("report", link), 0);
	}
	CHECK_INT(mkdir(work, 0755), 0);
	CHECK_INT(chdir(work), 0);
}

static void run_child(const struct shell *shell, const char *text, int out)
{
	auto_free char *home = mem_printf("ZDOTDIR=%s/home", test_dir());
	auto_free char *bin = mem_printf("PATH=%s/bin", test_dir());
	const char *const env[] = {
		shell->only_plain ? bin : "PATH=/nonexistent", home,
		"LC_ALL=C", "HOME=/nonexistent",
		"BASH_FUNC_command_not_found_handle%%=() { local IFS all nl other; "
		REPORT "; }",
		NULL,
	};
	const char *const argv[] = { shell->name, "-c", text, NULL };
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setpgid(0, 0);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
	    dup2(null, 2) < 0 || dup2(out, 9) < 0)
		_exit(126);
	execvpe(shell->name, (char *const *)(uintptr_t)argv,
		(char *const *)(uintptr_t)env);
	_exit(NOT_THERE);
}

/* What @text runs, into @log. False if the shell is not there. */
static bool run(const struct shell *shell, const char *text, struct buf *log)
{
	char bytes[4096];
	int fds[2], status;
	struct pollfd in;
	ssize_t n;
	pid_t pid;

	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		run_child(shell, text, fds[1]);
	close(fds[1]);
	in = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	while (poll(&in, 1, LINE_SECONDS * 1000) == 1 &&
	       (n = read(fds[0], bytes, sizeof(bytes))) > 0)
		buf_add(log, bytes, (size_t)n);
	for (size_t i = 0; i < log->len; i++) {
		if (log->p[i] == NEWLINE)
			log->p[i] = '\n';
	}
	close(fds[0]);
	(void)kill(-pid, SIGKILL);
	CHECK(waitpid(pid, &status, 0) == pid);
	return !(WIFEXITED(status) && WEXITSTATUS(status) == NOT_THERE);
}

/* Do the words from @w on fit @argv? One that is expanded may be any number. */
static bool fits(const struct shell_script *s, const struct shell_word *w,
		 const struct shell_word *end, const char *argv)
{
	const size_t n = strcspn(argv, "\037");

	if (w == end)
		return !*argv;
	if (w->known)
		return argv[n] && n == w->plain_len &&
		       !memcmp(s->plain.p + w->plain, argv, n) &&
		       fits(s, w + 1, end, argv + n + 1);
	return fits(s, w + 1, end, argv) ||
	       (*argv && fits(s, w, end, argv + n + 1));
}

static bool is_listed(const struct shell_script *s, const char *argv)
{
	for (size_t i = 0; i < s->commands.len; i++) {
		const struct shell_command *c = &s->commands.v[i];
		const struct shell_word *w = s->words.v + c->first;

		for (size_t k = 0; k <= c->count; k++) {
			/* Behind "time" the rest is the command */
			if (k >= c->assignments &&
			    (k == c->assignments ||
			     shell_word_is(s, c, k - 1, "time")) &&
			    fits(s, w + k, w + c->count, argv))
				return true;
		}
	}
	return false;
}

static unsigned int check_line(const struct shell *shell, const char *text,
			       const struct shell_script *s)
{
	auto_buf struct buf log = { 0 };
	unsigned int ran = 0;

	if (!run(shell, text, &log))
		test_skip("%s is not installed", shell->name);
	for (char *at = log.p; at && *at; ran++) {
		char *end = strchr(at, COMMAND_END);

		CHECK(end);
		*end = '\0';
		if (is_listed(s, at)) {
			at = end + 1;
			continue;
		}
		for (char *c = at; *c; c++)
			*c = *c == WORD_END ? '|' : *c;
		test_fail(__FILE__, __LINE__,
			  "%s ran '%s', which is not listed, for\n%s",
			  shell->name, at, text);
	}
	return ran;
}

/* What a line may hold and still be trusted */
enum { PLAIN = SHELL_REDIRECT_FD | SHELL_EXPANSION };

static void compare(const struct shell *shell, uint32_t seed)
{
	unsigned int understood = 0, ran = 0;

	prepare();
	state = seed;
	for (int i = 0; i < LINES; i++) {
		auto_buf struct buf b = { 0 };
		auto_shell struct shell_script s = { 0 };

		add_list(&b, 2);
		for (uint32_t n = any(4); n > 1; n--)
			damage(&b);
		if (!is_harmless(b.p) || !shell_parse(b.p, &s))
			continue;
		/* bash 5.2 loses a ";" behind a here-document in $( ) */
		if (s.features & SHELL_HEREDOC &&
		    s.features & SHELL_SUBSTITUTION)
			continue;
		if (shell->only_plain && s.features & ~PLAIN)
			continue;
		understood++;
		ran += check_line(shell, b.p, &s);
	}
	printf("# %d lines, %u understood, %u commands ran\n", LINES,
	       understood, ran);
	CHECK(understood > LINES / 20);
	CHECK(ran > understood / 2);
}

TEST(bash_runs_no_command_that_was_not_listed)
{
	static const struct shell bash = { "bash", false };

	compare(&bash, 99);
}

TEST(zsh_runs_no_command_that_was_not_listed)
{
	static const struct shell zsh = { "zsh", false };

	compare(&zsh, 99);
}

TEST(dash_runs_no_command_that_was_not_listed)
{
	static const struct shell dash = { "dash", true };

	compare(&dash, 99);
}
