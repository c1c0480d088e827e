/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/srt-options.c - the command line of srt
 *
 * An option that srt does not know is the first word of the command. Options
 * end there: srt goes on looking, and takes -d, -s and -c away from the command
 * itself, which nobody can want.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/srt.h"

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

enum option { DEBUG, SETTINGS, STRING, CONTROL, VERSION, HELP, NONE };

static const struct {
	const char *flags, *name;
	char letter;
	bool takes;
} rows[] = {
	[DEBUG] = { "-d, --debug", "debug", 'd', false },
	[SETTINGS] = { "-s, --settings <path>", "settings", 's', true },
	[STRING] = { "-c <command>", NULL, 'c', true },
	[CONTROL] = { "--control-fd <fd>", "control-fd", '\0', true },
	[VERSION] = { "-V, --version", "version", 'V', false },
	[HELP] = { "-h, --help", "help", 'h', false },
};

static enum option find_long(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].name && strlen(rows[i].name) == n &&
		    !strncmp(rows[i].name, name, n))
			return (enum option)i;
	}
	return NONE;
}

static enum option find_letter(char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (letter && rows[i].letter == letter)
			return (enum option)i;
	}
	return NONE;
}

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

/* Negative to go on, else the exit status */
static int set(enum option option, const char *value, struct srt_call *call)
{
	if (rows[option].takes && !value) {
		fprintf(stderr, "error: option '%s' argument missing\n",
			rows[option].flags);
		return 1;
	}
	switch (option) {
	case DEBUG:
		call->debug = true;
		break;
	case SETTINGS:	/* An empty one is none, as in srt */
		call->settings = *value ? value : NULL;
		break;
	case STRING:
		call->string = *value ? value : NULL;
		break;
	case CONTROL:
		return set_control(value, call);
	case VERSION:
		call->version = true;
		break;
	default:
		fputs(help, stdout);
		return 0;
	}
	return -EAGAIN;
}

/* "--name", "--name=value", "--name value". The words used, 0 if it is no
 * option of srt; *@ret as from set().
 */
static int take_long(int left, char **argv, struct srt_call *call, int *ret)
{
	const char *name = argv[0] + 2;
	const size_t n = strcspn(name, "=");
	const enum option option = find_long(name, n);
	const char *value = name[n] ? name + n + 1 : NULL;
	const bool next = !value && option != NONE && rows[option].takes &&
			  left > 1;

	if (option == NONE || (value && !rows[option].takes))
		return 0;
	*ret = set(option, next ? argv[1] : value, call);
	return next ? 2 : 1;
}

/* "-d", "-dc value", "-svalue" */
static int take_letters(int left, char **argv, struct srt_call *call, int *ret)
{
	const char *letters = argv[0] + 1;

	if (find_letter(*letters) == NONE)
		return 0;
	for (; *letters && *ret < 0; letters++) {
		const enum option option = find_letter(*letters);
		const char *value = letters[1] ? letters + 1 :
				    left > 1 ? argv[1] : NULL;

		if (option == NONE)
			return 0;
		if (!rows[option].takes) {
			*ret = set(option, NULL, call);
			continue;
		}
		*ret = set(option, value, call);
		return letters[1] || !value ? 1 : 2;
	}
	return 1;
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

int srt_parse(int argc, char **argv, struct srt_call *ret)
{
	int r = -EAGAIN, i = 1;

	while (i < argc && argv[i][0] == '-' && argv[i][1] && r < 0) {
		int used;

		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		used = argv[i][1] == '-' ?
			take_long(argc - i, argv + i, ret, &r) :
			take_letters(argc - i, argv + i, ret, &r);
		if (!used)
			break;
		i += used;
	}
	ret->words = argv + i;
	if (r < 0 && i < argc && strcmp(argv[i - 1], "--") != 0)
		r = own_verb(argv[i]);
	return r;
}
