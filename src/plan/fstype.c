/* SPDX-License-Identifier: Apache-2.0 */
/* plan/fstype.c - what a kind of file system can be relied on for */

#include "plan/fstype.h"

#include <linux/magic.h>
#include <stddef.h>
#include <sys/vfs.h>

#include "base/own.h"

static bool is_listed(long type, const long *types, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (types[i] == type)
			return true;
	}
	return false;
}

bool fstype_keeps_times(const struct statfs *fs)
{
	static const long known[] = {
		EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
		F2FS_SUPER_MAGIC, TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC,
	};

	return is_listed((long)fs->f_type, known, ARRAY_SIZE(known));
}

bool fstype_has_no_files(const struct statfs *fs)
{
	static const long known[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC, CGROUP_SUPER_MAGIC,
		CGROUP2_SUPER_MAGIC, DEVPTS_SUPER_MAGIC, DEBUGFS_MAGIC,
		TRACEFS_MAGIC, SECURITYFS_MAGIC, BPF_FS_MAGIC,
		AUTOFS_SUPER_MAGIC,
	};

	return is_listed((long)fs->f_type, known, ARRAY_SIZE(known));
}

bool fstype_counts_dirs(const struct statfs *fs)
{
	static const long known[] = {
		EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
		TMPFS_MAGIC,
	};

	return is_listed((long)fs->f_type, known, ARRAY_SIZE(known));
}
