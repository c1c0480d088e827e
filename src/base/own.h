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
static inline void own_closep_(const int *fd)
{
	const int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	errno = saved;
}

static inline void own_freep_(void *p)
{
	const int saved = errno;

	free(*(void **)p);
	errno = saved;
}

static inline void own_closedirp_(DIR *const *dir)
{
	const int saved = errno;

	if (*dir)
		(void)closedir(*dir);
	errno = saved;
}

static inline void own_fclosep_(FILE *const *file)
{
	const int saved = errno;

	if (*file)
		(void)fclose(*file);
	errno = saved;
}

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
