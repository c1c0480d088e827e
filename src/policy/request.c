/* SPDX-License-Identifier: Apache-2.0 */
/* policy/request.c - where this process's settings are: its environment */

#include <stdlib.h>

#include "base/fs.h"
#include "policy/roots.h"
#include "policy/settings.h"

static const char *variable(const char *name)
{
	return getenv(name);
}

void settings_request_init(struct settings_request *req, const char *cwd)
{
	*req = (struct settings_request){
		.cwd = cwd,
		.etc = roots_etc(),
		.claude = getenv("CLAUDE_CONFIG_DIR"),
		.config = getenv("XDG_CONFIG_HOME"),
		.state = getenv("XDG_STATE_HOME"),
		.cache = getenv("XDG_CACHE_HOME"),
		.data = getenv("XDG_DATA_HOME"),
		.variable = variable,
		.pinned = getenv("CLOCHE_TRUST"),
		.owned = { fs_home(), fs_account_home() },
	};
	req->home = req->owned[0];
	req->account_home = req->owned[1];
}

void settings_request_done(struct settings_request *req)
{
	free(req->owned[0]);
	free(req->owned[1]);
	*req = (struct settings_request){ 0 };
}
