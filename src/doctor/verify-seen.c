/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-seen.c - what everybody on the host can see of a run */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "doctor/verify-try.h"
#include "doctor/verify-world.h"

enum { COMMAND_LINE_MAX = 8192 };

/* The canary backwards: another secret, which no attempt is told */
void passed_secret(const struct target *t, char ret[static CANARY_HEX + 1])
{
	for (size_t i = 0; i < CANARY_HEX; i++)
		ret[i] = t->canary[CANARY_HEX - 1 - i];
	ret[CANARY_HEX] = '\0';
}

bool seen_in_command_lines(const struct target *t)
{
	auto_closedir DIR *dir = opendir("/proc");
	char secret[CANARY_HEX + 1], text[COMMAND_LINE_MAX], path[300];
	const struct dirent *entry;

	passed_secret(t, secret);
	while (dir && (entry = readdir(dir)) != NULL) {
		auto_close int fd = -1;
		ssize_t n;

		if (strtol(entry->d_name, NULL, 10) <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? 0 : read(fd, text, sizeof(text));
		if (n > 0 && memmem(text, (size_t)n, secret, CANARY_HEX))
			return true;
	}
	return false;
}

/* Given by name, it is here; now the host looks around. A control has nothing
 * to do: its own process shows the secret (verify-control.c).
 */
void attempt_passed(const struct world *w, const char *argument,
		    struct found *f)
{
	if (!w->inside || !getenv(argument))
		return;
	try_after_host(f);
	f->error = 0;
}
