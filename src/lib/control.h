/* SPDX-License-Identifier: Apache-2.0 */
/* lib/control.h - the lines that come in on --control-fd
 *
 * {"answer":{"id":1,"allow":true,"scope":"session"}}, or a whole policy
 * object, of which the lists of hosts count: the shape of srt
 * ("network":{"allowedDomains":[...]}) or of Claude Code, with "sandbox" above.
 */

#ifndef LIB_CONTROL_H
#define LIB_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/ask.h"

struct err;
struct policy;

enum control_kind { CONTROL_BAD, CONTROL_ANSWER, CONTROL_POLICY };

struct control_answer {
	uint32_t id;
	bool allow;
	enum ask_scope scope;
	bool always;	/* And in later runs: into the local settings */
};

/* Parse one line. CONTROL_POLICY: *@ret_policy is a new policy for the network
 * with the line's lists in the place of those that the run was started with;
 * denials (but for profile srt), and what an administrator manages, stay.
 * CONTROL_BAD: with words.
 */
enum control_kind control_parse(const char *line, size_t n,
				const struct policy *policy,
				struct control_answer *ret_answer,
				struct policy **ret_policy, struct err *err);

#endif /* LIB_CONTROL_H */
