/* SPDX-License-Identifier: Apache-2.0 */
/* policy/firewall-mark.c - files that show whether an egress firewall is up */

#include "policy/firewall-mark.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "policy/settings.h"

json_t *firewall_mark_network(void)
{
	struct stat st;

	if (stat("/proc/self/ns/net", &st) < 0)
		return json_integer(0);
	return json_integer((json_int_t)st.st_ino);
}

json_t *firewall_mark_read(void)
{
	auto_json json_t *document = json_read(AT_FDCWD, FIREWALL_MARK, NULL);
	auto_json json_t *here = firewall_mark_network();

	return json_equal(json_object_get(document, "network"), here) ?
	       take_ptr(document) : NULL;
}

bool firewall_mark_is_up(void)
{
	auto_json json_t *mark = firewall_mark_read();
	const char *state = json_get_text(mark, "state");

	return state && (!strcmp(state, "up") || !strcmp(state, "deny-all"));
}

bool firewall_mark_is_missing(void)
{
	auto_buf struct buf path = { 0 };

	buf_addf(&path, "%s/cloche/firewall", etc_dir());
	return access(buf_str(&path), F_OK) == 0 && !firewall_mark_is_up();
}
