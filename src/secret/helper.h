/* SPDX-License-Identifier: Apache-2.0 */
/* secret/helper.h - a store behind a helper program that speaks JSON
 *
 * One request on its standard input, one answer on its standard output, and it
 * ends. So the program that only wants a secret links neither GLib nor a
 * cryptographic library.
 *
 * Request: {"version":1,"verb":"read"|"update"|"delete", parameters...,
 *           "data":"..."}       (data with update only)
 * Answer:  {"version":1,"result":"..."} with "data":"..." if something was
 *          found, "notes":N, and "message":"..." if it failed. The words for
 *          results are in results.def.
 */

#ifndef SECRET_HELPER_H
#define SECRET_HELPER_H

struct backend;
struct bytes;
struct err;
struct loop;
struct span;

enum { HELPER_VERSION = 1, HELPER_PARAMETERS_MAX = 8 };

/**
 * struct helper_parameter - A string that every request carries
 */
struct helper_parameter {
	const char *name, *value;
};

/**
 * struct helper_spec - How to reach the store
 * @name:	Of the backend
 * @argv:	The program by its absolute path, and its arguments
 * @parameters:	Ended by a NULL name; a NULL value is left out
 * @timeout_ms:	For each run. After one that took longer, others fail at once
 *		for a while.
 * @slow:	Called with @name when one takes longer than a moment; or NULL
 */
struct helper_spec {
	const char *name;
	const char *const *argv;
	const struct helper_parameter *parameters;
	unsigned int timeout_ms;
	void (*slow)(const char *name);
};

/* The client: a backend. Copies are taken. */
struct backend *helper_new(struct loop *loop, const struct helper_spec *spec);

/**
 * struct helper_ops - The server: what the helper program can do
 *
 * Each gets the request, to look its parameters up, and answers as a backend
 * does: 1, 0, or a negative errno with @err.
 */
struct helper_ops {
	int (*read)(struct span request, struct bytes *ret,
		    unsigned int *notes, struct err *err);
	int (*update)(struct span request, const struct bytes *data,
		      unsigned int *notes, struct err *err);
	int (*delete)(struct span request, struct err *err);
};

/* Read one request from @in, serve it, answer on @out: the program's exit
 * status
 */
int helper_serve(const struct helper_ops *ops, int in, int out);

#endif /* SECRET_HELPER_H */
