/* SPDX-License-Identifier: Apache-2.0 */
/* cage/frame-tree.h - the pieces of a frame's execution, among themselves */

#ifndef CAGE_FRAME_TREE_H
#define CAGE_FRAME_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct frame;
struct frame_op;

enum {
	FRAME_NODES = 7,	/* Six devices, and the terminal */
	FRAME_CONSOLE = FRAME_NODES - 1,
};

/**
 * struct frame_source - What an operation binds
 * @fd:		A place, or a mount of its own; -1 if there is none
 * @is_mount:	Which of the two: taken before the host's root changed
 * @later:	It is there, but there was no room to keep it open
 */
struct frame_source {
	int fd;
	bool is_mount, later;
};

/**
 * struct frame_tree - Descriptors while the new root is built
 * @host:	The root as it was
 * @root:	The new one; the same as @host while that is rebuilt in place
 * @self:	/proc/self, to name descriptors for mount()
 * @store:	A tmpfs that nobody sees, for bytes and overlays; -1 until needed
 * @sources:	One for each operation
 * @nodes:	Devices of the host, where they must be taken beforehand
 * @stored:	How many names @store has
 * @room:	Descriptors from this number on are for the work at hand
 * @in_place:	The host's root is restricted, and so are its devices
 */
struct frame_tree {
	const struct frame *frame;
	int host, root, self, store;
	struct frame_source *sources;
	int nodes[FRAME_NODES];
	unsigned int stored;
	int room;
	bool in_place;
};

/* frame-tree.c: build the root that @frame asks for and enter it */
int frame_build(const struct frame *frame, struct err *err);
/* Have the source of operation @i open, if it has one */
int frame_open_source(const struct frame_tree *tree, size_t i,
		      struct err *err);
/* The path of a descriptor for mount(), which runs in /proc/self */
void frame_fd_path(int fd, char *ret, size_t size);

/* frame-place.c: places below the new root. Links lead nowhere else. */
/* What is there (O_PATH), or a negative errno */
int place_open(int root, const char *path);
/* What is there, or a new directory or empty file; with words */
int place_dir(int root, const struct frame_op *op, mode_t mode,
	      struct err *err);
int place_file(int root, const struct frame_op *op, struct err *err);
/* The directory above, made if it is missing; *@ret_name is the caller's */
int place_parent(int root, const struct frame_op *op, char **ret_name,
		 struct err *err);

/* frame-dev.c */
int frame_new_fs(const char *type, const char *const (*options)[2],
		 uint64_t attr, struct err *err);
int frame_new_tmpfs(mode_t mode, uint64_t size, struct err *err);
/* The devices, before the place in which they are is restricted */
int frame_take_nodes(struct frame_tree *tree, struct err *err);
int frame_fill_dev(struct frame_tree *tree, int dev, struct err *err);
int frame_cover_proc(int proc, struct err *err);

/* frame-overlay.c: an operation like those of frame-ops.c */
int frame_overlay(struct frame_tree *tree, const struct frame_op *op,
		  struct frame_source *source, struct err *err);

/**
 * struct frame_owner - Who started it: inside, we cannot ask any more
 */
struct frame_owner {
	uid_t uid;
	gid_t gid;
};

/* frame-ids.c: who we are in the user namespaces, and what we may */
bool frame_has_userns(const struct frame *frame);
int frame_map_ids(const struct frame *frame, int self,
		  const struct frame_owner *owner, struct err *err);
int frame_nest_userns(const struct frame *frame, int proc, int self,
		      struct err *err);
int frame_drop_caps(const struct frame *frame, bool keep, struct err *err);
void frame_raise_ambient(const struct frame *frame);

/* frame-child.c: the whole way to the command */
void frame_child(struct frame *frame, const struct frame_owner *owner,
		 int socket, bool wait_first)
	__attribute__((noreturn));

#endif /* CAGE_FRAME_TREE_H */
