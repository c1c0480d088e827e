/* SPDX-License-Identifier: Apache-2.0 */
/* policy/mode.h - disabled, regular or auto-allow, and which setting decides it */

#ifndef POLICY_MODE_H
#define POLICY_MODE_H

#include <stdbool.h>

struct origin;
struct policy;

enum mode { MODE_DISABLED, MODE_REGULAR, MODE_AUTO_ALLOW, MODE_COUNT };

/* "disabled", "regular", "auto-allow" */
const char *mode_name(enum mode mode);
/* 0, or -EINVAL */
int mode_parse(const char *name, enum mode *ret);

/* The mode that an agent would find: unset is disabled */
enum mode mode_of(const struct policy *policy);

/* True if a setting switches the sandbox off: by "enabled": false, or by an
 * enabledPlatforms without "linux". *@ret is then the origin of that setting. Unset is
 * not off, because the user called cloche to get a sandbox.
 */
bool mode_is_off(const struct policy *policy, const struct origin **ret);

/* True if @origin is not in a file of Claude Code's, whose "sandbox" is its own */
bool mode_is_own(const struct origin *origin);

/* True if one of cloche's own files switches the sandbox off, and no setting forbids
 * commands without it: an agent's hook then leaves its commands alone. Claude Code's
 * "sandbox.enabled" is about its own sandbox, and does not count.
 */
bool mode_is_off_for_hooks(const struct policy *policy,
			   const struct origin **ret);

/* The managed or flag setting that decides the mode, so that local settings
 * are not edited without effect; or NULL
 */
const struct origin *mode_lock(const struct policy *policy);

/* True if the shell line @command may run outside of the sandbox, which takes
 * an entry of excludedCommands and allowUnsandboxedCommands. If not, *@why, unless @why
 * is NULL, is the reason, which the caller frees.
 */
bool mode_excludes(const struct policy *policy, const char *command,
		   char **why);

#endif /* POLICY_MODE_H */
