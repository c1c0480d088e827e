/* SPDX-License-Identifier: Apache-2.0 */
/* observe/test-rules.h - rules that a test decides by; linked instead of observer-policy.c */

#ifndef OBSERVE_TEST_RULES_H
#define OBSERVE_TEST_RULES_H

#include "observe/observer-policy.h"

/**
 * struct observer_rules - What the test wants; NULL: all is allowed, nothing is fast
 */
struct observer_rules {
	void (*verdict)(enum observer_op op, const char *path,
			struct observer_verdict *ret);
	bool (*is_fast)(const char *path);
};

#endif /* OBSERVE_TEST_RULES_H */
