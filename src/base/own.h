/* SPDX-License-Identifier: Apache-2.0 */
/* base/own.h - ownership in the declaration: auto_close, auto_free, take_fd() */

#ifndef BASE_OWN_H
#define BASE_OWN_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Cleanup handlers run while a result travels up: they must not disturb errno */
#define OWN_CLEANUP(name, type, release)	\
	static inline void name(type p)		\
	{					\
		const int saved = errno;	\
						\
		release;			\
		errno = saved;			\
	}

OWN_CLEANUP(own_closep_, const int *, if (*p >= 0) (void)close(*p))
OWN_CLEANUP(own_freep_, void *, free(*(void **)p))
OWN_CLEANUP(own_closedirp_, DIR *const *, if (*p) (void)closedir(*p))
OWN_CLEANUP(own_fclosep_, FILE *const *, if (*p) (void)fclose(*p))

#define auto_close	__attribute__((cleanup(own_closep_)))
#define auto_free	__attribute__((cleanup(own_freep_)))
#define auto_closedir	__attribute__((cleanup(own_closedirp_)))
#define auto_fclose	__attribute__((cleanup(own_fclosep_)))

/* Give a descriptor away: the variable no longer owns it */
static inline int take_fd(int *fd)
{
	const int taken = *fd;

	*fd = -1;
	return taken;
}

/* Give a pointer away: the variable no longer owns it */
#define take_ptr(p)						\
	({							\
		__typeof__(p) taken_ = (p);			\
		(p) = NULL;					\
		taken_;						\
	})

/* Close and forget; safe on -1 */
static inline void close_fd(int *fd)
{
	own_closep_(fd);
	*fd = -1;
}

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof(*(a)))

#endif /* BASE_OWN_H */
