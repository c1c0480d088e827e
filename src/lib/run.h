/* SPDX-License-Identifier: Apache-2.0 */
/* lib/run.h - a command from its options to its end, in this process */

#ifndef LIB_RUN_H
#define LIB_RUN_H

struct err;
struct options;

/* Run @argv (and, if the option is there, -c STRING with @argv as its words) as
 * @options say; what there is to tell goes to their hooks. The exit status, or
 * a negative errno with words: then nothing ran. @options may grow (the tier).
 *
 * It blocks all signals meanwhile, forks without an exec, and waits for its
 * children: for a process that does nothing else, and has one thread.
 */
int run_command(struct options *options, char **argv, struct err *err);

#endif /* LIB_RUN_H */
