/* SPDX-License-Identifier: Apache-2.0 */
/* secret/key-source.c - where the key of the encrypted file comes from */

#include "secret/key-source.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "secret/locked-memory.h"

bool key_is_configured(const struct key_source *source)
{
	return source->passphrase_file || source->key_file || source->keyring;
}

/* Links and pipes are fine here: the user named it. Being writable for others
 * is not: they would choose the key.
 */
static int read_file(const char *path, size_t max, struct bytes *ret,
		     bool *loose, struct err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail(err, -ENOKEY, "cannot open '%s': %s", path,
			    strerror(errno));
	if (S_ISREG(st.st_mode) && (st.st_mode & 022))
		return fail(err, -EPERM,
			    "others can write to '%s': run chmod 600 on it",
			    path);
	*loose = S_ISREG(st.st_mode) && (st.st_mode & 044);
	r = bytes_read_fd(ret, fd, max, err);
	return r < 0 ? fail_in(err, r, "%s", path) : 0;
}

/* The first line; its end is the editor's, not the passphrase's */
static int from_passphrase_file(const char *path, struct bytes *ret,
				bool *loose, struct err *err)
{
	const int r = read_file(path, PASSPHRASE_MAX, ret, loose, err);
	const char *end;

	if (r < 0)
		return r;
	end = ret->len ? memchr(ret->p, '\n', ret->len) : NULL;
	if (end)
		ret->len = (size_t)(end - ret->p);
	if (ret->len && ret->p[ret->len - 1] == '\r')
		ret->len--;
	if (!ret->len)
		return fail(err, -ENOKEY, "'%s' holds no passphrase", path);
	return KEY_PASSPHRASE;
}

static int from_key_file(const char *path, struct bytes *ret, bool *loose,
			 struct err *err)
{
	const int r = read_file(path, KEY_FILE_MAX, ret, loose, err);

	if (r < 0)
		return r;
	if (ret->len < KEY_FILE_MIN)
		return fail(err, -ENOKEY,
			    "'%s' is too short for a key: make one with head -c 32 /dev/urandom",
			    path);
	return KEY_RANDOM;
}

/* The key is linked to our own keyring, which goes with us: what is only in the
 * user's keyring cannot be read, unless the session's has a link to that
 */
static long find_key(const char *description)
{
	static const int rings[] = { KEY_SPEC_SESSION_KEYRING,
				     KEY_SPEC_USER_KEYRING };
	long id = -1;

	for (size_t i = 0; id < 0 && i < ARRAY_SIZE(rings); i++)
		id = syscall(SYS_keyctl, KEYCTL_SEARCH, rings[i], "user",
			     description, KEY_SPEC_PROCESS_KEYRING);
	return id;
}

static int from_keyring(const char *description, struct bytes *ret,
			struct err *err)
{
	const long id = find_key(description);
	long n;

	bytes_reserve(ret, KEY_FILE_MAX);
	n = id < 0 ? -1 : syscall(SYS_keyctl, KEYCTL_READ, id, ret->p,
				  (size_t)KEY_FILE_MAX);
	if (n < 0)
		return fail(err, -ENOKEY,
			    "cannot read key '%s' of the kernel keyring: %s; add one with keyctl padd user %s @u",
			    description, strerror(errno), description);
	if (n < KEY_FILE_MIN || n > KEY_FILE_MAX)
		return fail(err, -ENOKEY,
			    "key '%s' of the kernel keyring must have %d to %d bytes",
			    description, KEY_FILE_MIN, KEY_FILE_MAX);
	ret->len = (size_t)n;
	return KEY_RANDOM;
}

int key_get(const struct key_source *source, bool fresh, struct bytes *ret,
	    bool *loose, struct err *err)
{
	int r;

	*loose = false;
	if (source->passphrase_file)
		return from_passphrase_file(source->passphrase_file, ret, loose,
					    err);
	if (source->key_file)
		return from_key_file(source->key_file, ret, loose, err);
	if (source->keyring)
		return from_keyring(source->keyring, ret, err);
	if (!source->ask)
		return fail(err, -ENOKEY,
			    "the encrypted store needs its passphrase: use --passphrase-file or CLOCHE_PASSPHRASE_FILE");
	if (fresh && !source->may_make)
		return fail(err, -ENOKEY,
			    "there is no encrypted store; --backend file makes one");
	r = source->ask(fresh, ret, err);
	return r < 0 ? r : KEY_PASSPHRASE;
}
