/* SPDX-License-Identifier: Apache-2.0 */
/* run/inner-report.h - refusals for a program inside that reads what its commands print */

#ifndef RUN_INNER_REPORT_H
#define RUN_INNER_REPORT_H

#include <stdint.h>
#include <sys/types.h>

struct violation;

enum {
	INNER_LINES_MAX = 8,	/* Refusals that one command's reader gets */
	INNER_READERS_MAX = 32,	/* Commands that are remembered */
	INNER_PARENTS_MAX = 64,	/* Between the run's command and a refused process */
};

/**
 * struct inner_report - What the readers have got; zero-initialise
 * @readers:	The commands: their process and the inode of their stderr, and a hash of each
 *		refusal that was written there
 * @next:	The one to forget
 */
struct inner_report {
	struct inner_reader {
		pid_t pid;
		dev_t dev;
		ino_t ino;
		unsigned int n;
		uint64_t lines[INNER_LINES_MAX];
	} readers[INNER_READERS_MAX];
	unsigned int next;
};

/* Write @v to the stderr of the command inside that it concerns, once. @command: the run's own
 * command, whose stderr has the footer.
 */
void inner_report(struct inner_report *inner, pid_t command, const struct violation *v);

#endif /* RUN_INNER_REPORT_H */
