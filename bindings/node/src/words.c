/* SPDX-License-Identifier: Apache-2.0 */
/* bindings/node/src/words.c - values of JavaScript as values of C, and back */

#include "words.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

napi_value make_string(napi_env env, const char *text)
{
	napi_value value = NULL;

	(void)napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value);
	return value;
}

napi_value make_number(napi_env env, double number)
{
	napi_value value = NULL;

	(void)napi_create_double(env, number, &value);
	return value;
}

bool is_true(napi_env env, napi_value value)
{
	bool yes = false;

	/* Only a true true is a yes */
	return !napi_get_value_bool(env, value, &yes) && yes;
}

void throw_errno(napi_env env, int error, const char *words)
{
	napi_value object, message = make_string(env, words);

	if (napi_create_error(env, NULL, message, &object))
		return;
	(void)napi_set_named_property(env, object, "errno",
				      make_number(env, error));
	(void)napi_throw(env, object);
}

static bool is_nothing(napi_env env, napi_value value)
{
	napi_valuetype type = napi_undefined;

	(void)napi_typeof(env, value, &type);
	return type == napi_undefined || type == napi_null;
}

char *read_string(napi_env env, napi_value value)
{
	size_t n = 0;
	char *text;

	if (napi_get_value_string_utf8(env, value, NULL, 0, &n)) {
		(void)napi_throw_type_error(env, NULL, "a string is needed");
		return NULL;
	}
	text = malloc(n + 1);
	if (!text)
		abort();
	(void)napi_get_value_string_utf8(env, value, text, n + 1, &n);
	if (strlen(text) == n)
		return text;
	free(text);
	(void)napi_throw_type_error(env, NULL, "a string has a NUL in it");
	return NULL;
}

void free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

char **read_list(napi_env env, napi_value value)
{
	uint32_t n = 0;
	napi_value item;
	char **list;

	if (napi_get_array_length(env, value, &n)) {
		(void)napi_throw_type_error(env, NULL, "an array is needed");
		return NULL;
	}
	list = calloc((size_t)n + 1, sizeof(*list));
	if (!list)
		abort();
	for (uint32_t i = 0; i < n; i++) {
		if (!napi_get_element(env, value, i, &item))
			list[i] = read_string(env, item);
		if (!list[i]) {
			free_list(list);
			return NULL;
		}
	}
	return list;
}

/* The string @name of @object; false if it is something else, NULL is fine */
static bool read_field(napi_env env, napi_value object, const char *name,
		       char **ret)
{
	napi_value value;

	*ret = NULL;
	if (napi_get_named_property(env, object, name, &value))
		return false;
	if (is_nothing(env, value))
		return true;
	*ret = read_string(env, value);
	return *ret != NULL;
}

static bool set_option(napi_env env, cloche_sandbox *box, napi_value pair)
{
	napi_value name, value;
	char *n = NULL, *v = NULL;
	bool good = !napi_get_element(env, pair, 0, &name) &&
		    !napi_get_element(env, pair, 1, &value);
	int r;

	if (good)
		n = read_string(env, name);
	if (n && !is_nothing(env, value))
		v = read_string(env, value);
	good = n && (v || is_nothing(env, value));
	if (good) {
		r = cloche_sandbox_set(box, n, v);
		if (r < 0)
			throw_errno(env, r, cloche_sandbox_message(box));
		good = r == 0;
	}
	free(n);
	free(v);
	return good;
}

static bool set_options(napi_env env, cloche_sandbox *box, napi_value object)
{
	napi_value list, pair;
	uint32_t n = 0;

	if (napi_get_named_property(env, object, "options", &list) ||
	    napi_get_array_length(env, list, &n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (napi_get_element(env, list, i, &pair) ||
		    !set_option(env, box, pair))
			return false;
	}
	return true;
}

cloche_sandbox *make_sandbox(napi_env env, napi_value object)
{
	struct cloche_sandbox_options options = { .size = sizeof(options) };
	cloche_sandbox *box = NULL;
	char *program, *policy = NULL, why[1024];
	int r;

	if (read_field(env, object, "program", &program) &&
	    read_field(env, object, "policy", &policy)) {
		options.program = program;
		options.policy = policy;
		r = cloche_sandbox_new(&options, &box, why, sizeof(why));
		if (r < 0)
			throw_errno(env, r, why);
	}
	free(program);
	free(policy);
	if (box && !set_options(env, box, object)) {
		cloche_sandbox_free(box);
		box = NULL;
	}
	return box;
}

static bool read_stdio(napi_env env, napi_value object, int *ret)
{
	napi_value list, item;

	if (napi_get_named_property(env, object, "stdio", &list))
		return false;
	for (uint32_t i = 0; i < 3; i++) {
		if (napi_get_element(env, list, i, &item) ||
		    napi_get_value_int32(env, item, &ret[i])) {
			(void)napi_throw_type_error(env, NULL, "stdio is three descriptors");
			return false;
		}
	}
	return true;
}

bool read_command(napi_env env, napi_value object, struct command *ret)
{
	napi_value value;

	if (napi_get_named_property(env, object, "argv", &value))
		return false;
	ret->argv = read_list(env, value);
	if (!ret->argv || napi_get_named_property(env, object, "env", &value))
		return false;
	if (!is_nothing(env, value)) {
		ret->env = read_list(env, value);
		if (!ret->env)
			return false;
	}
	return read_field(env, object, "directory", &ret->directory) &&
	       read_stdio(env, object, ret->stdio);
}

void command_done(struct command *command)
{
	free_list(command->argv);
	free_list(command->env);
	free(command->directory);
}
