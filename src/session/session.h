/* SPDX-License-Identifier: Apache-2.0 */
/* session/session.h - sandboxes that outlive one command (docs/decisions/sessions.md) */

#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include <jansson.h>
#include <stdint.h>

struct err;
struct run;

enum {
	SESSION_NAME_MAX = 64,		/* Letters, digits, "." "_" "-" */
	SESSION_IDLE_MS = 30 * 60 * 1000,
};

/* As run() (run/run.h), in the session that the options name. It is started if there
 * is none. -EOPNOTSUPP: nothing ran, because these settings or this machine allow no
 * session; a run of its own may do.
 */
int session_run(struct run *run);

/* -EINVAL with a message if @name cannot be a session's */
int session_check_name(const char *name, struct err *err);

/* What each living session says of itself, as an array; the caller's. NULL with a
 * message if the directory cannot be read.
 */
json_t *session_list(struct err *err);

/* End everything in it: 0; -ENOENT if there is none; or another negative errno, each with a
 * message
 */
int session_stop(const char *name, struct err *err);

/* Make @port of a server in it reachable on the host's loopback. As session_stop(). */
int session_publish(const char *name, uint16_t port, struct err *err);

#endif /* SESSION_SESSION_H */
