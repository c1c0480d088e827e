/* SPDX-License-Identifier: Apache-2.0 */
/* bindings/node/src/words.h - values of JavaScript as values of C, and back
 *
 * What reads a value throws into JavaScript and returns NULL or false if it is
 * not what it should be.
 */

#ifndef NODE_WORDS_H
#define NODE_WORDS_H

#include <cloche.h>
#include <node_api.h>
#include <stdbool.h>

/**
 * struct command - What cloche_start() is given; command_done() it
 * @env:	NULL for this process's
 */
struct command {
	char **argv, **env, *directory;
	int stdio[3];
};

napi_value make_string(napi_env env, const char *text);
napi_value make_number(napi_env env, double number);
bool is_true(napi_env env, napi_value value);
void throw_errno(napi_env env, int error, const char *words);

/* To be freed; a string must not hold a NUL */
char *read_string(napi_env env, napi_value value);
char **read_list(napi_env env, napi_value value);
void free_list(char **list);

/* {program, policy, options: [[name, value]...]} */
cloche_sandbox *make_sandbox(napi_env env, napi_value value);

/* {argv, env, directory, stdio} */
bool read_command(napi_env env, napi_value value, struct command *ret);
void command_done(struct command *command);

#endif /* NODE_WORDS_H */
