/* SPDX-License-Identifier: Apache-2.0 */
/* agent/mcp.h - MCP servers in the settings of agents, started in the sandbox
 *
 * A server is wrapped by an edit of its entry: the command becomes cloche, and the old
 * command line follows "--" in its arguments. In a file of the user's own these are
 * `run OPTIONS -- OLD`. A project's file is the repository's, which must not choose
 * its own options: there they are `mcp start NAME -- OLD`, and the options are in the
 * record of the edit, which only the user's `mcp wrap` writes.
 */

#ifndef AGENT_MCP_H
#define AGENT_MCP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct buf;
struct err;

enum {
	MCP_SERVERS_MAX = 256,	/* In one file */
	MCP_WORDS_MAX = 1024,	/* Of one command line */
};

enum mcp_scope { MCP_USER, MCP_LOCAL, MCP_PROJECT, MCP_SCOPES };

/**
 * struct mcp_file - A file in which an agent keeps servers
 * @agent:	Its name: claude, codex, gemini, cursor, vscode
 * @path:	Absolute
 * @project:	Where it must lie, or NULL if it is not a project's
 * @keys:	Where in it the servers are, ended by NULL
 * @toml:	TOML instead of JSON, in which comments are ignored
 */
struct mcp_file {
	const char *agent;
	enum mcp_scope scope;
	char *path, *project;
	char *keys[4];
	bool toml;
};

/* The @i-th file of any agent, seen from the project @cwd: true, with *@ret to be
 * released; false past the last
 */
bool mcp_file_at(size_t i, const char *cwd, struct mcp_file *ret);
void mcp_file_done(struct mcp_file *file);

/* "user", "local" or "project"; MCP_SCOPES if @name is none of them */
enum mcp_scope mcp_scope_find(const char *name);
const char *mcp_scope_name(enum mcp_scope scope);

/**
 * struct mcp_span - A part of a text
 */
struct mcp_span {
	size_t from, to;
};

/**
 * struct mcp_server - An entry of a file
 * @words:	Its command and arguments
 * @command:	Where the command's value stands; empty if it is not started by one
 * @list:	Where the list of arguments stands; empty if there is none
 * @args:	Where each argument stands
 * @env:	Names of the variables that the entry sets or passes on
 * @odd:	It has a command, but not as a string with a list of strings as arguments
 * @inline_table: In TOML: the entry is { ... } on one line
 * @key:	In TOML: where the key of the command starts
 */
struct mcp_server {
	char *name;
	struct strings words, env;
	struct mcp_span command, list;
	struct { struct mcp_span *v; size_t len, cap; } args;
	size_t key;
	bool odd, inline_table;
};

/**
 * struct mcp_servers - All of one file
 * @full:	There are more
 */
struct mcp_servers {
	struct mcp_server *v;
	size_t len, cap;
	bool full;
};

void mcp_servers_done(struct mcp_servers *servers);
#define auto_servers	__attribute__((cleanup(mcp_servers_done)))

/* The servers in @text, which @file names. 0, or -EINVAL with a message. */
int mcp_parse(const struct mcp_file *file, const struct buf *text,
	      struct mcp_servers *ret, struct err *err);
/* The same for TOML (mcp-toml.c), which has no NUL byte */
int mcp_parse_toml(const struct mcp_file *file, const struct buf *text,
		   struct mcp_servers *ret, struct err *err);
/* The server of that name, made if need be; NULL past the limit */
struct mcp_server *mcp_server_get(struct mcp_servers *servers, const char *name);
/* The same; NULL if there is none */
struct mcp_server *mcp_server_find(const struct mcp_servers *servers,
				   const char *name);

/* The servers in the file as it is now; 0 and none if there is no file */
int mcp_read(const struct mcp_file *file, struct mcp_servers *ret, struct err *err);

/* The index of the first word of the old command line, where @s is wrapped; else 0 */
size_t mcp_wrapped_at(const struct mcp_file *file, const struct mcp_server *s);

/* A variable that the entry sets and that would change which settings cloche reads, or
 * which program is started as cloche; or NULL
 */
const char *mcp_steering_variable(const struct mcp_server *s);

/* True if @name is such a variable */
bool mcp_is_steering(const char *name);

/* Wrap the server @name: @program is cloche, @options are words for run, ended by NULL.
 * 1, 0 if it was wrapped so, or a negative errno with a message.
 */
int mcp_wrap(const struct mcp_file *file, const char *name, const char *program,
	     const char *const *options, struct err *err);

/* Undo that; what was not changed otherwise is as it was, byte for byte. 1, 0 if it
 * is not wrapped, or a negative errno with a message.
 */
int mcp_unwrap(const struct mcp_file *file, const char *name, struct err *err);

/* The options that the user gave to the server @name of a project's file at or above
 * @cwd, whose command line has the @n @words. False if there are none.
 */
bool mcp_options_of(const char *cwd, const char *name, char *const *words, size_t n,
		    struct strings *ret);

#endif /* AGENT_MCP_H */
