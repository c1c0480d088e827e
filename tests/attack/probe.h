/* SPDX-License-Identifier: Apache-2.0 */
/* tests/attack/probe.h - attempts that a sandbox should refuse
 *
 * An attempt is a function that tries one thing and returns 0 if it worked or
 * a negative errno. It runs in a child of its own, so it may confine itself,
 * crash, or be killed. What it learned it may print, a line each, before.
 */

#ifndef ATTACK_PROBE_H
#define ATTACK_PROBE_H

/* The row's words go to `probe list` only */
#define PROBE(name, fn, args, what) int fn(char **argv);
#include "probe.def"
#undef PROBE

/* A decimal, octal or hexadecimal number, or the process ends */
long probe_number(const char *text);

/* 0 or -errno of a system call's return value */
int probe_result(long r);

/* `probe walk`: see probe-walk.c */
int probe_walk(void);

#endif /* ATTACK_PROBE_H */
