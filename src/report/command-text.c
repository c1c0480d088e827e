/* SPDX-License-Identifier: Apache-2.0 */
/* report/command-text.c - a command line for records, without what looks like a secret */

#include "report/command-text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/env-rules.h"

static const char BLANKS[] = " \t\r\n";
static const char ENDS[] = " \t\r\n'\"`;&|()<>";	/* Of a word in a script */

/**
 * struct word_before - What the next word is the value of
 * @secret:	An option with a secret's name
 * @user:	-u or --user
 */
struct word_before {
	bool secret, user;
};

/* Remove the @n bytes at @at */
static void remove_bytes(char *at, size_t n)
{
	memmove(at, at + n, strlen(at + n) + 1);
}

void command_text_strip(char *text)
{
	while ((text = strstr(text, "://")) != NULL) {
		size_t host, n;

		text += 3;
		host = strcspn(text, "/?# \t\r\n'\"`");
		for (n = host; n && text[n - 1] != '@'; n--)
			;
		remove_bytes(text, n);
		n = strcspn(text, "? \t\r\n'\"`");
		if (text[n] == '?')
			remove_bytes(text + n + 1, strcspn(text + n + 1, " \t\r\n'\"`"));
	}
}

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* True of a value that switches something (ssh's PasswordAuthentication=no) */
static bool is_switch(const char *value)
{
	return text_has_word("yes no true false on off ask auto none 0 1", value);
}

/* True if the value at @s, behind a "=" or ":", belongs to a secret's name, which ends
 * at @end. What the shell fills in is no secret itself.
 */
static bool is_secret_pair(const char *text, const char *end, const char *s)
{
	auto_free char *value = NULL;
	const char *name = end;

	while (name > text && is_name_byte(name[-1]))
		name--;
	if (name == end || !*s || *s == '$' || strchr(";&|)", *s))
		return false;
	value = mem_strndup(s, strcspn(s, ENDS));
	return !is_switch(value) &&
	       env_is_secret_name(name, (size_t)(end - name), value);
}

/* The first value in @text that has a secret's name before it, or NULL */
static const char *find_pair(const char *text)
{
	for (const char *s = text; (s = strpbrk(s, "=:")) != NULL; s++) {
		const char *end = s, *value = s + 1;

		if (end > text && strchr("'\"", end[-1]))
			end--;
		if (*s == ':')
			value += strspn(value, BLANKS);
		value += strspn(value, "'\"");
		if (is_secret_pair(text, end, value))
			return s + 1;
	}
	return NULL;
}

static struct word_before look_at(const char *word, size_t n)
{
	const size_t dashes = strspn(word, "-");

	return (struct word_before){
		.secret = dashes && n > dashes + 1 && !memchr(word, '=', n) &&
			  env_is_secret_name(word + dashes, n - dashes, ""),
		.user = (n == 2 && !memcmp(word, "-u", 2)) ||
			(n == 6 && !memcmp(word, "--user", 6)),
	};
}

/* True if a word of @text is the value of the word before it; @before is the last word of
 * the argument before, and then of this one
 */
static bool has_value_of(const char *text, struct word_before *before)
{
	bool found = false;

	while (*(text += strspn(text, ENDS))) {
		const size_t n = strcspn(text, ENDS);

		found |= (before->secret && *text != '-' && *text != '$') ||
			 (before->user && memchr(text, ':', n));
		*before = look_at(text, n);
		text += n;
	}
	return found;
}

/* Cut @arg; true if there was something to cut */
static bool cut_secrets(char **arg, struct word_before *before)
{
	auto_free char *old = mem_strdup(*arg);
	bool whole = has_value_of(old, before);
	const char *value;

	whole |= env_is_secret_value(old) && !strstr(old, "://");
	command_text_strip(*arg);
	whole |= env_is_secret_value(*arg);
	value = find_pair(*arg);
	if (whole || (value && strpbrk(*arg, BLANKS))) {
		free(*arg);
		*arg = mem_strdup(COMMAND_TEXT_CUT);
	} else if (value) {
		char *cut = mem_printf("%.*s" COMMAND_TEXT_CUT,
				       (int)(value - *arg), *arg);

		free(*arg);
		*arg = cut;
	}
	return strcmp(*arg, old) != 0;
}

bool command_text(const char *const *argv, size_t max, struct buf *out)
{
	struct word_before before = { 0 };
	bool cut = false;

	for (; *argv && out->len < max; argv++) {
		auto_free char *arg = mem_strdup(*argv);

		cut |= cut_secrets(&arg, &before);
		text_shell_words(out, (const char *const []){ arg, NULL }, max);
	}
	return cut;
}
