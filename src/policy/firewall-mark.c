/* SPDX-License-Identifier: Apache-2.0 */
/* policy/firewall-mark.c - files that say whether an egress firewall is up */

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
	auto_buf struct buf text = { 0 };
	json_t *document = NULL, *here = firewall_mark_network();

	if (fs_read(AT_FDCWD, FIREWALL_MARK, JSON_TEXT_MAX, &text, NULL) == 0)
		document = json_parse(buf_str(&text), text.len, FIREWALL_MARK,
				      NULL);
	if (document && !json_equal(json_object_get(document, "network"), here)) {
		json_decref(document);
		document = NULL;
	}
	json_decref(here);
	return document;
}

bool firewall_mark_is_up(void)
{
	json_t *mark = firewall_mark_read();
	const char *state = json_string_value(json_object_get(mark, "state"));
	const bool up = state && (!strcmp(state, "up") ||
				  !strcmp(state, "deny-all"));

	json_decref(mark);
	return up;
}

bool firewall_mark_is_missing(void)
{
	auto_buf struct buf path = { 0 };

	buf_addf(&path, "%s/cloche/firewall", etc_dir());
	return access(buf_str(&path), F_OK) == 0 && !firewall_mark_is_up();
}
