/* SPDX-License-Identifier: Apache-2.0 */
/* watch/refusal.h - a refused call as a record, with what would allow it */

#ifndef WATCH_REFUSAL_H
#define WATCH_REFUSAL_H

struct judgement;
struct name;
struct observer_policy;
struct question;
struct seccomp_data;
struct tracee;
struct violation_sink;

/* Tell @sink of the call in @q, which @g refuses. @name is the one that @g's place
 * was found by; @home is never suggested as a whole, and may be NULL.
 */
void refusal_report(const struct violation_sink *sink, const char *home,
		    const struct question *q, const struct name *name,
		    const struct judgement *g);

/* Tell @sink of @call by @tracee, which the filter refuses; unless nobody knows that
 * it was made
 */
void refusal_told(const struct violation_sink *sink,
		  const struct observer_policy *policy, struct tracee *tracee,
		  const struct seccomp_data *call);

#endif /* WATCH_REFUSAL_H */
