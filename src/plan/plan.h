/* SPDX-License-Identifier: Apache-2.0 */
/* plan/plan.h - everything the launcher will do, as data
 *
 * Built from a view and facts about the machine, without touching anything:
 * `cloche explain` prints it, tests compare it, src/sandbox carries it out.
 */

#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "plan/jail.h"
#include "plan/network.h"
#include "plan/tier.h"
#include "policy/policy.h"

struct arena;
struct buf;
struct err;
struct view;

enum mount_kind {
	MOUNT_BIND_RW,		/* A writable root, or one inside a mask */
	MOUNT_BIND_RO,		/* Read-only inside something writable */
	MOUNT_PIN,		/* Onto itself: cannot be renamed away */
	MOUNT_MASK_DIR,		/* An empty, read-only directory */
	MOUNT_MASK_FILE,	/* A file that cannot be opened */
	MOUNT_SHOW,		/* Visible again inside a mask, read-only */
	MOUNT_PRIVATE,		/* A directory of our own, writable */
	MOUNT_LAYER,		/* The host's, with a private layer; or read-only */
	MOUNT_SPARE,		/* As MOUNT_BIND_RW, where there is no layer */
	MOUNT_MADE,		/* A file of our own, read-only */
	MOUNT_REDACTED,		/* The same in the place of one that is hidden */
	MOUNT_STAGED,		/* A writable root whose changes are staged */
};

/**
 * struct plan_mount - One mount onto an existing path, in order
 * @kind:	What it does
 * @path:	Where, and for binds also what; real, absolute
 * @is_dir, @is_link: What stands there
 * @dev, @ino:	What was seen there when the plan was made
 * @refuses:	A mask that talks: look-ups in it are errors, not misses
 * @pristine:	The source is the tree as it was before any mount
 * @loose:	Something else will stand there by then: do not compare
 * @mask:	Which skeleton directory it shows, or writes to; for
 *		MOUNT_SPARE, that of its layer
 * @layer:	The mount point is in this layer, or 0: it exists
 * @rule:	The rule behind it, or NULL for our own reasons
 * @reason:	Words; a literal
 */
struct plan_mount {
	enum mount_kind kind;
	char *path;
	bool is_dir, is_link, refuses;
	dev_t dev;
	ino_t ino;
	bool pristine, loose;
	unsigned int mask, layer;
	const struct path_rule *rule;
	const char *reason;
};

/**
 * struct plan_point - A mount point that must exist inside a mask or /tmp
 * @mask:	The skeleton directory it is in; MASK_TMP is the private /tmp
 * @path:	Relative to it
 * @open:	What leads to it is the command's to write in
 * @target:	It is a symbolic link to there, or NULL
 * @text:	It is a file with this content, or NULL; of @len bytes if that is not 0
 */
struct plan_point {
	unsigned int mask;
	char *path, *target, *text;
	size_t len;
	bool is_dir, open;
};

/* What Landlock lets a command do, each with all before it */
enum grant_right {
	GRANT_NOTHING,
	GRANT_LIST,		/* Names in directories */
	GRANT_READ,
	GRANT_WRITE,
};

/**
 * struct plan_grant - The landlock tier: what may be done at and below a path
 * @dev, @ino:	What was seen there when the plan was made
 * @beside:	Granted because something beside it must not be
 */
struct plan_grant {
	enum grant_right right;
	char *path;
	dev_t dev;
	ino_t ino;
	bool beside;
	const struct path_rule *rule;
};

/**
 * struct plan_carved - A directory whose entries are granted one by one
 * @right:	What they have
 * @listed:	Its names can be listed
 * @because:	The first path in it that has less
 */
struct plan_carved {
	enum grant_right right;
	char *path, *because;
	bool listed;
};

enum {
	MASK_EMPTY = 0,		/* Nothing is shown inside */
	MASK_TMP = 1,		/* Below the private /tmp */
	MASK_FIRST = 2,		/* Masks that show something inside */
};

enum tmp_kind {
	TMP_HOST,		/* The host's /tmp, as the rules have it */
	TMP_KEPT,		/* Private, kept between runs of this project */
	TMP_FRESH,		/* Private, gone with the sandbox */
};

/**
 * struct machine - What this machine can enforce; facts, not wishes
 * @landlock_abi: 0 where there is none
 * @nested:	In a sandbox of ours, whose listener leaves no room for another
 * @uid, @gid:	The user's
 */
struct machine {
	int landlock_abi;
	bool nested;
	uid_t uid;
	gid_t gid;
};

/**
 * struct plan - The whole of it
 * @view:	Not owned; outlives the plan
 * @tier:	How it will be held
 * @grants, @carved: In the landlock tier, instead of mounts
 * @weak_proc:	Do with the host's /proc, read-only, where a new one is refused
 * @root_writable: A rule says so, or file system rules are off
 * @ephemeral:	Writable roots are MOUNT_STAGED; their @mask counts from 0
 * @tmp:	What /tmp is
 * @env:	"NAME=VALUE" for the command, NULL at the end
 * @argv:	The command, NULL at the end
 * @unfrozen:	A name that the next run obeys and that does not exist, so that
 *		no mount freezes it; NULL also where an outer sandbox's observer
 *		does
 * @namespaces:	CLONE_NEW* flags
 * @network:	Ports, for NET_FILTERED
 * @jail:	Routes, for NET_JAIL, or for the gate of NET_FILTERED
 * @proxies:	In the landlock tier: the ports of the gate, which is the only
 *		one that may be connected to; 0 where there is no network
 */
struct plan {
	const struct view *view;
	struct machine machine;
	enum tier tier;
	struct { struct plan_grant *v; size_t len, cap; } grants;
	struct { struct plan_carved *v; size_t len, cap; } carved;
	bool weak_proc;
	bool root_writable, ephemeral;
	enum tmp_kind tmp;
	struct { struct plan_mount *v; size_t len, cap; } mounts;
	struct { struct plan_point *v; size_t len, cap; } points;
	unsigned int masks;
	char **env;
	char **argv;
	char *cwd;
	const char *unfrozen;
	uint64_t namespaces;
	enum net_mode net;
	struct network network;
	struct jail jail;
	struct network_proxies proxies;
	bool unix_sockets;	/* AF_UNIX is open: allowAllUnixSockets */
	bool sockets_by_path;	/* Only those of allowUnixSockets */
	bool observe, observe_full;
	bool observe_files;	/* Of reads, those of files that are hidden in roots */
	bool observe_late;	/* Some roots, or all modes and times, are the observer's */
	bool talk;		/* Masks report, where FUSE can be mounted */
	bool nested_userns;
};

/**
 * struct shown_file - A file that is hidden, and what is shown in its place
 * @path:	Where it really is
 */
struct shown_file {
	char *path, *text;
};

/**
 * struct plan_request - What to run, and how the caller wants it
 * @tmpdir:	In the landlock tier: where $TMPDIR is; else NULL
 * @program:	Where the command will find cloche itself; NULL if nowhere
 * @proxies:	In the landlock tier: where the proxies are, or NULL
 * @git_config:	In profile home: the content of ~/.gitconfig
 * @bundle:	Certificates instead of the system's, or NULL
 * @java_store:	The same for Java; empty or NULL without
 * @shown:	Masked files with placeholders for their secrets; @n_shown of them
 */
struct plan_request {
	char *const *argv;
	char *const *environ;
	bool observe, observe_full, ephemeral;
	enum tier tier;
	const char *tmpdir, *program, *git_config, *bundle;
	const struct buf *java_store;
	const struct network_proxies *proxies;
	struct shown_file *shown;
	size_t n_shown;
};

/* The namespaces of a sandbox, as CLONE_NEW* flags */
uint64_t plan_namespaces(enum tier tier, enum net_mode net);

int plan_build(const struct view *view, const struct machine *machine,
	       const struct plan_request *request, struct plan **ret,
	       struct err *err);
void plan_free(struct plan *plan);

/* Fail if the command could make a file that the next run obeys. @observed: an
 * observer refuses that.
 */
int plan_check_frozen(const struct plan *plan, bool observed, struct err *err);

/* What its tier's promises rest on */
struct ground plan_ground(const struct plan *plan);

static inline void plan_freep_(struct plan **plan)
{
	plan_free(*plan);
}

#define auto_plan	__attribute__((cleanup(plan_freep_)))

const char *mount_kind_name(enum mount_kind kind);

/* For people, a line per thing; for programs, one JSON object */
void plan_print(const struct plan *plan, struct buf *out);
void plan_print_json(const struct plan *plan, struct buf *out);

/* plan/environment.c: the command's environment, from the caller's and the policy;
 * @tmpdir is NULL where $TMPDIR is left alone
 */
char **env_build(const struct view *view, const struct plan_request *request,
		 const char *tmpdir, enum net_mode net);
void env_free(char **env);
/* The value of a variable in @caller, or NULL */
const char *env_lookup(char *const *caller, const char *name);

/* Profile home: @path with the directories of the home behind those of the
 * system, and ~/.local/bin last. The caller frees.
 */
char *env_path(const struct policy *policy, const char *path);

/* Stages of plan_build() and what follows from them */

/* Fill @plan's mounts, points and masks from @view; @plan is otherwise empty
 * but for root_writable
 */
void mounts_plan(struct plan *plan, const struct view *view);

enum {
	LANDLOCK_GRANTS_MAX = 8192,	/* Rules that a run may take */
	LANDLOCK_GRANTS_DEPTH_MAX = 64,	/* Directories carved, one inside the other */
};

/* Close the host's /tmp but for what rules name in it, and open @tmpdir, the
 * private one (NULL: none); before landlock_grants_plan()
 */
void landlock_grants_close_tmp(struct view *view, const char *tmpdir);

/* Fill @plan->grants and @plan->carved. 0, or a negative errno that names the
 * rule which Landlock cannot express here.
 */
int landlock_grants_plan(struct plan *plan, const struct view *view, struct err *err);

/* In the landlock tier: does Landlock itself let @path be changed, made and
 * removed?
 */
bool landlock_grants_cover(const struct plan *plan, const char *path);

/* And is @path one of the directories above something protected or hidden,
 * which must stay where they are?
 */
bool landlock_grants_carve(const struct plan *plan, const char *path);

/* A copy of all that the sandbox needs of @plan (tier full): the view, the rules
 * and the jail's routes are left out. NULL if it does not fit.
 */
const struct plan *plan_pack(const struct plan *plan, struct arena *arena);

/* overlay-path.c - paths that exist only in the staged changes */

/* Marks a directory that was made so that changes in it can be staged: to the command it
 * is missing as far as its first mkdir() goes
 */
#define PLACEHOLDER_ATTRIBUTE	"user.cloche.placeholder"

/* Where what the command sees at @path stands: in @store, the directory of a
 * run's changes, if only that has it; else at @path. @store may be NULL. The
 * caller frees.
 */
char *overlay_path_find(const struct plan *plan, const char *store,
		  const char *path);

/* btime_in_repository() for what the command sees */
bool overlay_path_in_repository(const struct plan *plan, const char *store,
			 const char *root, const char *path,
			 const struct timespec *since);

#endif /* PLAN_PLAN_H */
