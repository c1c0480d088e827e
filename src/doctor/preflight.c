/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/preflight.c - configured on, but not enforced? One line if so */

#include "base/buf.h"
#include "doctor/doctor.h"
#include "policy/firewall-mark.h"

void doctor_preflight(const struct preflight *want, struct buf *out)
{
	struct doctor d;
	const char *why;

	if (firewall_mark_is_missing())
		buf_adds(out, "cloche: the egress firewall of this container (/etc/cloche/firewall) is down, so its network is open; restart the container\n");
	/* What cannot be told is not worth an alarm at every start */
	if (!want->enabled || doctor_run(&d, true, NULL) < 0 ||
	    d.tier == TIER_FULL)
		return;
	why = doctor_why_not(&d);
	if (d.tier <= want->minimum) {
		buf_addf(out, "cloche: only tier %s works here: %s; 'cloche doctor' says what to do\n",
			 tier_name(d.tier), why ? why : "user namespaces are missing");
		return;
	}
	buf_addf(out, "cloche: the sandbox is configured on, but not enforced: %s",
		 why ? why : "this machine cannot hold the boundary");
	if (d.tier != TIER_NONE)
		buf_addf(out, "; only the %s tier works here, and minimumTier asks for %s",
			 tier_name(d.tier), tier_name(want->minimum));
	buf_adds(out, "; 'cloche doctor' says what to do");
	if (want->firewall)
		buf_adds(out, "; the egress firewall is active and still limits the network");
	buf_addc(out, '\n');
}
