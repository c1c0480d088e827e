/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/probe.h - what the probe-*.c files share
 *
 * A probe runs in a child of its own and may do to itself what it likes.
 */

#ifndef DOCTOR_PROBE_H
#define DOCTOR_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "doctor/doctor.h"

struct buf;

#define PROBE(id, ...) void probe_##id(struct probe_result *r);
#include "doctor/probes.def"
#undef PROBE

/* Answers. probe_no() takes the mark from the table; @error is an errno, or 0 */
void probe_no(struct probe_result *r, enum probe probe, enum cause cause,
	      int error);
void probe_detail(struct probe_result *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* probe-ns.c: run @fn in a child in new namespaces (@flags, CLONE_NEWUSER is
 * implied) with our own ids mapped. 0, or a negative errno: of the clone, of
 * the map (then *@ret_mapped is false) or what @fn returned.
 */
int probe_inside(uint64_t flags, int (*fn)(void), bool *ret_mapped);

/* why.c: why user namespaces are refused, given the errno of the refusal */
enum cause why_no_userns(int error);

/* place.c: the sandbox around us, or NULL. One of ours is "cloche". */
const char *place_sandbox(void);
bool place_is_docker(void);
bool place_is_kubernetes(void);
bool place_is_gvisor(void);
/* 0, or WSL's version */
int place_wsl(void);

/* A small file, e.g. of /proc: true if it could be read */
bool probe_read(const char *path, struct buf *out);
/* A number in a file, or -1 */
long place_number(const char *path);

#endif /* DOCTOR_PROBE_H */
