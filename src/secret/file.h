/* SPDX-License-Identifier: Apache-2.0 */
/* secret/file.h - the encrypted file as a backend
 *
 * Two implementations of one function: file.c for programs that link the
 * cryptographic library, file-remote.c for those that leave it to the program
 * cloche-secret.
 */

#ifndef SECRET_FILE_H
#define SECRET_FILE_H

#include "secret/vault.h"

struct backend;
struct loop;

/**
 * struct file_spec - Where and how
 * @vault:	Everything in it outlives the backend
 * @program:	Absolute path of cloche-secret (file-remote.c only)
 * @timeout_ms:	For one run of it
 */
struct file_spec {
	struct vault_spec vault;
	const char *program;
	unsigned int timeout_ms;
};

struct backend *file_new(struct loop *loop, const struct file_spec *spec);

#endif /* SECRET_FILE_H */
