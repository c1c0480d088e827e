/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compat/srt.c - cloche as srt: the command line of sandbox-runtime
 *
 * Theory of operation: options, settings discovery, messages and exit status
 * are srt's; the run is `cloche run --profile srt` without the agent's files.
 * srt joins its words to one line for bash. Here they stay words, which bash
 * runs as "$@": builtins and assignments work, and no line can grow too long.
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/terminal.h"
#include "base/text.h"
#include "compat/applet.h"
#include "run/options.h"
#include "run/output.h"
#include "run/run.h"

static const char release[] = "0.0.83";	/* Whose behaviour this is */

enum { CONTROL_FILE_MAX = 1 << 20 };	/* What a pipe may hold */

static const char help[] =
	"Usage: srt [options] [command] [command...]\n"
	"\n"
	"Run commands in a sandbox with network and filesystem restrictions\n"
	"\n"
	"Arguments:\n"
	"  command                command to run in the sandbox\n"
	"\n"
	"Options:\n"
	"  -V, --version          output the version number\n"
	"  -d, --debug            enable debug logging\n"
	"  -s, --settings <path>  path to config file (default: ~/.srt-settings.json)\n"
	"  -c <command>           run command string directly (like sh -c), no escaping\n"
	"                         applied\n"
	"  --control-fd <fd>      read config updates from an inherited file descriptor\n"
	"                         >= 3 (JSON lines)\n"
	"  -h, --help             display help for command\n"
	"\n"
	"This is cloche, standing in for srt; see cloche-srt(1).\n";

/**
 * struct srt_call - What was asked for
 * @string:	Of -c, or NULL
 * @words:	The command, NULL-terminated
 * @settings, @control: As they were given, or NULL
 */
struct srt_call {
	const char *string, *settings, *control;
	char **words;
	bool debug, version;
};

static int set_control(const char *value, struct srt_call *call)
{
	uint64_t fd;

	if (text_to_u64(value, 1 << 20, &fd) < 0 || fd < 3) {
		fprintf(stderr, "error: option '--control-fd <fd>' argument '%s' is invalid. must be an integer file descriptor >= 3 (0-2 are stdin, stdout and stderr).\n",
			value);
		return 1;
	}
	call->control = value;
	return -EAGAIN;
}

/* One option. Negative to go on, else the exit status. */
static int take_option(int letter, struct srt_call *call)
{
	switch (letter) {
	case 'd':
		call->debug = true;
		break;
	case 's':	/* An empty one is none, as in srt */
		call->settings = *optarg ? optarg : NULL;
		break;
	case 'c':
		call->string = *optarg ? optarg : NULL;
		break;
	case 'f':
		return set_control(optarg, call);
	case 'V':
		call->version = true;
		break;
	case ':':
		fprintf(stderr, "error: option '%s' argument missing\n",
			optopt == 's' ? "-s, --settings <path>" :
			optopt == 'c' ? "-c <command>" : "--control-fd <fd>");
		return 1;
	default:
		fputs(help, stdout);
		return 0;
	}
	return -EAGAIN;
}

/* Names that are srt's own verbs; none of them is for this system */
static int own_verb(const char *word)
{
	if (!strcmp(word, "proxy")) {
		fprintf(stderr, "srt proxy: cloche has no proxy without a sandbox\n");
		return 2;
	}
	if (!strcmp(word, "windows-install") ||
	    !strcmp(word, "windows-uninstall")) {
		fprintf(stderr, "Error: %s is for Windows only\n", word);
		return 1;
	}
	return -EAGAIN;
}

static const struct option options_of_srt[] = {
	{ "debug", no_argument, NULL, 'd' },
	{ "settings", required_argument, NULL, 's' },
	{ "control-fd", required_argument, NULL, 'f' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

/* Is @word, if it is a long option, written out? getopt_long() takes less */
static bool is_whole(const char *word)
{
	const struct option *row = options_of_srt;

	if (strncmp(word, "--", 2) != 0)
		return true;
	while (row->name && (strlen(row->name) != strcspn(word + 2, "=") ||
			     strncmp(row->name, word + 2, strlen(row->name))))
		row++;
	return row->name;
}

/* Negative if there is something to do, with *@ret filled in; else the exit
 * status, with messages printed. An option that srt does not know is
 * the first word of the command. Options end there: srt goes on looking, and takes
 * -d, -s and -c away from the command itself.
 */
static int srt_parse(int argc, char **argv, struct srt_call *ret)
{
	int r = -EAGAIN, at = 1, letter = 0;

	opterr = optind = 0;
	while (r < 0) {
		at = optind ? optind : 1;
		letter = getopt_long(argc, argv, "+:ds:c:Vh", options_of_srt,
				     NULL);
		if (letter == -1)
			at = optind;
		if (letter == -1 || letter == '?' || !is_whole(argv[at]))
			break;
		r = take_option(letter, ret);
	}
	ret->words = argv + at;
	if (r < 0 && at < argc && strcmp(argv[at - 1], "--") != 0)
		r = own_verb(argv[at]);
	return r;
}

static void on_say(void *arg, const char *line)
{
	(void)arg;
	stderr_line("%s%s", strncmp(line, "note: ", 6) ? "" : "srt: ", line);
}

/* The plan, with -d: srt marks each line of its own */
static void on_print(void *arg, const char *text, size_t n)
{
	(void)arg;
	while (n) {
		const char *end = memchr(text, '\n', n);
		const size_t len = end ? (size_t)(end - text) : n;

		stderr_line("[SandboxDebug] %.*s", (int)len, text);
		n -= len + (end != NULL);
		text += len + (end != NULL);
	}
}

/* The settings file to use, or NULL: the default one does not exist */
static char *find_settings(const struct srt_call *call)
{
	auto_free char *home = fs_home();
	auto_free char *file = call->settings ? mem_strdup(call->settings) :
		home ? path_join(home, ".srt-settings.json") : NULL;

	if (file && !call->settings && access(file, F_OK) < 0 &&
	    errno == ENOENT)
		return NULL;
	return take_ptr(file);
}

/* A file cannot be waited for: what it holds goes into a pipe in its place. 0,
 * or a negative errno.
 */
static int control_from_file(int fd)
{
	auto_buf struct buf text = { 0 };
	auto_close int from = -1;
	auto_close int to = -1;
	int ends[2], r;

	r = fs_read_fd(fd, CONTROL_FILE_MAX, &text, NULL);
	if (r < 0)
		return r;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	from = ends[0];
	to = ends[1];
	/* The pipe has no reader yet: all of it must fit */
	if (fcntl(to, F_SETPIPE_SZ, CONTROL_FILE_MAX) < 0 ||
	    dup2(from, fd) < 0)
		return -errno;
	return fs_write_all(to, buf_str(&text), text.len);
}

/* Where updates come from must be readable: else they would go nowhere */
static int check_control(const char *text)
{
	uint64_t number = 0;
	struct stat st;
	int fd;

	(void)text_to_u64(text, INT_MAX, &number);	/* srt_parse() did it */
	fd = (int)number;
	if (fstat(fd, &st) == 0 &&
	    (fcntl(fd, F_GETFL) & O_ACCMODE) != O_WRONLY &&
	    (!S_ISREG(st.st_mode) || control_from_file(fd) == 0))
		return 0;
	stderr_line("Error: --control-fd %s is not usable: EBADF: bad file descriptor, read. Refusing to run the command without the control channel it asks for.",
		 text);
	return 1;
}

/* A leading word that srt leaves without quotes, so bash takes it for an
 * assignment
 */
static bool is_assignment(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@+,-";
	const size_t name = strcspn(word, "=");

	if (!name || !word[name] || (*word >= '0' && *word <= '9') ||
	    strspn(word, plain) != strlen(word))
		return false;
	for (size_t i = 0; i < name; i++) {
		if (strchr("./:@+,-", word[i]))
			return false;
	}
	return true;
}

/* The argv that runs @call's words, or its string. The caller frees the list,
 * @script is for what it holds.
 */
static char **command_for(const struct srt_call *call, char *shell,
			  struct buf *script)
{
	static char dash_c[] = "-c";
	size_t n = 0, at = 0, first = 0;
	char **argv;

	while (call->words[n])
		n++;
	argv = mem_zalloc((n + 5) * sizeof(*argv));
	argv[at++] = shell;
	argv[at++] = dash_c;
	if (call->string) {
		argv[at++] = (char *)(size_t)call->string;
		return argv;
	}
	/* Bash's own, where srt's lack of quotes leaves it; there may be no
	 * other
	 */
	if (n > 1 && !strcmp(call->words[0], "time"))
		buf_addf(script, "%s ", call->words[first++]);
	for (; first < n && is_assignment(call->words[first]); first++)
		buf_addf(script, "%s ", call->words[first]);
	if (first < n)
		buf_adds(script, "\"$@\"");
	argv[at++] = script->p;
	argv[at++] = shell;
	for (size_t i = first; i < n; i++)
		argv[at++] = call->words[i];
	return argv;
}

static int add_options(const struct srt_call *call, struct options *options,
		       struct err *err)
{
	auto_free char *settings = find_settings(call);
	int r = options_add(options, OPTION_NO_SETTINGS, NULL, err);

	options->as_srt = true;
	if (r == 0)
		r = options_add(options, OPTION_PROFILE, "srt", err);
	if (r == 0)
		r = options_add(options, OPTION_ANNOTATE, "never", err);
	if (r == 0 && settings)
		r = options_add_settings(options, settings, err);
	if (r == 0 && call->control)
		r = options_add(options, OPTION_CONTROL_FD, call->control,
				err);
	if (r == 0 && call->debug)
		r = options_add(options, OPTION_DEBUG, NULL, err);
	return r;
}

static int run_srt(const struct srt_call *call)
{
	static const struct output output = {
		.say = on_say, .print = on_print,
	};
	static struct run one;
	struct options options = { 0 };
	auto_free char *bash = shell_find("bash");
	char sh[] = "/bin/sh", *shell = bash ? bash : sh;
	auto_buf struct buf script = { 0 };
	auto_free char **argv = command_for(call, shell, &script);
	struct err err = { 0 };
	int r;

	r = add_options(call, &options, &err);
	one = (struct run){ .options = &options, .output = &output,
			    .argv = argv, .err = &err };
	if (r == 0)
		r = run(&one);
	options_done(&options);
	if (r < 0)
		stderr_line("Error: %s", err.msg);
	return r < 0 ? 1 : r;
}

int applet_srt(int argc, char **argv)
{
	struct srt_call call = { 0 };
	int r = srt_parse(argc, argv, &call);

	if (r >= 0)
		return r;
	if (call.version) {
		puts(release);
		return 0;
	}
	if (getenv("SRT_DEBUG") && *getenv("SRT_DEBUG"))
		call.debug = true;
	r = call.control ? check_control(call.control) : 0;
	if (r == 0 && !call.string && !call.words[0]) {
		stderr_line("Error: No command specified. Use -c <command> or provide command arguments.");
		r = 1;
	}
	return r ? r : run_srt(&call);
}
