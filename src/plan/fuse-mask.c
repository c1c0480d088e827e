/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan/fuse-mask.c - FUSE masks: the replies of a mount over hidden paths
 *
 * Theory of operation: the kernel asks about numbered nodes. The root is 1, the
 * tree's node i is i + 2; they never change, so everything may be cached for
 * ever; edited settings only add some. Nothing may be opened, so there is
 * never a file to read. Names that the tree does not have are refused or missing,
 * always the same within a mask: the answer must not tell whether the host has
 * such a name.
 */

#include "plan/fuse-mask.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"
#include "plan/plan.h"

enum {
	FIRST_NODE = FUSE_ROOT_ID + 1,
	FOR_EVER = 1 << 30,		/* Seconds */
	MINOR = 31,			/* Of the protocol, as spoken here */
	NAMES_MAX = 255,
	BLOCK = 4096,
};

/* An answer being written, as the kernel wants it */
struct reply {
	struct fuse_out_header header;
	union {
		struct fuse_init_out init;
		struct fuse_attr_out attr;
		struct fuse_entry_out entry;
		struct fuse_open_out open;
		struct fuse_statfs_out statfs;
		char bytes[FUSE_MASK_REPLY_MAX - sizeof(struct fuse_out_header)];
	};
};

static_assert(sizeof(struct reply) == FUSE_MASK_REPLY_MAX, "the reply's max");

static struct fuse_mask_node *push_node(struct fuse_mask_tree *tree, int parent,
				   char *name, char *path, bool is_dir)
{
	struct fuse_mask_node *node = vec_push(tree);

	*node = (struct fuse_mask_node){
		.parent = parent, .name = name, .path = path, .is_dir = is_dir,
	};
	return node;
}

static int find_name(const struct fuse_mask_tree *tree, int parent,
		     const char *name, size_t n)
{
	for (size_t i = 0; i < tree->len; i++) {
		const struct fuse_mask_node *node = &tree->v[i];

		if (node->parent == parent && strlen(node->name) == n &&
		    !memcmp(node->name, name, n))
			return (int)i;
	}
	return -1;
}

/* The mount point @name in the mask @top, and the directories above it */
static void push_point(struct fuse_mask_tree *tree, int top, const char *name,
		       bool is_dir)
{
	int parent = top;

	while (*name) {
		const size_t n = strcspn(name, "/");
		const bool last = !name[n];
		const int there = find_name(tree, parent, name, n);
		struct fuse_mask_node *node;

		if (there < 0) {
			node = push_node(tree, parent, mem_strndup(name, n),
				mem_printf("%s/%.*s", tree->v[parent].path,
					   (int)n, name),
				!last || is_dir);
			node->refuses = tree->v[top].refuses;
			parent = (int)tree->len - 1;
		} else {
			parent = there;
		}
		name += n + !last;
	}
}

/* A mask may show mount points only. In a mount namespace of its own a process may see
 * another directory there.
 */
static bool is_simple(const struct plan *plan, const struct plan_mount *m)
{
	for (size_t i = 0; m->mask != MASK_EMPTY && i < plan->points.len; i++) {
		const struct plan_point *point = &plan->points.v[i];

		if (point->mask == m->mask &&
		    (point->open || point->target || point->text ||
		     (point->is_dir && plan->nested_userns)))
			return false;
	}
	return true;
}

/* And they must be few: a tracee that works in a directory below a hidden one must be
 * observed, so each of those directories takes a descriptor
 */
static bool fits(const struct fuse_mask_tree *tree, const struct plan *plan,
		     const struct plan_mount *m)
{
	size_t n = 0, ways = tree->ways.len;

	for (size_t i = 0; m->mask != MASK_EMPTY && i < plan->points.len; i++) {
		if (plan->points.v[i].mask == m->mask) {
			ways += plan->points.v[i].is_dir;
			n++;
		}
	}
	return n <= FUSE_MASK_NODES_MAX / 2 && (!n || ways <= FUSE_MASK_WAYS_MAX) &&
	       tree->len < FUSE_MASK_NODES_MAX;
}

/* What the mask @top shows */
static void push_points(struct fuse_mask_tree *tree, int top,
			const struct plan *plan, unsigned int mask)
{
	for (size_t i = 0; mask != MASK_EMPTY && i < plan->points.len; i++) {
		const struct plan_point *point = &plan->points.v[i];

		if (point->mask != mask)
			continue;
		if (point->is_dir)
			*vec_push(&tree->ways) = mem_printf("%s/%s",
				tree->v[top].path, point->path);
		push_point(tree, top, point->path, point->is_dir);
	}
}

void fuse_mask_tree_build(const struct plan *plan, struct fuse_mask_tree *ret)
{
	*ret = (struct fuse_mask_tree){
		.uid = plan->machine.uid, .gid = plan->machine.gid,
	};
	for (size_t i = 0; plan->talk && i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];
		const bool dir = m->kind == MOUNT_MASK_DIR;
		const int top = (int)ret->len;
		struct fuse_mask_node *node;

		if ((!dir && m->kind != MOUNT_MASK_FILE) ||
		    (dir && !is_simple(plan, m)))
			continue;
		if (!fits(ret, plan, m)) {
			ret->silent++;
			continue;
		}
		node = push_node(ret, FUSE_MASK_TOP, mem_printf("%zu", i),
				 mem_strdup(m->path), dir);
		node->mount = i;
		node->refuses = m->refuses;
		if (dir)
			push_points(ret, top, plan, m->mask);
	}
}

enum fuse_mask_part fuse_mask_part(const struct plan *plan, const char *path)
{
	enum fuse_mask_part part = FUSE_MASK_NO_PART;

	/* Parents come first: what a mask shows has the last word */
	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];
		const bool hides = m->kind == MOUNT_MASK_DIR ||
				   m->kind == MOUNT_MASK_FILE;

		if (part == FUSE_MASK_NO_PART && !hides)
			continue;
		if (!strcmp(m->path, path) && hides)
			part = m->is_dir ? FUSE_MASK_DIR : FUSE_MASK_FILE;
		else if (!strcmp(m->path, path))
			part = m->is_dir ? FUSE_MASK_SHOWN_DIR : FUSE_MASK_SHOWN_FILE;
		else if (path_is_below(m->path, path))
			part = hides ? FUSE_MASK_INSIDE : FUSE_MASK_NO_PART;
		else if (part == FUSE_MASK_INSIDE && path_is_below(path, m->path))
			part = FUSE_MASK_SHOWN_DIR;
	}
	return part;
}

void fuse_mask_tree_done(struct fuse_mask_tree *tree)
{
	for (size_t i = 0; i < tree->len; i++) {
		free(tree->v[i].name);
		free(tree->v[i].path);
	}
	strings_done(&tree->ways);
	free(tree->v);
	*tree = (struct fuse_mask_tree){ 0 };
}

bool fuse_mask_tree_find(const struct fuse_mask_tree *tree, size_t mount,
		    size_t *next, uint64_t *ret)
{
	while (*next < tree->len && (tree->v[*next].parent != FUSE_MASK_TOP ||
				     tree->v[*next].mount < mount))
		++*next;
	if (*next == tree->len || tree->v[*next].mount != mount)
		return false;
	*ret = *next + FIRST_NODE;
	return true;
}

static void fill_attr(const struct fuse_mask_tree *tree, uint64_t id,
		      struct fuse_attr *attr)
{
	const bool dir = id == FUSE_ROOT_ID || tree->v[id - FIRST_NODE].is_dir;

	*attr = (struct fuse_attr){
		.ino = id, .mode = dir ? S_IFDIR | 0555 : S_IFREG,
		.nlink = dir ? 2 : 1, .uid = tree->uid, .gid = tree->gid,
		.blksize = BLOCK,
	};
}

static void fill_entry(const struct fuse_mask_tree *tree, uint64_t id,
		       struct fuse_entry_out *entry)
{
	*entry = (struct fuse_entry_out){
		.nodeid = id, .entry_valid = FOR_EVER, .attr_valid = FOR_EVER,
	};
	fill_attr(tree, id, &entry->attr);
}

static ssize_t answer_init(const struct fuse_init_in *in, struct reply *out)
{
	out->init = (struct fuse_init_out){
		.major = FUSE_KERNEL_VERSION,
		.minor = in->minor < MINOR ? in->minor : MINOR,
		.max_readahead = in->max_readahead,
		.flags = in->flags & FUSE_DO_READDIRPLUS,
		.max_write = BLOCK,
	};
	/* Another major version would want another answer: there is none */
	return in->major == FUSE_KERNEL_VERSION ? (ssize_t)sizeof(out->init)
						: -EPROTO;
}

/* The index of node @id, or FUSE_MASK_TOP */
static int index_of(uint64_t id)
{
	return id == FUSE_ROOT_ID ? FUSE_MASK_TOP : (int)(id - FIRST_NODE);
}

/* The names from @in->offset on, as many as fit, each with its attributes */
static ssize_t answer_names(const struct fuse_mask_tree *tree, int dir,
			    const struct fuse_read_in *in, bool plus,
			    struct reply *out)
{
	const size_t max = in->size < sizeof(out->bytes) ? in->size
							  : sizeof(out->bytes);
	size_t at = 0;

	for (uint64_t i = in->offset; i < tree->len; i++) {
		const struct fuse_mask_node *node = &tree->v[i];
		const size_t len = strlen(node->name);
		const size_t head = plus ? FUSE_NAME_OFFSET_DIRENTPLUS
					 : FUSE_NAME_OFFSET;
		const size_t size = FUSE_DIRENT_ALIGN(head + len);
		struct fuse_dirent entry = {
			.ino = i + FIRST_NODE, .off = i + 1,
			.namelen = (uint32_t)len,
			.type = node->is_dir ? DT_DIR : DT_REG,
		};
		struct fuse_entry_out attributes;

		if (node->parent != dir)
			continue;
		if (at + size > max)
			break;
		memset(out->bytes + at, 0, size);
		if (plus) {
			fill_entry(tree, i + FIRST_NODE, &attributes);
			memcpy(out->bytes + at, &attributes,
			       sizeof(attributes));
		}
		memcpy(out->bytes + at + head - FUSE_NAME_OFFSET, &entry,
		       FUSE_NAME_OFFSET);
		memcpy(out->bytes + at + head, node->name, len);
		at += size;
	}
	return (ssize_t)at;
}

static ssize_t answer_lookup(const struct fuse_mask_tree *tree, int dir,
			     const char *name, size_t n, struct reply *out,
			     struct fuse_mask_event *event)
{
	const size_t len = strnlen(name, n);
	int there;

	if (len == n)
		return -EPROTO;
	there = find_name(tree, dir, name, len);
	if (there >= 0) {
		fill_entry(tree, (uint64_t)there + FIRST_NODE, &out->entry);
		return (ssize_t)sizeof(out->entry);
	}
	if (dir == FUSE_MASK_TOP)
		return -ENOENT;
	event->what = FUSE_MASK_SOUGHT;
	event->name = name;
	return tree->v[dir].refuses ? -EACCES : -ENOENT;
}

/* Bytes of an opcode's own header, or of a name; -1 for what is not known */
static int size_of(uint32_t opcode)
{
	switch (opcode) {
	case FUSE_INIT:		return offsetof(struct fuse_init_in, flags) + 4;
	case FUSE_LOOKUP:	return 1;
	case FUSE_READDIR:
	case FUSE_READDIRPLUS:	return sizeof(struct fuse_read_in);
	case FUSE_ACCESS:	return sizeof(struct fuse_access_in);
	case FUSE_GETATTR:
	case FUSE_OPEN:
	case FUSE_OPENDIR:
	case FUSE_RELEASEDIR:
	case FUSE_STATFS:	return 0;
	default:		return -1;
	}
}

/* What is asked of a node that exists: bytes of the body, or -errno */
static ssize_t answer_node(const struct fuse_mask_tree *tree,
			   const struct fuse_in_header *in, const void *body,
			   size_t n, struct reply *out,
			   struct fuse_mask_event *event)
{
	const int node = index_of(in->nodeid);
	const bool dir = node == FUSE_MASK_TOP || tree->v[node].is_dir;

	switch (in->opcode) {
	case FUSE_LOOKUP:
		return dir ? answer_lookup(tree, node, body, n, out, event)
			   : -ENOTDIR;
	case FUSE_GETATTR:
		out->attr = (struct fuse_attr_out){ .attr_valid = FOR_EVER };
		fill_attr(tree, in->nodeid, &out->attr.attr);
		return (ssize_t)sizeof(out->attr);
	case FUSE_OPEN:
		event->what = dir ? FUSE_MASK_NOTHING : FUSE_MASK_OPENED;
		return -EACCES;
	case FUSE_OPENDIR:
		event->what = node == FUSE_MASK_TOP ? FUSE_MASK_NOTHING : FUSE_MASK_LISTED;
		out->open = (struct fuse_open_out){ 0 };
		return (ssize_t)sizeof(out->open);
	case FUSE_READDIR:
	case FUSE_READDIRPLUS:
		return answer_names(tree, node, body,
				    in->opcode == FUSE_READDIRPLUS, out);
	case FUSE_ACCESS:
		return dir && !(((const struct fuse_access_in *)body)->mask & 2)
		       ? 0 : -EACCES;
	case FUSE_RELEASEDIR:
		return 0;
	case FUSE_STATFS:
		out->statfs = (struct fuse_statfs_out){
			.st = { .bsize = BLOCK, .namelen = NAMES_MAX },
		};
		return (ssize_t)sizeof(out->statfs);
	default:
		return -ENOSYS;
	}
}

static bool expects_nothing(uint32_t opcode)
{
	return opcode == FUSE_FORGET || opcode == FUSE_BATCH_FORGET ||
	       opcode == FUSE_INTERRUPT;
}

ssize_t fuse_mask_answer(const struct fuse_mask_tree *tree, const void *request,
		    size_t n, void *reply, struct fuse_mask_event *event)
{
	const struct fuse_in_header *in = request;
	const void *body = in + 1;
	struct reply *out = reply;
	ssize_t r;
	int least;

	*event = (struct fuse_mask_event){ 0 };
	if (n < sizeof(*in) || in->len != n)
		return -EPROTO;
	if (expects_nothing(in->opcode))
		return 0;
	n -= sizeof(*in);
	least = size_of(in->opcode);
	if (least < 0)
		r = -ENOSYS;
	else if (n < (size_t)least)
		return -EPROTO;
	else if (in->opcode == FUSE_INIT)
		r = answer_init(body, out);
	else if (in->nodeid < FUSE_ROOT_ID ||
		 in->nodeid >= tree->len + FIRST_NODE)
		r = -ESTALE;
	else
		r = answer_node(tree, in, body, n, out, event);
	if (event->what) {
		event->node = (size_t)index_of(in->nodeid);
		event->tid = (pid_t)in->pid;
		event->error = r < 0 ? (int)-r : 0;
	}
	out->header = (struct fuse_out_header){
		.len = (uint32_t)(sizeof(out->header) + (r > 0 ? (size_t)r : 0)),
		.error = r < 0 ? (int)r : 0, .unique = in->unique,
	};
	return out->header.len;
}
