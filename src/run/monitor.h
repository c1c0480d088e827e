/* SPDX-License-Identifier: Apache-2.0 */
/* run/monitor.h - observe, record and report what is refused during a run */

#ifndef RUN_MONITOR_H
#define RUN_MONITOR_H

#include <stdbool.h>
#include <stddef.h>

struct sandbox;
struct err;
struct loop;
struct run_network;
struct decision;
struct violation_sink;
struct monitor;

/* From the options --events and --annotate. 0, or a negative errno with a message
 * for a stream that cannot be written.
 */
int monitor_new(const struct decision *decision, struct monitor **ret,
		struct err *err);
/* What is slow to close is left with @cage */
void monitor_free(struct monitor *monitor, const struct sandbox *cage);

/* Where refusals go; valid as long as @monitor */
const struct violation_sink *monitor_sink(const struct monitor *monitor);

/* The sandbox is being built: clean up after runs that were killed; watch the
 * writable directories as soon as something is made; and, if the run is not a
 * short one, the settings: a valid edit takes effect in the running sandbox, any
 * other changes nothing and is reported on stderr
 */
void monitor_start(struct monitor *monitor, struct loop *loop);

/* Answer the notifications of seccomp's @listener, which is taken over */
int monitor_observe(struct monitor *monitor, int listener, struct err *err);

/* Answer for masks that talk. @fds came with SANDBOX_MASKS and are taken
 * over. Without it, masks are silent.
 */
void monitor_masks(struct monitor *monitor, const int *fds, size_t nfds);

/* Keep masks and read-only files in the sandbox. @own are the descriptors that
 * came with SANDBOX_READY; they stay open as long as @monitor.
 */
void monitor_keep(struct monitor *monitor, const int *own);

/* The sandbox is built: edits from before take effect now, others at once */
void monitor_ready(struct monitor *monitor);

/* Read the settings again, as the options say now. 0, or a negative errno with
 * words and nothing has changed.
 */
int monitor_reload(struct monitor *monitor, struct err *err);

/* From now on the observer asks @network about connections, and @network gets each
 * new policy. It may be NULL.
 */
void monitor_set_network(struct monitor *monitor, struct run_network *network);

/* There is no observer. Without one the footer would
 * be empty, so it is said now.
 */
void monitor_blind(struct monitor *monitor);

/* The command has ended: last records, and the footer on stderr */
void monitor_finish(struct monitor *monitor, bool failed);
/* Instead, if nothing has run */
void monitor_drop(const struct monitor *monitor);

#endif /* RUN_MONITOR_H */
