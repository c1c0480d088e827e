/* SPDX-License-Identifier: Apache-2.0 */
/* policy/pathrule.h - the grammar of sandbox.filesystem.* entries */

#ifndef POLICY_PATHRULE_H
#define POLICY_PATHRULE_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/origin.h"

struct err;
struct glob;

/* How hard a rule is to lift */
enum rule_strength {
	RULE_BASELINE,	/* Our default: an allow that names it lifts it */
	RULE_USER,	/* A settings file or an option has it */
	RULE_ALWAYS,	/* Nothing lifts it: our stores, settings files */
};

/* What kind of place a rule makes of its path (policy/home.def) */
enum rule_place {
	PLACE_HOST,	/* The host's files */
	PLACE_PRIVATE,	/* A denied directory that is empty and the sandbox's own */
	PLACE_LAYER,	/* The host's files below a private writable layer */
	PLACE_CACHE,	/* As that; without layers the host's own, writable */
	PLACE_BIN,	/* A program; a link to one stays a link */
	PLACE_COVER,	/* Hidden in a layer, existing or not */
};

/**
 * struct path_rule - One entry of a path list
 * @text:	As it was written
 * @path:	Absolute and normalised; for a glob, the directory above its
 *		first pattern character
 * @glob:	The compiled pattern of the whole path, or NULL
 * @literal:	For a glob of sandbox.filesystem, the whole path read as plain
 *		text: where a file of that very name exists, the rule means it
 *		too; else NULL
 * @strength:	How hard it is to lift
 * @must_exist:	A missing path is an error (command-line options)
 * @obeyed:	A settings file or program that the next run uses without approval
 * @marker:	Applies only while the file holds one of these
 *		(path_rule_has_marker()), or NULL: always
 * @keys:	Settings of such a file that stay visible (policy/redact.h), or NULL
 * @place:	What becomes of the path
 * @shared:	Programs outside write there meanwhile: names that are protected
 *		elsewhere are not searched for, and new ones are not moved away
 * @origin:	Where it was written
 */
struct path_rule {
	char *text;
	char *path;
	struct glob *glob;
	char *literal;
	enum rule_strength strength;
	bool must_exist, obeyed, shared;
	const char *marker, *keys;
	enum rule_place place;
	struct origin origin;
};

/* Parse @text, whose relative paths start at @base; the user's home is @home (or
 * NULL): "//p" and "/p" are absolute, "~" and "~/p" lie in
 * the home, all else below @base; "*", "?" and "[set]" make it a pattern; a
 * final "/" or "/ **" (without the blank) means the directory itself.
 * Fills in text, path, glob and literal. 0, or -EINVAL with a message and @ret as it was.
 */
int path_rule_parse(const char *text, const char *base, const char *home,
		    struct path_rule *ret, struct err *err);

/* The pattern @rest, which begins with a "/", in the directory of that very name;
 * NULL if it is not a valid pattern
 */
struct glob *path_rule_below(const char *dir, const char *rest);

/* Release the parts of @rule */
void path_rule_done(struct path_rule *rule);

/* Why @text most likely names something else than its author thinks, and what
 * to write; NULL if nothing is odd about it. A backslash takes a character's
 * meaning away if @escapes. As a denial such a text would protect nothing, without a
 * message.
 */
const char *path_rule_doubt(const char *text, bool escapes);

enum {
	MARKER_LOOK_MAX = 64 << 10,	/* A larger file is taken to hold a marker */
};

/* True if the @n bytes of @text hold one of the @markers of a rule: texts separated
 * by "|"; "@url" is a URL with a password or a token before its host.
 */
bool path_rule_has_marker(const char *markers, const char *text, size_t n);

#endif /* POLICY_PATHRULE_H */
