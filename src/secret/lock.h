/* SPDX-License-Identifier: Apache-2.0 */
/* secret/lock.h - one writer at a time, between processes and within one
 *
 * An open-file-description lock on a file of its own, which is never replaced
 * or removed: locking the store's file would lock an inode that the next
 * writer renames away. The kernel releases it when its holder dies.
 */

#ifndef SECRET_LOCK_H
#define SECRET_LOCK_H

struct err;
struct lock;
struct loop;
struct place;

/* Called once: @r is 0 when the lock is held, or a negative errno (-ETIMEDOUT)
 * with the reason in @err
 */
typedef void (*lock_fn)(void *arg, int r, const struct err *err);

/* Ask for the lock @name in @place, for at most @timeout_ms. *@ret is set
 * first, then @done may be called before this returns. Free *@ret with
 * lock_free(), which gives up waiting (without a call of @done) or releases
 * the lock; @done may do that.
 */
void lock_take(struct lock **ret, struct loop *loop, struct place *place,
	       const char *name, unsigned int timeout_ms, lock_fn done,
	       void *arg);
void lock_free(struct lock *lock);

#endif /* SECRET_LOCK_H */
