/* SPDX-License-Identifier: Apache-2.0 */
/* secret/service.h - the desktop's Secret Service (org.freedesktop.secrets) */

#ifndef SECRET_SERVICE_H
#define SECRET_SERVICE_H

struct backend;
struct loop;

/* @program: absolute path of cloche-secret-service; copies are taken. @slow is as
 * in secret/helper.h.
 */
struct backend *service_new(struct loop *loop, const char *program,
			    const char *service, const char *account,
			    unsigned int timeout_ms,
			    void (*slow)(const char *name));

#endif /* SECRET_SERVICE_H */
