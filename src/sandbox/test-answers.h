/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/test-answers.h - what the filter should answer, once more in plain C */

#ifndef SANDBOX_TEST_ANSWERS_H
#define SANDBOX_TEST_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/filter.h"

struct seccomp_config;

/* The answer to a call of @class without a listener. @a are its arguments as
 * the kernel sees them: 32 bits each.
 */
uint32_t answer_class(const struct seccomp_config *config,
		      enum filter_class class, const uint32_t *a);

/* True if the listener is asked about an allowed call of this watch class */
bool answer_is_watched(const struct seccomp_config *config,
		       enum filter_class watch, const uint32_t *a);

#endif /* SANDBOX_TEST_ANSWERS_H */
