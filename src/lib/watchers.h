/* SPDX-License-Identifier: Apache-2.0 */
/* lib/watchers.h - what is refused during a run: seen, recorded, told */

#ifndef LIB_WATCHERS_H
#define LIB_WATCHERS_H

#include <stdbool.h>
#include <stddef.h>

struct cage;
struct err;
struct loop;
struct network_run;
struct options;
struct policy;
struct session;
struct violation_sink;
struct watchers;

/* From the options --events and --annotate. 0, or a negative errno with words
 * for a stream that cannot be written.
 */
int watchers_new(const struct session *session, const struct options *options,
		 struct watchers **ret, struct err *err);
/* What is slow to close is left with @cage */
void watchers_free(struct watchers *watchers, const struct cage *cage);

/* Where refusals go; valid as long as @watchers */
const struct violation_sink *watchers_sink(const struct watchers *watchers);

/* The sandbox is being built: clean up after runs that were killed; watch the
 * writable directories as soon as something is made; and, if the run is not a
 * short one, the settings: a valid edit takes effect in the running sandbox, any
 * other changes nothing and is told on stderr
 */
void watchers_start(struct watchers *watchers, struct loop *loop);

/* Answer seccomp's @listener (taken over) from @loop; connections go by
 * @network first, if there is one
 */
int watchers_observe(struct watchers *watchers, struct loop *loop,
		     int listener, struct network_run *network,
		     struct err *err);

/* Answer for masks that talk, from @loop. @fds came with CAGE_MASKS and are taken
 * over. Without it, masks are silent.
 */
void watchers_masks(struct watchers *watchers, struct loop *loop,
		    const int *fds, size_t nfds);

/* Keep masks and read-only files in the sandbox. @own are the descriptors that
 * came with CAGE_READY; they stay open as long as @watchers.
 */
void watchers_keep(struct watchers *watchers, struct loop *loop,
		   const int *own);

/* The sandbox is built: edits from before take effect now, others at once */
void watchers_ready(struct watchers *watchers);

/* Read the settings again, as the options say now. 0, or a negative errno with
 * words and nothing has changed.
 */
int watchers_reload(struct watchers *watchers, struct err *err);

/* Who else wants the new policy (referenced if it is kept): the network */
typedef void (*watchers_fn)(void *arg, struct policy *policy);
void watchers_on_reload(struct watchers *watchers, watchers_fn fn, void *arg);

/* The observer could not be had. With nobody to see refusals the footer would
 * be empty, so it is said now, unless @quiet.
 */
void watchers_blind(struct watchers *watchers, bool quiet);

/* The command has ended: last records, and the footer on stderr */
void watchers_finish(struct watchers *watchers, bool failed, bool quiet);
/* Instead, if nothing has run */
void watchers_drop(const struct watchers *watchers);

#endif /* LIB_WATCHERS_H */
