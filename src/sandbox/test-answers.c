/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/test-answers.c - what the filter should answer, once more in plain C
 *
 * Written from the manual pages, not from the rules in filters.def.
 */

#include "sandbox/test-answers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "sandbox/seccomp.h"

#define ERRNO(e)	(SECCOMP_RET_ERRNO | (e))

/* Refused; with an observer, a notification */
static uint32_t told(const struct seccomp_config *config)
{
	return config->observe == SECCOMP_OBSERVE_OFF ? ERRNO(EPERM)
						      : SECCOMP_RET_USER_NOTIF;
}

static uint32_t told_if(const struct seccomp_config *config, bool refused)
{
	return refused ? told(config) : SECCOMP_RET_ALLOW;
}

static uint32_t want_socket(const struct seccomp_config *config, int family,
			    int type, int protocol)
{
	const int kind = type & 0xf;

	if (family == AF_UNIX) {
		if (config->unix_sockets == SECCOMP_UNIX_DENY)
			return ERRNO(EPERM);
		if (config->unix_sockets == SECCOMP_UNIX_BY_PATH &&
		    (kind == SOCK_DGRAM || kind == SOCK_RAW))
			return SECCOMP_RET_USER_NOTIF;
		return SECCOMP_RET_ALLOW;
	}
	if (family == AF_NETLINK)
		return protocol == NETLINK_ROUTE ? SECCOMP_RET_ALLOW :
						   ERRNO(EAFNOSUPPORT);
	if (family != AF_INET && family != AF_INET6)
		return ERRNO(EAFNOSUPPORT);
	if (kind == SOCK_RAW)
		return told(config);
	if (kind != SOCK_STREAM && kind != SOCK_DGRAM && kind)
		return ERRNO(EPERM);
	if (!protocol || protocol == IPPROTO_TCP || protocol == IPPROTO_UDP)
		return SECCOMP_RET_ALLOW;
	if (protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6)
		return ERRNO(EPERM);
	return ERRNO(EPROTONOSUPPORT);
}

static uint32_t want_pair(const struct seccomp_config *config, int family,
			  int type)
{
	const int kind = type & 0xf;

	if (family != AF_UNIX)
		return ERRNO(EAFNOSUPPORT);
	if (config->unix_sockets != SECCOMP_UNIX_ALLOW &&
	    (kind == SOCK_DGRAM || kind == SOCK_RAW))
		return config->unix_sockets == SECCOMP_UNIX_BY_PATH
			       ? SECCOMP_RET_USER_NOTIF : ERRNO(EPERM);
	return SECCOMP_RET_ALLOW;
}

/* Of btrfs and bcachefs, but not FICLONE, FICLONERANGE and FIDEDUPERANGE */
static bool is_subvolume_request(uint32_t request)
{
	const uint32_t type = request >> 8 & 0xff;

	return (type == 0x94 && request != 0x40049409 &&
		request != 0x4020940d && request != 0xc0189436) ||
	       type == 0xbc;
}

static bool is_bad_request(uint32_t request, uint32_t what)
{
	return request == TIOCSTI || request == TIOCLINUX ||
	       (request == 0x540a && !what) ||	/* TCXONC, TCOOFF */
	       request == TIOCSETD || request == TIOCCONS ||
	       request == 0x5437 || request == 0xaa00 ||
	       request == 0x540c || is_subvolume_request(request) ||
	       (request >= 0x4b00 && request <= 0x4bff) ||
	       (request >= 0x5600 && request <= 0x560f);
}

static bool is_device(uint32_t mode)
{
	return S_ISCHR(mode) || S_ISBLK(mode);
}

/* O_CREAT, or the bit of O_TMPFILE that is its own */
static bool is_making(uint32_t flags)
{
	return flags & (0100 | 020000000);
}

static bool is_harmless(uint32_t persona)
{
	return persona == 0xffffffff ||
	       !(persona & ~0x60008U);	/* LINUX32, UNAME26, no ASLR */
}

static uint32_t refuse_if(bool refused, int error)
{
	return refused ? ERRNO((uint32_t)error) : SECCOMP_RET_ALLOW;
}

uint32_t answer_class(const struct seccomp_config *config,
		      enum filter_class class, const uint32_t *a)
{
	const bool nested = config->nested_userns;

	switch (class) {
	case CLASS_ALLOW:
		return SECCOMP_RET_ALLOW;
	case CLASS_EPERM:
		return ERRNO(EPERM);
	case CLASS_REPORTED:
		return told(config);
	case CLASS_NEST_EPERM:
		return refuse_if(!nested, EPERM);
	case CLASS_NEST_REPORTED:
		return told_if(config, !nested);
	case CLASS_NEST_ENOSYS:
		return refuse_if(!nested, ENOSYS);
	case CLASS_CLONE:
		return refuse_if(!nested && a[0] & 0x7e020000, EPERM);
	case CLASS_UNSHARE:
		return refuse_if(!nested && a[0] & ~0x50f00U, EPERM);
	case CLASS_SOCKET:
		return want_socket(config, (int)a[0], (int)a[1], (int)a[2]);
	case CLASS_SOCKETPAIR:
		return want_pair(config, (int)a[0], (int)a[1]);
	case CLASS_FCNTL:
		return refuse_if(a[1] == 1024 || a[1] == 1040, EPERM);
	case CLASS_IOCTL:
		return refuse_if(is_bad_request(a[1], a[2]), EPERM);
	case CLASS_PERSONALITY:
		return refuse_if(!is_harmless(a[0]), EPERM);
	case CLASS_PRCTL:
		return refuse_if(a[0] == 35, EPERM);	/* PR_SET_MM */
	case CLASS_SECCOMP:
		return refuse_if(a[0] == 1 && a[1] & 8, EBUSY);
	case CLASS_MODE_1:
		return refuse_if(a[1] & 04000, EPERM);
	case CLASS_MODE_2:
		return refuse_if(a[2] & 04000, EPERM);
	case CLASS_OPEN_MODE_2:
		return refuse_if(is_making(a[1]) && a[2] & 04000, EPERM);
	case CLASS_OPEN_MODE_3:
		return refuse_if(is_making(a[2]) && a[3] & 04000, EPERM);
	case CLASS_MKNOD:
		return refuse_if(is_device(a[1]) || a[1] & 04000, EPERM);
	case CLASS_MKNODAT:
		return refuse_if(is_device(a[2]) || a[2] & 04000, EPERM);
	default:
		return ERRNO(ENOSYS);
	}
}

bool answer_is_watched(const struct seccomp_config *config,
		       enum filter_class watch, const uint32_t *a)
{
	const bool paths = config->unix_sockets == SECCOMP_UNIX_BY_PATH;
	const bool on = config->observe != SECCOMP_OBSERVE_OFF;
	const bool full = config->observe == SECCOMP_OBSERVE_FULL;
	const bool late = full || config->observe == SECCOMP_OBSERVE_LATE;
	uint32_t flags;

	switch (watch) {
	case CLASS_CHANGE_OPEN:
		return late;
	case CLASS_GROUP:
		return late && a[1];
	case CLASS_LOOK_1:
	case CLASS_LOOK_2:
		return late && a[watch == CLASS_LOOK_1 ? 1 : 2] & 2;
	case CLASS_CHANGE:
		return on;
	case CLASS_CHANGE_TIMES:
		return late || (on && a[1] && a[2]);
	case CLASS_TURN:
		return on && !full;
	case CLASS_SPLIT:
		return on && !full && a[0] & 0x200;
	case CLASS_SPLIT_CLONE:
		return on && !full && (a[0] & 0x10200) == 0x10000;
	case CLASS_CONNECT:
	case CLASS_BIND:
	case CLASS_LISTEN:
		return on || paths;
	case CLASS_OPEN_FLAGS_1:
	case CLASS_OPEN_FLAGS_2:
		flags = a[watch == CLASS_OPEN_FLAGS_1 ? 1 : 2];
		return full || (on && flags & (O_WRONLY | O_RDWR | O_CREAT |
					       O_TRUNC));
	default:
		return false;
	}
}
