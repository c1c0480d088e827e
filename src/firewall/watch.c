/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firewall/watch.c - names move: follow them
 *
 * Theory of operation: every round looks each name up again. New addresses are
 * let in, those not seen for some rounds go: a name with many addresses shows
 * a few at a time, and a program may hold on to one that it got before. A name
 * that cannot be resolved keeps what it had. The transaction names the mark of
 * our table, so it fails when somebody took the table down or replaced it; a
 * watcher never brings a firewall back. Nothing needs to be tidied up: killed
 * at any moment, it leaves the firewall as it is.
 */

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "firewall/firewall.h"
#include "firewall/nft.h"
#include "firewall/state.h"

static void wait_ms(uint64_t ms)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)(ms / 1000);
	end.tv_nsec += (long)(ms % 1000) * 1000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) ==
	       EINTR)
		;
}

static void keep(struct ruleset *r, const char *name, int64_t now_ms)
{
	for (size_t i = 0; i < r->names.len; i++) {
		if (!strcmp(r->names.v[i].name, name))
			r->names.v[i].seen_ms = now_ms;
	}
}

/* One round of look-ups. @failing remembers who was complained about. */
static void look(const struct firewall *f, struct ruleset *r, bool *failing,
		 void (*warn)(const char *line))
{
	const int64_t now_ms = firewall_now_ms();

	for (size_t i = 0; i < f->names.len; i++) {
		struct err err = { 0 };
		const bool bad = firewall_look_up(f, f->names.v[i], r, now_ms,
						  &err) < 0;

		if (bad)
			keep(r, f->names.v[i], now_ms);
		if (bad && !failing[i])
			warn(err.msg);
		failing[i] = bad;
	}
}

/* Whether the kernel still has the table that we look after */
static bool is_ours(const struct ruleset *r)
{
	struct err err = { 0 };
	struct state state;
	const bool known = state_read(&state, &err) == 0;
	const bool ours = known && !strcmp(state.id, r->id);

	state_done(&state);
	return ours || !known;
}

static int update(const struct ruleset *r, struct err *err)
{
	auto_buf struct buf text = { 0 };

	ruleset_write_names(r, &text);
	return nft_load(&text, err);
}

int firewall_watch(const struct firewall *f, struct ruleset *r,
		   void (*warn)(const char *line), struct err *err)
{
	auto_free bool *failing = mem_zalloc(f->names.len + 1);
	const int64_t keep_ms = (int64_t)f->watch_ms * FIREWALL_KEEP_ROUNDS;

	for (;;) {
		auto_buf struct buf before = { 0 };
		auto_buf struct buf after = { 0 };
		int result;

		wait_ms(f->watch_ms);
		if (!is_ours(r))
			return 0;
		ruleset_write_names(r, &before);
		look(f, r, failing, warn);
		named_list_expire(&r->names, firewall_now_ms() - keep_ms);
		ruleset_write_names(r, &after);
		if (!strcmp(buf_str(&before), buf_str(&after)))
			continue;
		result = update(r, err);
		if (result < 0)
			return is_ours(r) ? result : 0;
	}
}
