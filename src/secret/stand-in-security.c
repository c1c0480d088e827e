/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/stand-in-security.c - for tests: behaves as macOS `security` does
 *
 * As far as it matters: `-i` reads its commands into a buffer of 4096 bytes
 * and takes what does not fit for the next command, without a word; the exit
 * status is the low byte of the framework's error; values that are not plain
 * ASCII are printed in hexadecimal. Items are files below $HOME/keychain, and
 * $HOME/spawns gets one line per start. A file $HOME/mood makes it misbehave:
 * locked, hang, crash, garbage, flood, mute; or "pair": it answers only once
 * two of it were started.
 */

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BUFFER = 4096, WORDS = 16, ITEM_MAX = 1 << 20 };
enum { NOT_FOUND = 44, LOCKED = 36, USAGE = 2 };

static const char *home(const char *below)
{
	static char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", getenv("HOME"), below);
	return path;
}

static const char *option(int n, char **words, const char *name)
{
	for (int i = 1; i + 1 < n; i++) {
		if (!strcmp(words[i], name))
			return words[i + 1];
	}
	return NULL;
}

static const char *item_path(int n, char **words)
{
	static char below[512];

	(void)snprintf(below, sizeof(below), "keychain/%s@%s",
		       option(n, words, "-a"), option(n, words, "-s"));
	return home(below);
}

static int nibble(char c)
{
	return c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
}

/* By rename, since somebody may be reading it */
static int add(int n, char **words)
{
	const char *hex = option(n, words, "-X");
	char made[PATH_MAX + 16];
	FILE *f;

	if (!hex || !option(n, words, "-a") || !option(n, words, "-s"))
		return USAGE;
	(void)mkdir(home("keychain"), 0700);
	(void)snprintf(made, sizeof(made), "%s.%d", item_path(n, words),
		       (int)getpid());
	f = fopen(made, "we");
	for (size_t i = 0; f && hex[i] && hex[i + 1]; i += 2)
		(void)fputc(nibble(hex[i]) << 4 | nibble(hex[i + 1]), f);
	return f && !fclose(f) && !rename(made, item_path(n, words)) ? 0 : 1;
}

static int find(int n, char **words)
{
	static unsigned char item[ITEM_MAX];
	FILE *f = fopen(item_path(n, words), "re");
	bool plain = true;
	size_t len;

	if (!f)
		return NOT_FOUND;
	len = fread(item, 1, sizeof(item), f);
	(void)fclose(f);
	for (size_t i = 0; i < len; i++)
		plain = plain && item[i] >= 0x20 && item[i] < 0x7f;
	for (size_t i = 0; i < len; i++)
		(void)(plain ? putchar(item[i]) : printf("%02x", item[i]));
	(void)putchar('\n');
	return 0;
}

static int command(int n, char **words)
{
	if (n < 1)
		return 0;
	if (!strcmp(words[0], "add-generic-password"))
		return add(n, words);
	if (!strcmp(words[0], "find-generic-password"))
		return find(n, words);
	if (!strcmp(words[0], "delete-generic-password"))
		return unlink(item_path(n, words)) < 0 ? NOT_FOUND : 0;
	return USAGE;
}

/* Words between blanks; double quotes keep blanks and are dropped */
static int split(char *line, char **words)
{
	int n = 0;

	for (char *p = line; *p && n < WORDS;) {
		const bool quoted = *p == '"';

		p += quoted;
		words[n++] = p;
		p += strcspn(p, quoted ? "\"" : " \n");
		if (*p)
			*p++ = '\0';
		p += strspn(p, " \n");
	}
	return n;
}

static int interactive(void)
{
	char line[LINE_BUFFER], *words[WORDS];
	int r = 0;

	while (fgets(line, sizeof(line), stdin))
		r = command(split(line, words), words);
	return r;
}

/* Until $HOME/spawns has two lines */
static void wait_for_another(void)
{
	const struct timespec moment = { 0, 1000000 };
	int lines = 0;

	while (lines < 2) {
		FILE *f = fopen(home("spawns"), "re");

		lines = 0;
		for (int c = f ? fgetc(f) : EOF; c != EOF; c = fgetc(f))
			lines += c == '\n';
		if (f)
			(void)fclose(f);
		(void)nanosleep(&moment, NULL);
	}
}

static void misbehave(void)
{
	char mood[32] = "";
	FILE *f = fopen(home("mood"), "re");

	if (!f)
		return;
	(void)!fgets(mood, sizeof(mood), f);
	(void)fclose(f);
	if (!strcmp(mood, "pair")) {
		wait_for_another();
		return;
	}
	if (!strcmp(mood, "locked"))
		exit(LOCKED);
	if (!strcmp(mood, "hang"))
		for (;;)
			(void)pause();
	if (!strcmp(mood, "crash"))
		(void)raise(SIGKILL);
	if (!strcmp(mood, "garbage"))
		(void)puts("\x01\xff{not json");
	for (int i = 0; !strcmp(mood, "flood") && i < 1 << 22; i++)
		(void)putchar('a');
	exit(0);
}

int main(int argc, char **argv)
{
	const int log = open(home("spawns"),
			     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (argc < 2)
		return USAGE;
	(void)dprintf(log, "%s\n", argv[1]);
	misbehave();
	if (!strcmp(argv[1], "-i"))
		return interactive();
	return command(argc - 1, argv + 1);
}
