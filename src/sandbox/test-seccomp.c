/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/test-seccomp.c - every generated program against the table
 *
 * The programs of both machines run in a BPF machine of our own
 * (sandbox/test-bpf.h), and what they answer is compared with a second opinion
 * (sandbox/test-answers.h).
 */

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/own.h"
#include "sandbox/filter.h"
#include "sandbox/seccomp.h"
#include "sandbox/test-answers.h"
#include "sandbox/test-bpf.h"
#include "filters-aarch64.h"
#include "filters-x86_64.h"
#include "test.h"

enum {
	NUMBERS = 2048,		/* Call numbers tried one by one */
	LENGTH_MAX = 222,	/* Instructions; each costs 0.2 us at start */
	STEPS_MAX = 16,		/* On the way to a verdict by number alone */
	NO_ROW = -1,
};

#define ERRNO(e)	(SECCOMP_RET_ERRNO | (e))

static const struct row {
	const char *name;
	enum filter_class class, watch;
} rows[] = {
#define SYSCALL(name, class, watch, reason)				\
	{ #name, CLASS_##class, CLASS_##watch },
#define SYSCALL_NR(name, x86_64, aarch64, class, watch, reason)		\
	{ #name, CLASS_##class, CLASS_##watch },
#include "sandbox/syscalls.def"
};

static const struct machine {
	const char *name;
	uint32_t audit;
	const struct filter *filters, *no_udp;
	const short *numbers;
} machines[] = {
	{ "x86_64", AUDIT_ARCH_X86_64, x86_64_filters, &x86_64_no_udp,
	  x86_64_numbers },
	{ "aarch64", AUDIT_ARCH_AARCH64, aarch64_filters, &aarch64_no_udp,
	  aarch64_numbers },
};

#ifdef __aarch64__
enum { NATIVE = 1 };
#else
enum { NATIVE = 0 };
#endif

/* High halves that the kernel drops: none may change an answer */
static const uint64_t highs[] = {
	0, 1ULL << 32, 1ULL << 33, 1ULL << 63, 0xffffffffULL << 32,
};

/* One program and where it belongs */
struct place {
	const struct machine *machine;
	struct seccomp_config config;
	const struct filter *filter;
};

static void each_program(void (*fn)(const struct place *place))
{
	for (size_t m = 0; m < ARRAY_SIZE(machines); m++) {
		const struct filter *next = machines[m].filters;

		for (int i = 0; i < SECCOMP_UNIX_COUNT * 2 *
				    SECCOMP_OBSERVE_COUNT; i++) {
			const struct place place = {
				&machines[m],
				{ .unix_sockets = i / 2 / SECCOMP_OBSERVE_COUNT,
				  .nested_userns =
					i / SECCOMP_OBSERVE_COUNT % 2,
				  .observe = i % SECCOMP_OBSERVE_COUNT },
				next++,
			};

			fn(&place);
		}
	}
}

static struct bpf_run run(const struct filter *filter, uint32_t audit,
			  uint32_t nr, const uint64_t *args)
{
	struct seccomp_data data = { .nr = (int)nr, .arch = audit };
	struct bpf_run ret;

	memcpy(data.args, args, sizeof(data.args));
	CHECK(bpf_run(filter->code, filter->len, &data, &ret));
	return ret;
}

/* What becomes of a call, high halves dropped */
static uint32_t want(const struct seccomp_config *config, int row,
		     const uint64_t *args)
{
	uint32_t low[6], answer;

	if (row == NO_ROW)
		return ERRNO(ENOSYS);
	for (size_t i = 0; i < ARRAY_SIZE(low); i++)
		low[i] = (uint32_t)args[i];
	answer = answer_class(config, rows[row].class, low);
	if (answer == SECCOMP_RET_ALLOW &&
	    answer_is_watched(config, rows[row].watch, low))
		return SECCOMP_RET_USER_NOTIF;
	return answer;
}

static int find_number(const struct machine *machine, uint32_t nr)
{
	static short found[ARRAY_SIZE(machines)][NUMBERS];	/* Plus one */
	short *here = found[machine - machines];

	if (!here[0]) {
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			if (machine->numbers[i] >= 0)
				here[machine->numbers[i]] = (short)(i + 1);
		}
	}
	return nr < NUMBERS ? here[nr] - 1 : NO_ROW;
}

static int find_name(const char *name)
{
	for (int i = 0; i < (int)ARRAY_SIZE(rows); i++) {
		if (!strcmp(rows[i].name, name))
			return i;
	}
	test_fail(__FILE__, __LINE__, "no row for %s", name);
}

static void compare(const struct place *p, int row, uint32_t nr,
		    const uint64_t *args)
{
	const uint32_t got = run(p->filter, p->machine->audit, nr, args).result;
	const uint32_t wanted = want(&p->config, row, args);

	if (got != wanted)
		test_fail(__FILE__, __LINE__,
			  "%s, unix %d, nested %d, observe %d: %s %u (%llx, %llx, %llx) gives %x, not %x",
			  p->machine->name, p->config.unix_sockets,
			  p->config.nested_userns, p->config.observe,
			  row == NO_ROW ? "no row" : rows[row].name, nr,
			  (unsigned long long)args[0],
			  (unsigned long long)args[1],
			  (unsigned long long)args[2], got, wanted);
}

/* Compare a call by name, with @args under every high half */
static void compare_high(const struct place *p, int row, uint64_t a0,
			 uint64_t a1, uint64_t a2)
{
	if (p->machine->numbers[row] < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(highs); i++) {
		const uint64_t h = highs[i];
		const uint64_t args[6] = { a0 | h, a1 | h, a2 | h, h, h, h };

		compare(p, row, (uint32_t)p->machine->numbers[row], args);
	}
}

static void check_numbers(const struct place *p)
{
	static const uint32_t bases[] = {
		0, 0x40000000, 0x80000000, 0xc0000000, 0xffffffff - NUMBERS + 1,
	};
	static const uint64_t args[][6] = {
		{ 0 }, { ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL },
		{ 1, 1, 1, 1, 1, 1 },
	};

	for (size_t b = 0; b < ARRAY_SIZE(bases); b++) {
		for (uint32_t i = 0; i < NUMBERS; i++) {
			const uint32_t nr = bases[b] + i;
			const int row = find_number(p->machine, nr);

			CHECK(!b || row == NO_ROW);
			for (size_t j = 0; j < ARRAY_SIZE(args); j++)
				compare(p, row, nr, args[j]);
		}
	}
}

TEST(every_call_number_gets_the_action_of_its_row)
{
	each_program(check_numbers);
}

static void check_foreign(const struct place *p)
{
	static const uint32_t audits[] = {
		AUDIT_ARCH_I386, AUDIT_ARCH_X86_64, AUDIT_ARCH_ARM,
		AUDIT_ARCH_AARCH64, AUDIT_ARCH_RISCV64, AUDIT_ARCH_ARMEB, 0,
		0xffffffff,
	};
	static const uint64_t args[6];

	for (size_t i = 0; i < ARRAY_SIZE(audits); i++) {
		if (audits[i] == p->machine->audit)
			continue;
		for (uint32_t nr = 0; nr < NUMBERS; nr++)
			CHECK_INT(run(p->filter, audits[i], nr, args).result,
				  SECCOMP_RET_KILL_PROCESS);
	}
}

TEST(calls_of_another_architecture_kill_the_process)
{
	each_program(check_foreign);
}

static void check_sockets(const struct place *p)
{
	static const uint32_t flags[] = {
		0, SOCK_CLOEXEC, SOCK_CLOEXEC | SOCK_NONBLOCK, 0x10, 0x80000000,
	};
	static const uint32_t protocols[] = {
		0, 1, 2, 6, 9, 15, 17, 58, 115, 132, 136, 255, 256, 262,
		0xffffffff,
	};
	const int socket_row = find_name("socket");
	const int pair_row = find_name("socketpair");

	for (uint32_t i = 0; i < 64 * 16 * ARRAY_SIZE(flags); i++) {
		const uint32_t family = i / 16 / ARRAY_SIZE(flags);
		const uint32_t type = (i / ARRAY_SIZE(flags) % 16) |
				      flags[i % ARRAY_SIZE(flags)];

		for (size_t j = 0; j < ARRAY_SIZE(protocols); j++)
			compare_high(p, socket_row, family, type, protocols[j]);
		compare_high(p, pair_row, family, type, 0);
	}
}

TEST(socket_arguments_get_the_action_of_their_row)
{
	each_program(check_sockets);
}

/* All 16-bit values alone, and with bits of the upper half */
static void check_ranges(const struct place *p)
{
	static const uint32_t tops[] = {
		0, 0x80000000, 0x40010000, 0xffff0000, 0x40040000, 0x40200000,
		0xc0180000, 0x50000000,
	};
	const int ioctl_row = find_name("ioctl");
	const int mknod_row = find_name("mknod");
	const int mknodat_row = find_name("mknodat");

	for (size_t t = 0; t < ARRAY_SIZE(tops); t++) {
		for (uint32_t i = 0; i <= 0xffff; i++) {
			const uint32_t v = tops[t] | i;
			const uint64_t args[6] = { v, v, v };
			const short *numbers = p->machine->numbers;

			compare(p, ioctl_row, (uint32_t)numbers[ioctl_row],
				args);
			compare(p, mknodat_row, (uint32_t)numbers[mknodat_row],
				args);
			if (numbers[mknod_row] >= 0)
				compare(p, mknod_row,
					(uint32_t)numbers[mknod_row], args);
		}
	}
	for (uint32_t i = 0; i <= 0xffff; i++)
		compare_high(p, ioctl_row, 0, i, 0);
}

TEST(ioctl_requests_and_device_modes_get_the_action_of_their_row)
{
	each_program(check_ranges);
}

/* Every pair of bits, and their complement, as each of the arguments */
static void check_bits(const struct place *p)
{
	static const char *const names[] = {
		"clone", "unshare", "personality", "prctl", "seccomp", "open",
		"openat", "mknod", "mknodat", "ioctl", "fcntl", "chmod",
		"fchmod", "fchmodat", "fchmodat2", "creat",
	};

	for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
		const int row = find_name(names[n]);

		for (int i = 0; i < 32 * 32; i++) {
			const uint32_t bits = 1U << i / 32 | 1U << i % 32;

			compare_high(p, row, bits, 0, 0);
			compare_high(p, row, ~bits, bits, 0);
			compare_high(p, row, 0, bits, ~bits);
			compare_high(p, row, 1, bits, bits);
			compare_high(p, row, bits & 0xff, ~bits, bits);
		}
		for (uint32_t i = 0; i < 4096; i++)
			compare_high(p, row, i, i, i);
	}
}

TEST(flag_arguments_are_filtered_bit_by_bit)
{
	each_program(check_bits);
}

static uint64_t random_state;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void check_random(const struct place *p)
{
	const int count = getenv("CLOCHE_LONG") ? 1000000 : 50000;

	for (int i = 0; i < count; i++) {
		const uint32_t nr = (uint32_t)(next_random() % 512);
		uint64_t args[6];

		/* Sparse bits: dense ones never hit a value */
		for (size_t j = 0; j < ARRAY_SIZE(args); j++)
			args[j] = next_random() & next_random() & next_random();
		compare(p, find_number(p->machine, nr), nr, args);
	}
}

TEST(random_calls_get_the_action_of_the_table)
{
	const char *seed = getenv("CLOCHE_SEED");

	random_state = seed ? strtoull(seed, NULL, 0) | 1 : 88172645463325252ULL;
	each_program(check_random);
}

/* Only such calls does the kernel allow without running the program */
static void check_cached(const struct place *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		static const uint64_t args[6];
		struct bpf_run r;

		if (p->machine->numbers[i] < 0 ||
		    rows[i].class != CLASS_ALLOW || rows[i].watch != CLASS_NONE)
			continue;
		r = run(p->filter, p->machine->audit,
			(uint32_t)p->machine->numbers[i], args);
		CHECK(!r.arguments);
		CHECK(r.steps <= STEPS_MAX);
	}
	CHECK(p->filter->len <= LENGTH_MAX);
}

TEST(filters_are_short_and_plain_calls_load_no_argument)
{
	each_program(check_cached);
}

/* So that a slip of the pen in the table does not pass as its new meaning. With a
 * "?": no process inside has the capability, so it may be left to a listener.
 */
static const char *const never_plain[] = {
	"?mount", "?umount2", "?pivot_root", "?chroot", "setns", "unshare",
	"clone", "clone3", "open_tree", "open_tree_attr", "move_mount", "fsopen",
	"fsconfig", "fsmount", "fspick", "mount_setattr", "?sethostname",
	"?setdomainname", "openat2",
};

/* Also where namespaces may be nested */
static const char *const never[] = {
	"io_uring_setup", "io_uring_enter", "io_uring_register", "keyctl",
	"add_key", "request_key", "bpf", "userfaultfd", "perf_event_open",
	"open_by_handle_at", "name_to_handle_at", "process_vm_readv",
	"process_vm_writev", "pidfd_getfd", "kcmp", "quotactl", "quotactl_fd",
	"?acct", "?swapon", "?swapoff", "?reboot", "?init_module",
	"?finit_module", "?delete_module", "kexec_load", "kexec_file_load",
	"syslog", "fanotify_init", "vhangup", "?iopl", "?ioperm", "modify_ldt",
	"?settimeofday", "?clock_settime", "clock_adjtime", "lookup_dcookie",
	"uselib", "move_pages", "mbind", "migrate_pages", "personality",
	"nfsservctl", "statmount", "listmount",
};

static void check_refused(const struct place *p, const char *name)
{
	static const uint64_t args[6] = { 0xfffffffe, ~0ULL, ~0ULL };
	const bool told = *name == '?' &&
			  p->config.observe != SECCOMP_OBSERVE_OFF;
	const short number =
		p->machine->numbers[find_name(name + (*name == '?'))];

	if (number >= 0)
		CHECK_INT(run(p->filter, p->machine->audit, (uint32_t)number,
			      args).result & SECCOMP_RET_ACTION_FULL,
			  told ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO);
}

static void check_never(const struct place *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		check_refused(p, never[i]);
	for (size_t i = 0; i < ARRAY_SIZE(never_plain); i++) {
		if (!p->config.nested_userns)
			check_refused(p, never_plain[i]);
	}
}

TEST(dangerous_calls_are_refused_in_every_program)
{
	each_program(check_never);
}

TEST(the_udp_filter_refuses_udp_only)
{
	for (size_t m = 0; m < ARRAY_SIZE(machines); m++) {
		const short number = machines[m].numbers[find_name("socket")];

		for (uint32_t nr = 0; nr < NUMBERS; nr++) {
			for (uint64_t i = 0; i < 64 * 16; i++) {
				const uint64_t args[6] = {
					i / 16 | highs[i % 5],
					i % 16 | SOCK_CLOEXEC | highs[i % 3],
				};
				const bool udp = (int)nr == number &&
					(i / 16 == AF_INET ||
					 i / 16 == AF_INET6) && i % 16 == 2;

				CHECK_INT(run(machines[m].no_udp,
					      machines[m].audit, nr,
					      args).result,
					  udp ? ERRNO(EPERM) : SECCOMP_RET_ALLOW);
			}
		}
		CHECK_INT(run(machines[m].no_udp, AUDIT_ARCH_I386,
			      (uint32_t)number, (uint64_t[6]){ 2, 2 }).result,
			  SECCOMP_RET_ALLOW);
	}
}

TEST(the_call_table_can_be_printed)
{
	struct seccomp_row row;
	size_t cursor = 0, shown = 0, here = 0;

	while (seccomp_next_row(&cursor, &row)) {
		CHECK(*row.name && *row.reason && *row.action && *row.watch);
		CHECK(strlen(row.name) <= SECCOMP_NAME_MAX);
		CHECK(strlen(row.reason) <= SECCOMP_REASON_MAX);
		if (!strcmp(row.name, "io_uring_setup"))
			CHECK_INT(row.number, SYS_io_uring_setup);
		if (!strcmp(row.name, "openat"))
			CHECK_STR(row.watch, "reported when it may write");
		if (!strcmp(row.name, "mount"))
			CHECK_INT(row.number, SYS_mount);
		shown++;
	}
	for (uint32_t nr = 0; nr < NUMBERS; nr++)
		here += find_number(&machines[NATIVE], nr) != NO_ROW;
	CHECK_INT(shown, here);
}
