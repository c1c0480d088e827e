/* SPDX-License-Identifier: Apache-2.0 */
/* watch/sealed.c - to quarantine, and say so */

#include "watch/sealed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/violation.h"
#include "watch/gitrepo.h"
#include "watch/quarantine.h"

/* @err is why it is not in quarantine; it may be @gone all the same */
static void tell(const struct gitrepo_config *c, const char *path, bool gone,
		 const char *reason, const char *id, const struct err *err)
{
	struct violation v = { .kind = VIOLATION_QUARANTINE, .count = 1,
			       .op = mem_strdup("quarantine"),
			       .target = mem_strdup(path) };

	if (err) {
		v.error = -err->code;
		v.reason = mem_printf("%s; %s%s", reason,
				      gone ? "" : "it is still there: ",
				      err->msg);
	} else {
		v.reason = mem_strdup(reason);
		v.suggest_command = mem_printf("cloche violations restore %s",
					       id);
	}
	violation_report(c->sink, &v);
	violation_done(&v);
}

char *sealed_plant(const char *root, const char *path)
{
	struct stat st;

	for (const char *end = path + strlen(root);
	     *end && (end = strchr(end + 1, '/')) != NULL;) {
		char *above = mem_strndup(path, (size_t)(end - path));

		if (lstat(above, &st) == 0 && S_ISLNK(st.st_mode))
			return above;
		free(above);
	}
	return mem_strdup(path);
}

bool sealed_move(const struct gitrepo_config *c, const char *path,
		 const char *reason)
{
	char id[QUARANTINE_ID_SIZE];
	struct err err = { 0 };
	const int r = c->full ? quarantine_drop(path, &err) :
		      quarantine_move(c->state, path, c->run, reason, id, &err);

	if (r == -ENOENT)
		return true;
	tell(c, path, r >= 0, reason, id, r ? &err : NULL);
	return r >= 0;
}

bool sealed_rewrite(const struct gitrepo_config *c, int dir, const char *path,
		    const struct buf *old, const struct buf *text,
		    const char *reason)
{
	char id[QUARANTINE_ID_SIZE];
	struct err err = { 0 };
	int r = quarantine_keep(c->state, path, buf_str(old), old->len, c->run,
				reason, id, &err);

	if (r == 0)
		r = fs_replace(dir, path_base(path), buf_str(text), text->len,
			       0644, &err);
	tell(c, path, r == 0, reason, id, r < 0 ? &err : NULL);
	return r == 0;
}
