/* SPDX-License-Identifier: Apache-2.0 */
/* lib/lasting.h - what an edit changes, but not for the command that runs */

#ifndef LIB_LASTING_H
#define LIB_LASTING_H

struct options;
struct plan;
struct policy;
struct view;

/**
 * struct lasting - The settings before an edit
 */
struct lasting {
	const struct policy *policy;
	const struct view *view;
};

/* Say in one line what is different in @policy and @view and cannot change while
 * the sandbox runs that was built by @plan; nothing if all of it counts
 */
void lasting_tell(const struct options *options, const struct plan *plan,
		  const struct lasting *before, const struct policy *policy,
		  const struct view *view);

#endif /* LIB_LASTING_H */
