/* SPDX-License-Identifier: Apache-2.0 */
/* tls/refresh.c - values that are read when they are needed, and again after a time */

#include "tls/refresh.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "gate/conn-timer.h"
#include "gate/tls-wire.h"
#include "ipc/socket.h"
#include "tls/config.h"
#include "tls/tls-report.h"

enum { RETRY_MS = 10000 }; /* After a source that failed */

/**
 * struct fresh - One value
 * @until:	When it is read again
 * @asked:	It is on its way: over @pipe, once that has come; into @in
 */
struct fresh {
	struct refresh *all;
	int64_t until;
	bool asked;
	struct loop_source pipe;
	struct bytes in;
	struct timer timer;
};

struct refresh {
	struct tls_server *server;
	const struct tls_config *config;
	void (*wake)(struct tls_server *server);
	struct loop_source control;
	struct fresh v[BOUND_SECRETS_MAX];
};

/* A stored secret was given another form since it was last read */
static void report_shape(struct refresh *r, size_t row, const struct bytes *in)
{
	const struct value_source *source = &r->config->sources[row];
	char shape[PLACEHOLDER_MAX + 1];

	if (source->stored && placeholder_shape(in->p, in->len, shape) &&
	    (!source->shape || strcmp(source->shape, shape) != 0))
		(void)tls_wire_send(r->control.fd, TLS_SHAPE, (uint32_t)row,
				    shape, in->len);
}

static void end_fetch(struct fresh *f, bool good)
{
	struct refresh *r = f->all;
	const size_t row = (size_t)(f - r->v);
	struct bytes *value = &r->server->values->v[row];
	const int64_t ttl = r->config->sources[row].ttl;

	timer_stop(r->server->timers, &f->timer);
	if (f->pipe.fd >= 0)
		loop_close(r->server->loop, &f->pipe);
	f->pipe.fd = -1;
	if (good)
		bytes_chomp(&f->in);
	good = good && f->in.len &&
	       placeholder_check(f->in.p, f->in.len, NULL) == 0;
	if (good)
		report_shape(r, row, &f->in);
	/* An old value is not sent: a request is refused, and says why */
	bytes_done(value);
	if (good)
		*value = f->in;
	else
		bytes_done(&f->in);
	f->in = (struct bytes){ 0 };
	f->asked = false;
	f->until = !good ? now_ms(CLOCK_MONOTONIC) + RETRY_MS
		   : ttl ? now_ms(CLOCK_MONOTONIC) + ttl
			 : INT64_MAX;
	r->wake(r->server);
}

static void on_late(void *arg)
{
	end_fetch(arg, false);
}

static int on_pipe(void *arg)
{
	struct fresh *f = arg;
	char piece[4096];
	const ssize_t n = read(f->pipe.fd, piece, sizeof(piece));

	if (n > 0)
		bytes_add(&f->in, piece, (size_t)n);
	explicit_bzero(piece, sizeof(piece));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0 || f->in.len > PLACEHOLDER_MAX)
		end_fetch(f, n == 0);
	return 0;
}

static int on_answer(void *arg)
{
	struct refresh *r = arg;
	struct tls_message m = { 0 };
	int fds[SOCKET_FDS_MAX];
	size_t n = SOCKET_FDS_MAX;
	const ssize_t got = socket_recv(r->control.fd, &m, sizeof(m), fds, &n);
	struct fresh *f = m.id < BOUND_SECRETS_MAX ? &r->v[m.id] : NULL;

	if (got <= 0) {
		if (got != -EAGAIN && got != -EINTR)
			loop_remove(r->server->loop, &r->control);
		return 0;
	}
	if (m.kind == TLS_VALUE && f && f->asked && f->pipe.fd < 0 && n) {
		f->pipe = (struct loop_source){ take_fd(&fds[0]), on_pipe, f };
		if (loop_add(r->server->loop, &f->pipe, EPOLLIN) < 0)
			end_fetch(f, false);
	} else if (m.kind == TLS_VALUE && f && f->asked && !n) {
		end_fetch(f, false);
	}
	for (size_t i = 0; i < n; i++)
		close_fd(&fds[i]);
	return 0;
}

struct refresh *refresh_new(struct tls_server *server,
			    const struct tls_config *config, int control,
			    void (*wake)(struct tls_server *server))
{
	struct refresh *r = mem_zalloc(sizeof(*r));
	const int64_t now = now_ms(CLOCK_MONOTONIC);
	bool needed = false;

	*r = (struct refresh){
		.server = server, .config = config, .wake = wake,
		.control = { control, on_answer, r },
	};
	for (size_t i = 0; i < BOUND_SECRETS_MAX; i++) {
		const struct value_source *source = &config->sources[i];

		r->v[i].all = r;
		r->v[i].pipe.fd = -1;
		r->v[i].timer = (struct timer){ .fn = on_late, .arg = &r->v[i] };
		r->v[i].until = source->shape ? 0
				: source->ttl ? now + source->ttl
					      : INT64_MAX;
		needed |= r->v[i].until != INT64_MAX;
		if (i < config->secrets.len && server->values->v[i].len)
			report_shape(r, i, &server->values->v[i]);
	}
	if (needed && !loop_add(server->loop, &r->control, EPOLLIN))
		return r;
	close_fd(&r->control.fd);
	free(r);
	return NULL;
}

bool refresh_is_done(struct refresh *r, const struct host *host, bool ask)
{
	const int64_t now = now_ms(CLOCK_MONOTONIC);
	bool done = true;

	for (size_t i = 0; r && i < BOUND_SECRETS_MAX; i++) {
		struct fresh *f = &r->v[i];

		if (f->until == INT64_MAX ||
		    !r->config->secrets.v[i].placeholder ||
		    !bound_secret_covers(&r->config->secrets.v[i], host))
			continue;
		if (ask && !f->asked && f->until <= now) {
			f->asked = true;
			timer_start(r->server->timers, &f->timer, TIMER_VALUE);
			(void)tls_wire_send(r->control.fd, TLS_FETCH,
					    (uint32_t)i, NULL, 0);
		}
		done &= !f->asked;
	}
	return done;
}
