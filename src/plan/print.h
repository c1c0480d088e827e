/* SPDX-License-Identifier: Apache-2.0 */
/* plan/print.h - parts of what explain prints */

#ifndef PLAN_PRINT_H
#define PLAN_PRINT_H

struct buf;
struct json_t;
struct plan;

/* A JSON string; bytes that are none of UTF-8's are escaped */
struct json_t *print_json_name(const char *s);

/* Everything that leads out of the sandbox, or into it, and who says so */
void print_network(const struct plan *plan, struct buf *out);

/* The same, as members of @root */
void print_network_json(const struct plan *plan, struct json_t *root);

#endif /* PLAN_PRINT_H */
