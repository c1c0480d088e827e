/* SPDX-License-Identifier: Apache-2.0 */
/* policy/origin.c - who said so: the file, line and key behind each value */

#include "policy/origin.h"

#include "base/buf.h"
#include "base/json.h"

const char *scope_name(enum scope scope)
{
	static const char *const names[SCOPE_COUNT] = {
		[SCOPE_BUILTIN] = "built in",
		[SCOPE_USER] = "user",
		[SCOPE_PROJECT] = "project",
		[SCOPE_LOCAL] = "local",
		[SCOPE_FLAG] = "flag",
		[SCOPE_MANAGED] = "managed",
	};

	return names[scope];
}

unsigned int origin_line(const struct origin *origin)
{
	const struct source *source = origin->source;
	struct json_place at;

	if (!source || !source->text || !origin->key ||
	    json_locate(source->text, source->len, origin->key, &at) < 0)
		return 0;
	return at.line;
}

void origin_describe(const struct origin *origin, struct buf *out)
{
	const unsigned int line = origin_line(origin);

	if (!origin->source || origin->source->scope == SCOPE_BUILTIN) {
		buf_adds(out, "built in");
		if (origin->reason)
			buf_addf(out, ": %s", origin->reason);
		return;
	}
	buf_adds(out, origin->source->name);
	if (line)
		buf_addf(out, ":%u", line);
	if (origin->key)
		buf_addf(out, ": %s", origin->key);
}
