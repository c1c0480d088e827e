/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/probe.h - the tables of probes and causes; what the probe-*.c files share
 *
 * A probe runs in a child of its own and may do to itself what it likes.
 */

#ifndef DOCTOR_PROBE_H
#define DOCTOR_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "doctor/doctor.h"

/* See probes.def */
struct probe_row {
	const char *name, *title, *carries;
	enum mark severity;
	const char *yes, *no, *fix;
};

/* See causes.def */
struct cause_row {
	const char *name, *words, *fix;
};

const struct probe_row *probe_row(enum probe probe);
const struct cause_row *cause_row(enum cause cause);

/* What to do about @r, never NULL */
const char *probe_fix(enum probe probe, const struct probe_result *r);

#define PROBE(id, ...) void probe_##id(struct probe_result *r);
#include "doctor/probes.def"
#undef PROBE

/* Answers. probe_no() takes the mark from the table; @error is an errno, or 0 */
void probe_no(struct probe_result *r, enum probe probe, enum cause cause,
	      int error);
/* The same, with what strerror() says of @error */
void probe_failed(struct probe_result *r, enum probe probe, enum cause cause,
		  int error);
void probe_detail(struct probe_result *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* probe-sandbox.c: run @fn in a child in new namespaces (@flags, CLONE_NEWUSER is
 * implied) with our own ids mapped. 0, or a negative errno: of the clone, of
 * the map (then *@ret_mapped is false) or what @fn returned.
 */
int probe_inside(uint64_t flags, int (*fn)(void), bool *ret_mapped);

/* host-kind.c: why user namespaces are refused, given the errno of the refusal */
enum cause why_no_userns(int error);

bool host_is_gvisor(void);

#endif /* DOCTOR_PROBE_H */
