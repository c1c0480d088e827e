/* SPDX-License-Identifier: Apache-2.0 */
/* base/exit.h - exit statuses that are ours, as the manual promises them */

#ifndef BASE_EXIT_H
#define BASE_EXIT_H

enum {
	EXIT_TIMED_OUT = 124,
	EXIT_NOT_BUILT = 125,		/* Nothing ran */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

#endif /* BASE_EXIT_H */
