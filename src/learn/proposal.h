/* SPDX-License-Identifier: Apache-2.0 */
/* learn/proposal.h - hosts that a project's tools need, each with its reason */

#ifndef LEARN_PROPOSAL_H
#define LEARN_PROPOSAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "learn/marker.h"

struct err;

enum {
	PROPOSAL_HOSTS_MAX = 64,
	PROPOSAL_NOTES_MAX = 64,	/* Lines about what was not written, and why */
	PROPOSAL_NAMES_MAX = 1024,	/* npm's scopes, Go's modules: of each */
	PROPOSAL_DEPTH_MAX = 4,		/* Directories below the project's own */
	PROPOSAL_DIRS_MAX = 512,
	PROPOSAL_FILES_MAX = 256,
	PROPOSAL_ENTRIES_MAX = 1 << 16,	/* Names looked at, in all directories */
};

/**
 * struct proposed_host - An entry for network.allowedDomains
 * @entry:	"registry.example.org", with its port if that is not the scheme's
 * @reason:	Which tool, and where it is written
 * @own:	The user's own configuration names it, not only the project
 */
struct proposed_host {
	char *entry, *reason;
	bool own;
};

/**
 * struct proposal - What was found; zero-initialise it
 * @notes:	Lines for the user
 * @unsaid:	Notes beyond PROPOSAL_NOTES_MAX
 * @scopes:	npm's scopes that are used
 * @modules:	Go's modules that are used
 * @used:	The file that shows that a tool is used, or NULL
 * @settled:	The project names the registry of that tool
 */
struct proposal {
	struct { struct proposed_host *v; size_t len, cap; } hosts;
	struct strings notes, scopes, modules;
	size_t unsaid;
	char *used[TOOL_COUNT];
	bool settled[TOOL_COUNT];
};

void proposal_done(struct proposal *p);
#define auto_proposal	__attribute__((cleanup(proposal_done)))

void proposal_note(struct proposal *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The host of an address: "https://user@name:port/path", "git+ssh://name/path" or
 * "user@name:path". 0 and the entry in *@ret, which the caller frees; or -EINVAL with
 * *@ret_why, words for what it is instead of the name of a host.
 */
int proposal_host_of(const char *url, size_t n, char **ret, const char **ret_why);

/* Add the host of @url, which @where names; or a note. What users write into addresses
 * (passwords) is never shown.
 */
void proposal_add(struct proposal *p, enum tool tool, const char *url, size_t n,
		  const char *where, bool own);

/* The user's own configuration names @url: if the project does as well, that host is
 * the user's
 */
void proposal_vouch(struct proposal *p, const char *url, size_t n);

/* Add what the file @where says; @own as above */
void proposal_read(struct proposal *p, const struct marker *marker,
		   const char *where, const char *text, size_t n, bool own);

/* project-tree.c - read the files of the project @root. A negative errno only if
 * @root cannot be read; what else cannot be read is a note.
 */
int proposal_read_tree(struct proposal *p, const char *root, struct err *err);

/* tool-config.c - ask the tools that were found, outside of the project @root, and
 * read their configuration in @home (or NULL)
 */
void proposal_ask_tools(struct proposal *p, const char *root, const char *home);

#endif /* LEARN_PROPOSAL_H */
