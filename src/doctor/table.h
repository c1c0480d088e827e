/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/table.h - the rows of probes.def and causes.def */

#ifndef DOCTOR_TABLE_H
#define DOCTOR_TABLE_H

#include "doctor/doctor.h"

/**
 * struct probe_row - See probes.def
 */
struct probe_row {
	const char *name, *title, *carries;
	enum mark severity;
	const char *yes, *no, *fix;
};

/**
 * struct cause_row - See causes.def
 */
struct cause_row {
	const char *name, *words, *fix;
};

const struct probe_row *probe_row(enum probe probe);
const struct cause_row *cause_row(enum cause cause);

/* What to do about @r, never NULL */
const char *probe_fix(enum probe probe, const struct probe_result *r);

/* Of Landlock's ABIs: what kernels with less than @abi lack, "; "-separated;
 * one row of landlock.def at a time. NULL after the last.
 */
const char *landlock_lack(int abi, int *cursor);

#endif /* DOCTOR_TABLE_H */
