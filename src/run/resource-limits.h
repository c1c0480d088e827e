/* SPDX-License-Identifier: Apache-2.0 */
/* run/resource-limits.h - memory, processes, file size: a control group, or rlimits
 *
 * A control group counts the whole sandbox and counts its hits, but we
 * may make one only where it was delegated to us. Otherwise each process gets
 * the limit, and a hit shows only in what the command does next.
 */

#ifndef RUN_RESOURCE_LIMITS_H
#define RUN_RESOURCE_LIMITS_H

#include <stdbool.h>
#include <sys/types.h>

struct buf;
struct limits;
struct policy;
struct run;
struct sandbox_request;

/* Which limits the policy has, and how they can be kept here */
struct limits *limits_new(const struct policy *policy);
/* Removes the group; nothing may run in it any more */
void limits_free(struct limits *limits);

/* True if the sandbox's init must wait until limits_apply() was called */
bool limits_need_group(const struct limits *limits);

/* Add what rlimits do to @request */
void limits_fill(const struct limits *limits, struct sandbox_request *request);

/* Put @init into the group. 0 or a negative errno: then nothing may run. */
int limits_apply(const struct limits *limits, pid_t init);

/* Report to @run which were hit, or may have been; @status is the exit status */
void limits_explain(const struct limits *limits, struct run *run, int status);

/* Append " NAME=USED/LIMIT" for each limit that a control group counts */
void limits_used(const struct limits *limits, struct buf *out);

/* "control group (v2)", "control group (v1)" or "per process" */
const char *limits_method(const struct limits *limits);

#endif /* RUN_RESOURCE_LIMITS_H */
