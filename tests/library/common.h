/* SPDX-License-Identifier: Apache-2.0 */
/* tests/library/common.h - a host program for libcloche that remembers */

#ifndef LIBRARY_COMMON_H
#define LIBRARY_COMMON_H

#include <cloche.h>

/**
 * struct story - All events of a run; zero-initialise it
 * @kinds:	"fs-write TARGET\n"...
 * @lines:	Messages, each with a line end
 * @answer:	1 or 0, for every question
 * @on_ask:	A policy to send with the answer, or NULL
 */
struct story {
	int started, violations, questions, updates, ended;
	int update_error;
	char kinds[4096], lines[4096], report[4096], host[256], why[1024];
	unsigned int port;
	int answer, remember;
	const char *on_ask;
	struct cloche_result result;
};

/* A sandbox of the program in $CLOCHE, with @policy or NULL */
cloche_sandbox *make_box(const char *policy);

/* All events go into a story */
extern const struct cloche_events story_events;

/* Start @argv; standard input is empty, output and error go to @out, which may
 * be -1
 */
cloche_run *start(cloche_sandbox *box, struct story *story, int out,
		  const char *const *argv);

/* As start(), with a shell script */
cloche_run *start_script(cloche_sandbox *box, struct story *story, int out,
			 const char *script);

/* Run a script to its end; its exit status. The first @size bytes of output
 * become *@text, if it is not NULL.
 */
int run_script(cloche_sandbox *box, struct story *story, const char *script,
	       char *text, size_t size);

/* Turn @run until *@flag is set or it has ended */
void turn_until(cloche_run *run, const int *flag);

/* Start a script whose input is from @in[1] and whose output, with its errors,
 * goes to @out[0]; it runs on return. The other two ends are closed.
 */
cloche_run *start_piped(cloche_sandbox *box, struct story *story,
			const char *script, int in[2], int out[2]);

/* Read what there is until the end of @fd, and close it */
void read_all(int fd, char *text, size_t size);

/* The number of descriptors that are open here, and of our children */
int count_fds(void);
int count_children(void);

#endif /* LIBRARY_COMMON_H */
