/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/service.c - the desktop's Secret Service (org.freedesktop.secrets)
 *
 * The helper program does the work. This only asks first whether there is a
 * session bus at all: without one, no helper is started just to find out.
 */

#include "secret/service.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "secret/backend.h"
#include "secret/helper.h"

struct service {
	struct backend base;
	struct backend *helper;
	char *program;
};

static bool has_bus(void)
{
	const char *address = getenv("DBUS_SESSION_BUS_ADDRESS");
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	auto_free char *path = NULL;
	struct stat st;

	if (address && *address)
		return true;
	if (!runtime || *runtime != '/')
		return false;
	path = path_join(runtime, "bus");
	return !stat(path, &st) && S_ISSOCK(st.st_mode);
}

/* Answers if it cannot work here at all */
static bool cannot_work(struct backend *b, answer_fn done, void *arg)
{
	const char *program = ((struct service *)b)->program;
	struct err err = { 0 };

	if (!has_bus())
		fail(&err, -ENOTSUP, "there is no session bus");
	else if (access(program, X_OK) < 0)
		fail(&err, -ENOTSUP,
		     "there is no '%s': install it (Debian: package cloche-keyring)",
		     program);
	else
		return false;
	answer_fail(done, arg, &err);
	return true;
}

static struct backend *helper_of(struct backend *b)
{
	return ((struct service *)b)->helper;
}

static void service_read(struct backend *b, answer_fn done, void *arg)
{
	if (!cannot_work(b, done, arg))
		backend_read(helper_of(b), done, arg);
}

static void service_update(struct backend *b, const struct bytes *data,
			   answer_fn done, void *arg)
{
	if (!cannot_work(b, done, arg))
		backend_update(helper_of(b), data, done, arg);
}

static void service_delete(struct backend *b, answer_fn done, void *arg)
{
	if (!cannot_work(b, done, arg))
		backend_delete(helper_of(b), done, arg);
}

static void service_cancel(struct backend *b)
{
	backend_cancel(helper_of(b));
}

static void service_free(struct backend *b)
{
	backend_free(helper_of(b));
	free(((struct service *)b)->program);
	free(b);
}

static const struct backend_ops service_ops = {
	.name = "secret-service",
	.read = service_read,
	.update = service_update,
	.delete = service_delete,
	.cancel = service_cancel,
	.free = service_free,
};

struct backend *service_new(struct loop *loop, const char *program,
			    const char *service, const char *account,
			    unsigned int timeout_ms,
			    void (*slow)(const char *name))
{
	const char *const argv[] = { program, NULL };
	const struct helper_parameter parameters[] = {
		{ "service", service }, { "account", account }, { 0 },
	};
	const struct helper_spec spec = {
		.name = service_ops.name, .argv = argv,
		.parameters = parameters, .timeout_ms = timeout_ms,
		.slow = slow,
	};
	struct service *s = mem_zalloc(sizeof(*s));

	s->base.ops = &service_ops;
	s->program = mem_strdup(program);
	s->helper = helper_new(loop, &spec);
	return &s->base;
}
