/* SPDX-License-Identifier: Apache-2.0 */
/**
 * cloche-secret.h - credentials kept well, for programs that embed cloche
 *
 * A store keeps named values of one service in one back end, chosen at the first
 * write: the desktop's keyring, an encrypted file, a private plaintext file as the
 * last resort. It is what `cloche secret` shows on the command line (see
 * cloche-secret(1) for where things are kept).
 *
 * Everything slow runs in helper programs. Each function has two forms: one
 * that answers through a callback while you run the store's events, and one
 * (..._now) that waits. A store belongs to one thread.
 *
 *	cloche_secrets *s;
 *	struct cloche_secret_value *v;
 *
 *	if (cloche_secrets_open(NULL, &s, why, sizeof(why)) == 0) {
 *		if (cloche_secret_get_now(s, "TOKEN", &v) == 1) {
 *			use(cloche_secret_data(v), cloche_secret_length(v));
 *			cloche_secret_value_free(v);
 *		}
 *		cloche_secrets_free(s);
 *	}
 *
 * Results: 1 found or done, 0 there is none, or a negative errno:
 *   -ENOTSUP the back end does not work here; -EACCES it is locked; -ENOKEY the encrypted
 *   file needs its key; -EKEYREJECTED that was the wrong one; -EBADMSG what is
 *   stored was damaged; -EPERM its file is not safe to use; -ETIMEDOUT another
 *   program holds it, or a helper hangs; -EINVAL a bad name or value (1 to
 *   65536 bytes of UTF-8 without CR, LF and NUL); -EFBIG too much;
 *   -EEXIST another back end keeps the store;
 *   -ECANCELED the store was freed meanwhile.
 */

#ifndef CLOCHE_SECRET_H
#define CLOCHE_SECRET_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cloche_secrets cloche_secrets;
struct cloche_secret_value;

/**
 * struct cloche_secret_options - Set size to sizeof, the rest to NULL or 0
 * @size:		Of this struct, as you know it
 * @backend:		"secret-service", "file" or "plaintext";
 *			NULL: the one that keeps the store, for a new one the
 *			best that works
 * @service:		Whose secrets; NULL: "cloche". Letters, digits, '-',
 *			'_' and '.'
 * @directory:		Of the files; NULL: $XDG_CONFIG_HOME/cloche
 * @passphrase_file:	For the encrypted file: the passphrase, or
 * @key_file:		at least 16 random bytes, or
 * @keyring:		the description of a user key of the kernel keyring
 * @programs:		Where the helper programs are; NULL: where they were
 *			installed
 * @timeout_ms:		For one run of a helper program; 0: ten seconds, four
 *			for a keyring
 */
struct cloche_secret_options {
	size_t size;
	const char *backend, *service, *directory;
	const char *passphrase_file, *key_file, *keyring;
	const char *programs;
	unsigned int timeout_ms;
};

/* Warnings that come with a success: bits */
enum {
	CLOCHE_SECRET_PLAINTEXT = 1 << 0,	/* Stored in plaintext */
	CLOCHE_SECRET_STALE = 1 << 1,		/* The last known value */
	CLOCHE_SECRET_LEFTOVER = 1 << 2,	/* An unused copy was left */
	CLOCHE_SECRET_ROLLBACK = 1 << 3,	/* Older than seen before */
	CLOCHE_SECRET_LOOSE_KEY = 1 << 4,	/* Others can read the key */
};

/**
 * struct cloche_secret_answer - How it went; it lasts as long as the callback
 * @size:	Of this struct, as the library knows it
 * @result:	1, 0 or a negative errno, as above
 * @data:	The value or document; NULL if there is none. In locked memory,
 *		wiped after the callback; ends with a NUL that does not count
 * @length:	Its bytes
 * @warnings:	CLOCHE_SECRET_* bits
 * @message:	One line: why it failed, or why the last known value was
 *		used; "" if there is nothing to say
 */
struct cloche_secret_answer {
	size_t size;
	int result;
	const char *data;
	size_t length;
	unsigned int warnings;
	const char *message;
};

/* Called exactly once, perhaps before the function that it was given to
 * returns. It may use the store, but not free it.
 */
typedef void (*cloche_secret_fn)(void *arg,
				 const struct cloche_secret_answer *answer);

/* Open a store; nothing is read or made yet. @options may be NULL. 0, or a
 * negative errno with one line in @why, which may be NULL.
 */
int cloche_secrets_open(const struct cloche_secret_options *options,
			cloche_secrets **ret, char *why, size_t why_size);

/* What is under way is answered with -ECANCELED. NULL is fine. */
void cloche_secrets_free(cloche_secrets *secrets);

/* The events of a store. Watch the descriptor for reading, in poll(2) or any
 * loop, and call ..._turn() when it is ready: it never blocks. Or call
 * ..._wait(): it returns when everything is answered. 0 or a negative errno.
 */
int cloche_secrets_fd(const cloche_secrets *secrets);
int cloche_secrets_turn(cloche_secrets *secrets);
int cloche_secrets_wait(cloche_secrets *secrets);

/* Named values. Reads are good for 30 seconds; any number of them at once is
 * one look into the store. @fn may be NULL. What is set is copied.
 */
void cloche_secret_get(cloche_secrets *secrets, const char *name,
		       cloche_secret_fn fn, void *arg);
void cloche_secret_set(cloche_secrets *secrets, const char *name,
		       const char *value, size_t length, cloche_secret_fn fn,
		       void *arg);
void cloche_secret_delete(cloche_secrets *secrets, const char *name,
			  cloche_secret_fn fn, void *arg);

/* The whole document, a JSON object */
void cloche_secrets_read(cloche_secrets *secrets, cloche_secret_fn fn,
			 void *arg);
void cloche_secrets_update(cloche_secrets *secrets, const char *json,
			   size_t length, cloche_secret_fn fn, void *arg);
void cloche_secrets_delete(cloche_secrets *secrets, cloche_secret_fn fn,
			   void *arg);

/* Start reading, so that a later get finds it done; nothing waits. Several
 * stores are read side by side.
 */
void cloche_secrets_prefetch(cloche_secrets *secrets);

/* Forget what was read: the next get looks again */
void cloche_secrets_clear(cloche_secrets *secrets);

/* The same, waiting. *@ret is set only with 1; free it. */
int cloche_secret_get_now(cloche_secrets *secrets, const char *name,
			  struct cloche_secret_value **ret);
int cloche_secret_set_now(cloche_secrets *secrets, const char *name,
			  const char *value, size_t length);
int cloche_secret_delete_now(cloche_secrets *secrets, const char *name);

/* What the last ..._now() had to say: a line ("" for nothing), and the warning
 * bits. It lasts until the next one.
 */
const char *cloche_secrets_message(const cloche_secrets *secrets);
unsigned int cloche_secrets_warnings(const cloche_secrets *secrets);

/* A value in locked memory, ended by a NUL that does not count; wiped when it
 * is freed
 */
const char *cloche_secret_data(const struct cloche_secret_value *value);
size_t cloche_secret_length(const struct cloche_secret_value *value);
void cloche_secret_value_free(struct cloche_secret_value *value);

/* Make this process hard to look into: no core dumps, no ptrace by other
 * processes of the user, as much lockable memory as is allowed. Not done by
 * itself, because it is the process's business. 0 or a negative errno.
 */
int cloche_secret_harden(void);

#ifdef __cplusplus
}
#endif

#endif /* CLOCHE_SECRET_H */
