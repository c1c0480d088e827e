/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bindings/node/src/addon.c - libcloche for Node: thin, the rest is JavaScript
 *
 * A run is an object that is kept alive until it has ended. Its descriptor is
 * watched by Node's own loop, and every event is a call of one of the functions
 * that came with start(). Nothing here is shared between environments, so
 * worker threads may each load it.
 */

#define NAPI_VERSION 8

#include <cloche.h>
#include <fcntl.h>
#include <node_api.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "words.h"

enum { CALLS_MAX = 6 };

/**
 * struct run - What is behind a handle
 * @functions:	The object with the functions for the events
 * @self:	The handle, while the run goes on
 * @hook:	Keeps the environment until the poll handle is closed
 */
struct run {
	napi_env env;
	napi_ref functions, self;
	napi_async_context context;
	napi_async_cleanup_hook_handle hook;
	cloche_run *run;
	uv_poll_t *poll;
};

/* Call the function @name, if it is there, with @n values */
static void call(struct run *r, const char *name, size_t n, napi_value *values)
{
	napi_value functions, fn, thrown;
	napi_valuetype type;
	bool failed = false;

	if (napi_get_reference_value(r->env, r->functions, &functions) ||
	    napi_get_named_property(r->env, functions, name, &fn) ||
	    napi_typeof(r->env, fn, &type) || type != napi_function)
		return;
	(void)napi_make_callback(r->env, r->context, functions, fn, n, values,
				 NULL);
	(void)napi_is_exception_pending(r->env, &failed);
	/* As if it had been thrown by any other callback of Node */
	if (failed && !napi_get_and_clear_last_exception(r->env, &thrown))
		(void)napi_fatal_exception(r->env, thrown);
}

static void on_started(void *arg, cloche_run *run)
{
	(void)run;
	call(arg, "started", 0, NULL);
}

static void on_violation(void *arg, cloche_run *run,
			 const struct cloche_violation *v)
{
	struct run *r = arg;
	napi_value values[] = { make_string(r->env, v->json) };

	(void)run;
	call(r, "violation", 1, values);
}

static void on_ask(void *arg, cloche_run *run,
		   const struct cloche_question *q)
{
	struct run *r = arg;
	napi_value values[] = {
		make_number(r->env, q->id), make_string(r->env, q->host),
		make_number(r->env, q->port), make_string(r->env, q->program),
	};

	(void)run;
	call(r, "ask", 4, values);
}

static void on_updated(void *arg, cloche_run *run, unsigned int id, int error,
		       const char *why)
{
	struct run *r = arg;
	napi_value values[] = {
		make_number(r->env, id), make_number(r->env, error),
		make_string(r->env, why),
	};

	(void)run;
	call(r, "updated", 3, values);
}

static void on_message(void *arg, cloche_run *run, const char *line)
{
	struct run *r = arg;
	napi_value values[] = { make_string(r->env, line) };

	(void)run;
	call(r, "message", 1, values);
}

static void on_report(void *arg, cloche_run *run, const char *text)
{
	struct run *r = arg;
	napi_value values[] = { make_string(r->env, text) };

	(void)run;
	call(r, "report", 1, values);
}

static void on_ended(void *arg, cloche_run *run,
		     const struct cloche_result *result)
{
	struct run *r = arg;
	napi_value values[] = {
		make_number(r->env, result->status),
		make_number(r->env, result->error),
		make_number(r->env, result->sandboxed),
		make_string(r->env, result->message),
	};

	(void)run;
	call(r, "ended", 4, values);
}

static void on_closed(uv_handle_t *handle)
{
	struct run *r = handle->data;

	free(handle);
	if (!r)
		return;
	/* The environment is going down and waited for this */
	(void)napi_remove_async_cleanup_hook(r->hook);
	r->hook = NULL;
}

/* Nothing more will come; the object may go when nothing refers to it */
static void stop(struct run *r, bool keep_hook)
{
	if (r->poll) {
		(void)uv_poll_stop(r->poll);
		r->poll->data = keep_hook ? r : NULL;
		uv_close((uv_handle_t *)r->poll, on_closed);
		r->poll = NULL;
	}
	cloche_run_free(r->run);
	r->run = NULL;
	if (!keep_hook && r->hook) {
		(void)napi_remove_async_cleanup_hook(r->hook);
		r->hook = NULL;
	}
	if (r->functions)
		(void)napi_delete_reference(r->env, r->functions);
	r->functions = NULL;
	if (r->context)
		(void)napi_async_destroy(r->env, r->context);
	r->context = NULL;
	if (r->self)
		(void)napi_delete_reference(r->env, r->self);
	r->self = NULL;
}

static void on_teardown(napi_async_cleanup_hook_handle handle, void *arg)
{
	struct run *r = arg;

	r->hook = handle;
	if (r->poll) {
		stop(r, true);
		return;
	}
	(void)napi_remove_async_cleanup_hook(handle);
	r->hook = NULL;
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct run *r = poll->data;
	napi_handle_scope scope;

	(void)status;
	(void)events;
	if (napi_open_handle_scope(r->env, &scope))
		return;
	/* A callback may have closed it */
	if (cloche_run_turn(r->run) == 0 && r->poll)
		stop(r, false);
	(void)napi_close_handle_scope(r->env, scope);
}

static void on_collected(napi_env env, void *data, void *hint)
{
	(void)env;
	(void)hint;
	free(data);
}

static struct run *unwrap(napi_env env, napi_value value)
{
	struct run *r = NULL;

	if (napi_unwrap(env, value, (void **)&r) || !r)
		(void)napi_throw_type_error(env, NULL, "not a run");
	return r;
}

static int watch(struct run *r)
{
	uv_loop_t *loop;
	uv_poll_t *poll;

	if (napi_get_uv_event_loop(r->env, &loop))
		return -1;
	poll = calloc(1, sizeof(*poll));
	if (!poll || uv_poll_init(loop, poll, cloche_run_fd(r->run))) {
		free(poll);
		return -1;
	}
	poll->data = r;
	r->poll = poll;
	return uv_poll_start(poll, UV_READABLE, on_ready);
}

/* The handle for a run that has started; it is kept until the end */
static napi_value make_handle(napi_env env, struct run *r, napi_value functions)
{
	napi_value handle, name;

	if (napi_create_object(env, &handle) ||
	    napi_wrap(env, handle, r, on_collected, NULL, NULL))
		return NULL;
	if (napi_create_reference(env, functions, 1, &r->functions) ||
	    napi_create_reference(env, handle, 1, &r->self) ||
	    napi_create_string_utf8(env, "cloche", NAPI_AUTO_LENGTH, &name) ||
	    napi_async_init(env, handle, name, &r->context) ||
	    napi_add_async_cleanup_hook(env, on_teardown, r, &r->hook) ||
	    watch(r))
		return NULL;
	return handle;
}

/* start(box, {argv, env, directory, stdio}, functions, asks) */
static napi_value start(napi_env env, napi_callback_info info)
{
	static const struct cloche_events all = {
		.size = sizeof(all), .started = on_started,
		.violation = on_violation, .ask = on_ask,
		.updated = on_updated, .message = on_message,
		.report = on_report, .ended = on_ended,
	};
	struct cloche_events events = all;
	struct cloche_run_options options = {
		.size = sizeof(options), .events = &events,
	};
	size_t n = CALLS_MAX;
	napi_value args[CALLS_MAX], handle;
	struct command command = { 0 };
	struct run *r = calloc(1, sizeof(*r));
	cloche_sandbox *box;
	int error;

	(void)napi_get_cb_info(env, info, &n, args, NULL, NULL);
	box = r && n == 4 ? make_sandbox(env, args[0]) : NULL;
	if (!box || !read_command(env, args[1], &command)) {
		cloche_sandbox_free(box);
		free(r);
		return NULL;
	}
	if (!is_true(env, args[3]))
		events.ask = NULL;
	options.argv = (const char *const *)command.argv;
	options.env = (const char *const *)command.env;
	options.directory = command.directory;
	options.stdio = command.stdio;
	options.arg = r;
	r->env = env;
	error = cloche_start(box, &options, &r->run);
	command_done(&command);
	if (error < 0) {
		throw_errno(env, error, cloche_sandbox_message(box));
		cloche_sandbox_free(box);
		free(r);
		return NULL;
	}
	cloche_sandbox_free(box);
	handle = make_handle(env, r, args[2]);
	if (!handle) {
		stop(r, false);
		(void)napi_throw_error(env, NULL, "cannot watch the run");
	}
	return handle;
}

static napi_value finish(napi_env env, const struct run *r, int result)
{
	if (result < 0) {
		throw_errno(env, result, r->run ? cloche_run_message(r->run)
						: "the command has ended");
		return NULL;
	}
	return make_number(env, result);
}

enum { GONE = -3 };	/* -ESRCH */

/* answer(run, id, allow, remember) */
static napi_value answer(napi_env env, napi_callback_info info)
{
	size_t n = 4;
	napi_value args[4];
	uint32_t id = 0;
	struct run *r;

	(void)napi_get_cb_info(env, info, &n, args, NULL, NULL);
	r = unwrap(env, args[0]);
	if (!r || napi_get_value_uint32(env, args[1], &id))
		return NULL;
	return finish(env, r, r->run ?
		      cloche_run_answer(r->run, id, is_true(env, args[2]),
					is_true(env, args[3])) : GONE);
}

/* update(run, policy): its number */
static napi_value update(napi_env env, napi_callback_info info)
{
	size_t n = 2;
	napi_value args[2];
	struct run *r;
	char *policy;
	int result;

	(void)napi_get_cb_info(env, info, &n, args, NULL, NULL);
	r = unwrap(env, args[0]);
	policy = r ? read_string(env, args[1]) : NULL;
	if (!policy)
		return NULL;
	result = r->run ? cloche_run_update(r->run, policy) : GONE;
	free(policy);
	return finish(env, r, result);
}

/* signal(run, number) */
static napi_value send_signal(napi_env env, napi_callback_info info)
{
	size_t n = 2;
	napi_value args[2];
	int32_t number = 0;
	struct run *r;

	(void)napi_get_cb_info(env, info, &n, args, NULL, NULL);
	r = unwrap(env, args[0]);
	if (!r || napi_get_value_int32(env, args[1], &number))
		return NULL;
	return finish(env, r, r->run ? cloche_run_signal(r->run, number)
				     : GONE);
}

/* wrap(box, argv): a line for a shell */
static napi_value wrap(napi_env env, napi_callback_info info)
{
	size_t n = 2;
	napi_value args[2], value = NULL;
	cloche_sandbox *box;
	char **argv, *line;

	(void)napi_get_cb_info(env, info, &n, args, NULL, NULL);
	box = make_sandbox(env, args[0]);
	argv = box ? read_list(env, args[1]) : NULL;
	if (argv) {
		line = cloche_wrap(box, (const char *const *)argv);
		if (line)
			value = make_string(env, line);
		else
			throw_errno(env, -22, cloche_sandbox_message(box));
		cloche_free(line);
	}
	free_list(argv);
	cloche_sandbox_free(box);
	return value;
}

/* pipe(): two descriptors, closed on exec */
static napi_value make_pipe(napi_env env, napi_callback_info info)
{
	napi_value pair;
	int fds[2];

	(void)info;
	if (pipe2(fds, O_CLOEXEC) < 0 || napi_create_array(env, &pair)) {
		(void)napi_throw_error(env, NULL, "cannot make a pipe");
		return NULL;
	}
	(void)napi_set_element(env, pair, 0, make_number(env, fds[0]));
	(void)napi_set_element(env, pair, 1, make_number(env, fds[1]));
	return pair;
}

/* close(fd): one of those; Node's own would warn of a descriptor that it has not
 * opened, in a worker
 */
static napi_value close_end(napi_env env, napi_callback_info info)
{
	size_t n = 1;
	napi_value args[1];
	int32_t fd = -1;

	(void)napi_get_cb_info(env, info, &n, args, NULL, NULL);
	if (!napi_get_value_int32(env, args[0], &fd) && fd >= 0)
		(void)close(fd);
	return NULL;
}

NAPI_MODULE_INIT()
{
	static const struct { const char *name; napi_callback fn; } table[] = {
		{ "start", start }, { "answer", answer },
		{ "update", update }, { "signal", send_signal },
		{ "wrap", wrap }, { "pipe", make_pipe },
		{ "close", close_end },
	};
	napi_value fn;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		if (napi_create_function(env, table[i].name, NAPI_AUTO_LENGTH,
					 table[i].fn, NULL, &fn) ||
		    napi_set_named_property(env, exports, table[i].name, fn))
			return NULL;
	}
	(void)napi_set_named_property(env, exports, "version",
				      make_string(env, cloche_version()));
	return exports;
}
