/* SPDX-License-Identifier: Apache-2.0 */
/* lib/jailer.h - a run's egress jail: started, watched, ended */

#ifndef LIB_JAILER_H
#define LIB_JAILER_H

#include "base/loop.h"
#include "cage/jail.h"

struct err;
struct options;
struct plan;

/**
 * struct jailer - The jail, while it is watched
 */
struct jailer {
	struct jail_run run;
	struct loop_source source;
	struct loop *loop;
	const struct options *options;
};

#define JAILER_NONE	((struct jailer){ .run = JAIL_NONE })

/* Make the jail, if @plan has one; its end is said. 0, or a negative errno with
 * words.
 */
int jailer_start(struct jailer *jailer, const struct plan *plan,
		 struct loop *loop, const struct options *options,
		 struct err *err);

/* Safe on JAILER_NONE */
void jailer_stop(struct jailer *jailer);

#endif /* LIB_JAILER_H */
