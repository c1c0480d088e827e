/* SPDX-License-Identifier: Apache-2.0 */
/* lib/ending.h - why a command ended, where that is not the command's doing */

#ifndef LIB_ENDING_H
#define LIB_ENDING_H

#include <stdbool.h>

struct aside;
struct limits;
struct options;
struct policy;
struct violation_sink;

/**
 * struct ending - A run that is over
 * @status:	As a shell reports it
 * @timed_out:	Our clock ended it
 * @cut_off:	It wanted to print more than it may
 * @sink:	Where the limits that were hit are recorded
 */
struct ending {
	const struct options *options;
	const struct policy *policy;
	const struct limits *limits;
	const struct violation_sink *sink;
	int status;
	bool timed_out, cut_off;
};

/* Say which limits were hit, by name, and record those that certainly were */
void ending_explain(struct ending *ending);

/* Name the variables that stayed outside: those that look like secrets where the
 * command failed, which may be why; all of them with -v
 */
void ending_variables(const struct ending *ending);

/* Once nobody writes there any more: say what is kept aside, and close it */
void ending_aside(const struct options *options, struct aside *aside);


#endif /* LIB_ENDING_H */
