/* SPDX-License-Identifier: Apache-2.0 */
/* learn/marker.h - files that show which tools a project uses, and what they name
 *
 * Pure: a table, and parsers of text. The text is untrusted, so a parser
 * takes any bytes, allocates no more than they are long and runs nothing.
 */

#ifndef LEARN_MARKER_H
#define LEARN_MARKER_H

#include <stdbool.h>
#include <stddef.h>

enum {
	MARKER_FILE_MAX = 1 << 20,	/* Bytes of a file that people write */
	MARKER_LOCK_MAX = 16 << 20,	/* Bytes of a lock file */
	MARKER_VALUE_MAX = 2048,	/* Bytes of one address; longer ones are dropped */
};

enum tool {
	TOOL_NPM, TOOL_PIP, TOOL_GO, TOOL_CARGO, TOOL_BUNDLER, TOOL_MAVEN,
	TOOL_GRADLE, TOOL_COMPOSER, TOOL_DOCKER, TOOL_GIT, TOOL_COUNT,
};

enum marker_form {
	MARKER_PRESENT,		/* Its name says all */
	MARKER_KEYS,		/* "key = URL", "key: URL", "key URL" */
	MARKER_REQUIREMENTS,	/* pip's requirements */
	MARKER_GO_MOD,
	MARKER_GIT_CONFIG,
	MARKER_XML,		/* <section> ... <key>URL</key> */
	MARKER_JSON,		/* The keys are paths: "packages/dist/url", "*" for any member */
};

/**
 * struct marker - One kind of file, and where in it addresses stand
 * @name:	Its name, or directory and name; a glob. Several rows may have it.
 * @max:	Bytes to read at most
 * @keys:	Names of values that are addresses, blanks between them
 * @sections:	Globs of the sections or XML elements that count; NULL: all
 * @main_key:	The one of @keys that replaces the tool's own registry, or NULL
 */
struct marker {
	const char *name;
	enum tool tool;
	enum marker_form form;
	size_t max;
	const char *keys, *sections, *main_key;
};

enum marker_what {
	MARKER_URL,		/* An address that the tool fetches from */
	MARKER_REGISTRY,	/* The same, instead of the tool's own registry */
	MARKER_SCOPE,		/* npm: "@scope" of a package that is needed */
	MARKER_MODULE,		/* Go: path of a module that is needed */
	MARKER_BAD,		/* The file cannot be parsed; the value is "" */
};

/* Called for each value, which is @n bytes without a NUL */
typedef void (*marker_fn)(void *arg, enum marker_what what, const char *value,
			  size_t n);

/* The first row for the file @path, relative to the project, after @previous (NULL:
 * from the start); or NULL
 */
const struct marker *marker_find(const char *path, const struct marker *previous);

/* True if a directory of that name is worth a look although its name starts with a dot */
bool marker_is_in(const char *directory);

/* Report what @n bytes of @text name */
void marker_scan(const struct marker *marker, const char *text, size_t n,
		 marker_fn fn, void *arg);

/* What people call the tool */
const char *tool_name(enum tool tool);

#endif /* LEARN_MARKER_H */
