/* SPDX-License-Identifier: Apache-2.0 */
/* embed/run-api.c - cloche.h: sandboxes, and the sizes of structs */

#include "embed/run-api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

int api_copy(void *to, size_t size, const void *from)
{
	const unsigned char *bytes = from;
	size_t theirs = 0;

	if (from)
		memcpy(&theirs, from, sizeof(theirs));
	if (theirs < sizeof(theirs))
		return -EINVAL;
	for (size_t i = size; i < theirs; i++) {
		if (bytes[i])
			return -E2BIG;
	}
	memset(to, 0, size);
	memcpy(to, from, theirs < size ? theirs : size);
	return 0;
}

void api_give(void *to, const void *from, size_t size)
{
	size_t theirs;

	memcpy(&theirs, to, sizeof(theirs));
	if (theirs <= sizeof(theirs))
		return;
	memcpy((char *)to + sizeof(theirs), (const char *)from + sizeof(theirs),
	       (theirs < size ? theirs : size) - sizeof(theirs));
}

const char *cloche_version(void)
{
	return CLOCHE_VERSION;
}

void cloche_free(void *memory)
{
	free(memory);
}

static int set_policy(struct options *options, const char *policy,
		      struct err *err)
{
	/* Anything else would be the name of a file */
	if (policy && policy[strspn(policy, " \t\r\n")] != '{')
		return fail(err, -EINVAL, "the policy is not a JSON object");
	free(options_swap(options, OPTION_SETTINGS, policy));
	return 0;
}

int cloche_sandbox_new(const struct cloche_sandbox_options *options,
		       cloche_sandbox **ret, char *why, size_t why_size)
{
	struct cloche_sandbox_options o = { 0 };
	struct err err = { 0 };
	cloche_sandbox *s;
	int r = options ? api_copy(&o, sizeof(o), options) : 0;

	if (r < 0)
		fail(&err, r, "the options are not of this library");
	s = mem_zalloc(sizeof(*s));
	s->program = mem_strdup(o.program ? o.program : CLOCHE_PROGRAM);
	if (r == 0 && o.policy)
		r = set_policy(&s->options, o.policy, &err);
	if (why && why_size)
		snprintf(why, why_size, "%s", err.msg);
	if (r < 0) {
		cloche_sandbox_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void cloche_sandbox_free(cloche_sandbox *s)
{
	if (!s)
		return;
	options_done(&s->options);
	free(s->program);
	free(s);
}

const char *cloche_sandbox_message(const cloche_sandbox *s)
{
	return s->err.msg;
}

int cloche_sandbox_set(cloche_sandbox *s, const char *name, const char *value)
{
	const enum option_id id = name ? option_find(name, strlen(name))
				       : OPTION_COUNT;

	s->err = (struct err){ 0 };
	if (id == OPTION_COUNT)
		return fail(&s->err, -EINVAL, "there is no option '%s'",
			    name ? name : "");
	return options_add(&s->options, id, value, &s->err);
}

int cloche_sandbox_policy(cloche_sandbox *s, const char *policy)
{
	s->err = (struct err){ 0 };
	return set_policy(&s->options, policy, &s->err);
}

char *cloche_wrap(cloche_sandbox *s, const char *const *argv)
{
	struct buf line = { 0 };

	s->err = (struct err){ 0 };
	if ((!argv || !argv[0]) && !options_has(&s->options, OPTION_COMMAND)) {
		fail(&s->err, -EINVAL, "no command");
		return NULL;
	}
	text_shell_quote(&line, s->program);
	buf_adds(&line, " run");
	for (size_t i = 0; i < s->options.len; i++) {
		const struct option_value *v = &s->options.v[i];

		buf_addf(&line, " --%s", option_row(v->id)->name);
		if (v->value) {
			buf_addc(&line, ' ');
			text_shell_quote(&line, v->value);
		}
	}
	buf_adds(&line, " --");
	text_shell_words(&line, argv, SIZE_MAX);
	return buf_take(&line);
}
