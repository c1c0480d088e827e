/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/immutable-files.c - programs and settings files that no command may change
 *
 * What is at a fixed place has a row in policy/defaults.c. Here is what lies
 * where it was installed: this program with its companions, which may be in a
 * project's node_modules, in a virtual environment or in ~/.local/bin, and the
 * files that runs were given by --settings. The next run starts the first and
 * obeys the second. Names that do not exist count as well where their directory
 * does: a companion is looked for beside the program first, and a "cloche" earlier
 * on the PATH is found first.
 */

#include "run/decision.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/policy.h"
#include "report/violation-store.h"
#include "run/options.h"
#include "installed.h"

enum { LIST_MAX = 16 << 10 };	/* Bytes; the oldest names go */

static const char list_name[] = "settings-files";
static const char own_program[] = "cloche runs from here: update it outside the sandbox";

/* Beside the program, wherever that is */
static const char *const companions[] = {
	"cloche", "cloche-firewall", "cloche-resolve", "cloche-secret",
	"cloche-secret-service", "cloche-tls", "cloche-verify", "libcloche.so",
	"libcloche.so.0",
};

/* Below the directory that bin is in */
static const char *const installed[] = {
	"libexec/cloche", "lib/libcloche.so", "lib/libcloche.so.0",
	CLOCHE_LIBDIR "/libcloche.so", CLOCHE_LIBDIR "/libcloche.so.0",
};

static void freeze(struct policy *policy, char *path, const char *why)
{
	const struct source *source = policy_add_source(policy, SCOPE_BUILTIN,
							"defaults", NULL, 0,
							"/");

	struct path_rule *rule = policy_take_literal(policy, PATH_DENY_WRITE,
		path, RULE_ALWAYS, origin_make(source, NULL, why));

	if (rule)
		rule->obeyed = true;
}

/* The way to a name that is denied cannot be made: ~/.local/lib is others', too */
static void freeze_existing(struct policy *policy, char *path)
{
	if (access(path, F_OK) == 0)
		freeze(policy, path, own_program);
	else
		free(path);
}

/* The directory of this program; after an update its file has no name */
static char *own_dir(void)
{
	auto_free char *self = fs_link("/proc/self/exe");

	return self ? path_parent(self) : NULL;
}

/* The package of a binding, which has the program in native/; pnpm keeps it aside
 * and has a link in its place
 */
static void freeze_package(struct policy *policy, const char *dir)
{
	const char *aside = strstr(dir, "/.pnpm/");

	freeze(policy, mem_strdup(dir), own_program);
	if (aside)
		freeze(policy, mem_printf("%.*s/cloche", (int)(aside - dir),
					  dir), own_program);
}

static void freeze_program(struct policy *policy)
{
	auto_free char *dir = own_dir();
	auto_free char *above = dir ? path_parent(dir) : NULL;

	if (!dir)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(companions); i++)
		freeze(policy, path_join(dir, companions[i]), own_program);
	if (!strcmp(path_base(dir), "native") &&
	    !strcmp(path_base(above), "cloche"))
		freeze_package(policy, above);
	for (size_t i = 0; !strcmp(path_base(dir), "bin") &&
	     i < ARRAY_SIZE(installed); i++)
		freeze_existing(policy, path_join(above, installed[i]));
	freeze_existing(policy, mem_strdup(CLOCHE_LIBEXECDIR));
}

/* The name by which this program was started: a link like node_modules/.bin/cloche,
 * which its user types again. In a host process of the library that name is not ours.
 */
static void freeze_invoked(struct policy *policy)
{
	const char *name = (const char *)getauxval(AT_EXECFN);
	auto_free char *self = fs_link("/proc/self/exe");
	auto_free char *cwd = getcwd(NULL, 0);
	auto_free char *path = cwd && name ? path_resolve(cwd, name) : NULL;

	if (self && path && !strcmp(path_base(self), "cloche") &&
	    strcmp(path, self) && !path_is_within("/proc", path) &&
	    !path_is_within("/dev", path))
		freeze_existing(policy, take_ptr(path));
}

/* "cloche" in each directory of the PATH that is below the home or the project */
static void freeze_on_path(struct policy *policy)
{
	const char *path = getenv("PATH");
	char *next;

	while ((next = path_next_dir(&path))) {
		auto_free char *word = next;
		auto_free char *dir = path_resolve(policy->cwd, word);

		if ((path_is_within(policy->cwd, dir) ||
		     (policy->home && path_is_within(policy->home, dir))) &&
		    access(dir, F_OK) == 0)
			freeze(policy, path_join(dir, "cloche"), own_program);
	}
}

/* One a line, the newest first; those that are not there any more are left out */
static void read_list(struct buf *out)
{
	auto_free char *state = violation_store_default_dir();
	auto_free char *file = state ? path_join(state, list_name) : NULL;
	auto_buf struct buf text = { 0 };
	char *save = NULL;

	if (!file || fs_read(AT_FDCWD, file, LIST_MAX, &text, NULL) < 0)
		return;
	for (char *line = strtok_r(text.p, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (*line == '/' && access(line, F_OK) == 0)
			buf_addf(out, "%s\n", line);
	}
}

static void freeze_named(struct policy *policy)
{
	auto_buf struct buf list = { 0 };
	char *save = NULL;

	read_list(&list);
	for (char *line = list.p ? strtok_r(list.p, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		freeze(policy, mem_strdup(line),
		       "a settings file of an earlier run");
}

void immutable_files_add(struct policy *policy)
{
	freeze_program(policy);
	freeze_invoked(policy);
	freeze_on_path(policy);
	freeze_named(policy);
}

void immutable_files_remember(const struct options *options,
		     const struct policy *policy)
{
	const char *file = options_get(options, OPTION_SETTINGS);
	auto_free char *state = violation_store_default_dir();
	auto_buf struct buf list = { 0 }, line = { 0 };
	auto_free char *path = NULL;
	auto_close int dir = -1;

	if (!file || file[strspn(file, " \t\r\n")] == '{' || !state)
		return;
	path = path_resolve(policy->cwd, file);
	buf_addf(&line, "\n%s\n", path);
	buf_addc(&list, '\n');
	read_list(&list);
	if (strchr(path, '\n') || strstr(buf_str(&list), buf_str(&line)) ||
	    path_is_within("/dev", path) || path_is_within("/proc", path) ||
	    path_is_within(state, path))
		return;
	buf_adds(&line, buf_str(&list) + 1);
	dir = fs_open_private_dir(state, NULL);
	while (line.len > LIST_MAX) {
		line.p[--line.len] = '\0';
		line.len = (size_t)(strrchr(line.p, '\n') + 1 - line.p);
	}
	if (dir >= 0)
		(void)fs_replace(dir, list_name, line.p + 1, line.len - 1, 0600,
				 NULL);
}
