/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/harness/asan-fork.c - fork() beside a thread that allocates, with AddressSanitizer
 *
 * The C library locks its allocator around fork(). Before LLVM 18 AddressSanitizer does not
 * lock its own: if the observer's thread allocates while the supervisor forks the gate, the
 * gate waits for ever for a lock whose owner it does not have. LeakSanitizer stops the
 * allocator by the functions below, which are in the same library.
 */

#include <pthread.h>
#include <stddef.h>

void lock_allocator(void) __asm__("_ZN6__lsan13LockAllocatorEv") __attribute__((weak));
void unlock_allocator(void) __asm__("_ZN6__lsan15UnlockAllocatorEv") __attribute__((weak));
void lock_stacks(void) __asm__("_ZN11__sanitizer17StackDepotLockAllEv") __attribute__((weak));
void unlock_stacks(void) __asm__("_ZN11__sanitizer19StackDepotUnlockAllEv")
	__attribute__((weak));
void asan_fork_handlers(void);

static void before(void)
{
	lock_allocator();
	lock_stacks();
}

static void after(void)
{
	unlock_stacks();
	unlock_allocator();
}

/* The linker takes this file because of the name (src/base/meson.build) */
__attribute__((constructor)) void asan_fork_handlers(void)
{
	if (lock_allocator && unlock_allocator && lock_stacks && unlock_stacks)
		(void)pthread_atfork(before, after, after);
}
