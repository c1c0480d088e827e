/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/rows.c - every attempt to get out, one row each
 *
 * ROW(id, severity, group, guarantee, when, attempt, proof, target, title)
 * RULE(..., options): the same in a sandbox of its own, with options for it
 *	id		of the probe catalogue; rows of one probe share it
 *	severity	C host code, host write, secret read, free egress; H, M, L
 *	guarantee	the promise it tests (plan/tier.c)
 *	when		WHEN_* (verify.h), without the prefix
 *	attempt		of src/attack, and its arguments; world_path() says
 *			what H/, P/, A/ and +x stand for
 *	proof		what the host looks at afterwards (verify-proof.c):
 *			INTACT	the file that was planted at the target
 *			ABSENT	that nothing is at the target
 *			MOUNTS	that, and nothing in any mount either
 *			BYTES	whether what came back holds the canary
 *			READS	whether anything came back at all
 *			CALL	whether the kernel's code was reached
 *			HIT	whether a listener outside heard of it
 *			ALIVE	whether a process outside still lives
 *			SAME	whether what came back is what it is outside
 *			GONE	whether a process outlived the sandbox
 *			OWN	the user's own files, in the user's own place
 *			EITHER	the command line was refused, nothing ran
 *			LINK	the link that was planted, and what it leads to
 *			SEEN	whether a command line of the host shows it
 *			SENT	whether a listener outside received the canary
 */

#include <sys/syscall.h>

#include "base/own.h"
#include "verify/verify.h"

#define ROW(id, severity, group, guarantee, when, attempt, proof, target, title) \
	RULE(id, severity, group, guarantee, when, attempt, proof, target, \
	     title, NULL)
#define RULE(id, severity, group, guarantee, when, attempt, proof, target, \
	     title, options) \
	{ id, severity, GROUP_##group, GUARANTEE_##guarantee, when, attempt, \
	  PROOF_##proof, target, title, options },
#define QUICK	WHEN_QUICK
#define FULL	WHEN_FULL
#define MAYBE	WHEN_MAYBE
#define ACT	WHEN_ACT
#define FROZEN	WHEN_FROZEN
#define MOVED	WHEN_MOVED
#define SERVED	WHEN_SERVED
#define TWICE	WHEN_TWICE
#define SRT_OPTIONS "--cwd P/srt --profile srt --write P/srt"

const struct verify_row verify_rows[] = {
/* Nothing runs when the boundary cannot be what was asked for */
#define REFUSES(id, severity, option, title) \
	RULE(id, severity, LAUNCH, WRITES, QUICK, "launch", EITHER, "P/ran", \
	     title, option)
REFUSES("P003", 'C', "--profile=", "an empty profile name")
REFUSES("P003", 'C', "--profile=DEFAULT", "a profile name in the wrong case")
REFUSES("P003", 'C', "--net=", "an empty network mode")
REFUSES("P003", 'C', "--net=Host", "a network mode in the wrong case")
REFUSES("P004", 'C', "--tier=best", "an unknown tier")
REFUSES("P005", 'C', "{\"sandbox\":{\"filesystem\":{", "settings that end in the middle")
REFUSES("P009", 'C', "--cwd=/nonexistent/nowhere", "a start directory that is not there")
REFUSES("P014", 'M', "{\"sandbox\":{\"enabled\":true,\"enabled\":false}}", "a key that is there twice")
REFUSES("P014", 'M', "{\"sandbox\":{\"filesystem\":{\"denyRead\":[\"/a\\u0000b\"]}}}", "a NUL in a path")
#define LACKS(what, option, title) \
	RULE("P001", 'C', LAUNCH, WRITES, QUICK, "lack " what, EITHER, \
	     "P/ran", title, option)
LACKS("userns", "--tier=full", "a kernel without user namespaces, and --tier full")
LACKS("mounts", "--tier=full", "a kernel without the mount calls, and --tier full")
LACKS("seccomp", "--profile=default", "a kernel without system call filters")
LACKS("landlock", "--tier=landlock", "a kernel without Landlock, and --tier landlock")
RULE("P006", 'C', LAUNCH, WRITES, QUICK, "plant A/by-settings", ABSENT, "A/by-settings", "a project whose own settings lift the rules", "--cwd P/hostile")
ROW("P007", 'C', LAUNCH, PRIVILEGES, QUICK, "path-program A/bin bwrap", ABSENT, "A/helper-ran", "helper programs planted early in $PATH")

/* What the policy hides */
#define HIDES(path) \
	ROW("P015", 'C', HIDDEN, HIDDEN, QUICK, "read H/" path, \
	    BYTES, "H/" path, "~/" path)
HIDES(".ssh/id_ed25519")
HIDES(".gnupg/private-keys-v1.d/key")
HIDES(".aws/credentials")
HIDES(".config/gcloud/credentials.db")
HIDES(".azure/token")
HIDES(".kube/config")
HIDES(".netrc")
HIDES(".git-credentials")
HIDES(".config/git/credentials")
HIDES(".config/gh/hosts.yml")
HIDES(".pypirc")
HIDES(".cargo/credentials.toml")
HIDES(".terraform.d/credentials.tfrc.json")
HIDES(".vault-token")
HIDES(".password-store/entry.gpg")
HIDES(".local/share/keyrings/login.keyring")
HIDES(".mozilla/firefox/cookies.sqlite")
HIDES(".config/google-chrome/Cookies")
HIDES(".bash_history")
HIDES(".zsh_history")
HIDES(".claude/.credentials.json")
HIDES(".codex/auth.json")
HIDES(".pgpass")
HIDES(".config/containers/auth.json")
HIDES(".local/state/cloche/journal")
HIDES(".local/state/cloche/trust.json")
#define ALIAS(id, path, title) \
	ROW(id, 'C', HIDDEN, HIDDEN, QUICK, "read " path, \
	    BYTES, "H/.ssh/id_ed25519", title)
ALIAS("P016", "/proc/self/root+H/.ssh/id_ed25519", "a secret through /proc/self/root")
ALIAS("P016", "/proc/thread-self/root+H/.ssh/id_ed25519", "a secret through /proc/thread-self/root")
ALIAS("P016", "P/../home/.ssh/id_ed25519", "a secret through \"..\"")
ALIAS("P016", "/proc/self/cwd/../home/.ssh/id_ed25519", "a secret through /proc/self/cwd")
ALIAS("P016", "/dev/fd/../cwd/../home/.ssh/id_ed25519", "a secret through /dev/fd")
ROW("P017", 'C', HIDDEN, HIDDEN, QUICK, "read-link H/.ssh/id_ed25519", BYTES, "H/.ssh/id_ed25519", "a secret through a symbolic link")
ROW("P018", 'C', HIDDEN, HIDDEN, QUICK, "race-read 60 H/.ssh/id_ed25519", BYTES, "H/.ssh/id_ed25519", "a secret through a path that changes meanwhile")
ROW("P018", 'C', HIDDEN, HIDDEN, FULL, "race-read 4000 H/.ssh/id_ed25519", BYTES, "H/.ssh/id_ed25519", "a secret through a path that changes, for longer")
#define SPELLED(path, title) \
	RULE("P010", 'H', HIDDEN, HIDDEN, QUICK, "read A/denied/file", \
	     BYTES, "A/denied/file", title, "--deny-read " path)
SPELLED("A/denied", "--deny-read of a directory")
SPELLED("A/denied/", "--deny-read with a slash at the end")
SPELLED("A//denied", "--deny-read with two slashes")
SPELLED("A/./denied/../denied", "--deny-read with \"..\"")
SPELLED("A/denied/file", "--deny-read of a file")
ROW("P044", 'C', HIDDEN, HIDDEN, QUICK, "read-hard H/.netrc", BYTES, "H/.netrc", "a secret through a hard link")
ROW("P027", 'C', HIDDEN, HIDDEN, QUICK | MAYBE, "by-handle H/.ssh/id_ed25519", BYTES, "H/.ssh/id_ed25519", "a secret by file handle")
ROW("P015", 'C', HIDDEN, HIDDEN, QUICK, "list H/.ssh", BYTES, "H/.ssh/+c", "the names in ~/.ssh")
ROW("P102", 'H', HIDDEN, HIDDEN, QUICK | MAYBE, "list /run/user", READS, "/run/user", "the names in /run/user: sessions, their sockets and tokens")
ROW("P021", 'H', HIDDEN, WRITES, QUICK, "plant H/.ssh/authorized_keys", ABSENT, "H/.ssh/authorized_keys", "a new file in a hidden directory")
RULE("P019", 'C', HIDDEN, HIDDEN, QUICK | ACT, "replaced-read H/.netrc", BYTES, "H/.netrc", "a hidden file that the host replaces meanwhile", "")
RULE("P019", 'C', HIDDEN, HIDDEN, QUICK | ACT, "replaced-read H/.ssh/id_ed25519", BYTES, "H/.ssh/id_ed25519", "a file in a hidden directory that the host replaces", "")
ROW("P032", 'M', HIDDEN, TMP, QUICK, "read /tmp/+n", BYTES, "/tmp/+n", "the host's /tmp")
ROW("P104", 'H', HIDDEN, IPC, QUICK, "read /dev/shm/+n", BYTES, "/dev/shm/+n", "the host's /dev/shm")
#define PROC(path) \
	ROW("P028", 'H', HIDDEN, PROCESSES, QUICK | MAYBE, "read /proc/" path, \
	    READS, "", "/proc/" path)
PROC("kcore")
PROC("kmsg")
PROC("key-users")
PROC("timer_list")
PROC("sched_debug")
PROC("latency_stats")
PROC("cmdline")
ROW("P028", 'H', HIDDEN, PROCESSES, QUICK | MAYBE, "lines-with /proc/keys cloche-canary-", BYTES, "", "/proc/keys lists the caller's keys")
ROW("P030", 'H', HIDDEN, KERNEL, QUICK, "devices", READS, "", "device files other than the usual")

RULE("P010", 'C', HIDDEN, HIDDEN, QUICK | MAYBE, "own-reads", OWN, "", "what is there of all that your rules hide", "")

/* What may not change: outside the writable roots */
#define UNCHANGED(id, attempt, target, title) \
	ROW(id, 'C', PROTECTED, WRITES, QUICK, attempt, INTACT, target, title)
#define UNMADE(id, attempt, target, title) \
	ROW(id, 'C', PROTECTED, WRITES, QUICK, attempt, ABSENT, target, title)
UNCHANGED("P035", "append A/write", "A/write", "a write outside")
UNCHANGED("P035", "truncate A/truncate", "A/truncate", "truncate() outside")
UNCHANGED("P023", "chmod A/chmod", "A/chmod", "chmod() outside")
UNCHANGED("P023", "utime A/utime", "A/utime", "times of a file outside")
UNCHANGED("P023", "fchmod A/fchmod", "A/fchmod", "fchmod() of a file outside that may be read")
ROW("P023", 'H', PROTECTED, WRITES, QUICK | MAYBE, "setxattr A/chmod", CALL, "", "attributes of a file outside")
UNCHANGED("P035", "unlink A/unlink", "A/unlink", "unlink() outside")
UNCHANGED("P035", "rename A/rename A/renamed", "A/rename", "rename() outside")
UNCHANGED("P035", "replace A/over", "A/over", "rename() over a file outside")
UNCHANGED("P044", "append-hard A/hard", "A/hard", "a write through a hard link")
UNCHANGED("P044", "append-link A/link", "A/link", "a write through a symbolic link")
UNCHANGED("P016", "append /proc/self/root+A/root", "A/root", "a write through /proc/self/root")
UNCHANGED("P016", "append /proc/self/cwd/../away/cwd", "A/cwd", "a write through /proc/self/cwd")
UNMADE("P035", "plant A/new", "A/new", "a new file outside")
UNMADE("P035", "mkdir A/new-directory", "A/new-directory", "a new directory outside")
UNMADE("P035", "plant-symlink A/new-link", "A/new-link", "a new symbolic link outside")
UNMADE("P035", "mkfifo A/new-fifo", "A/new-fifo", "a new FIFO outside")
UNMADE("P044", "tmpfile-link A/new-from-tmpfile", "A/new-from-tmpfile", "an O_TMPFILE linked in outside")
UNMADE("P018", "race-write 60 A/race/hit", "A/race/hit", "a write outside through a path that changes meanwhile")
ROW("P018", 'C', PROTECTED, WRITES, FULL, "race-write 4000 A/races/hit", ABSENT, "A/races/hit", "a write outside through a path that changes, for longer")
RULE("P048", 'C', PROTECTED, WRITES, QUICK | TWICE, "plant-links A/twice/hit /tmp/claude /tmp/.X11-unix P/twice", ABSENT, "A/twice/hit", "links that the next run might follow", "")
UNMADE("P035", "plant H/new", "H/new", "a new file in $HOME")
ROW("P035", 'C', PROTECTED, WRITES, QUICK, "everywhere A/everywhere +n", MOUNTS, "A/everywhere", "a new file in any mount")
#define START(path) \
	ROW("P064", 'C', PROTECTED, WRITES, QUICK, "append H/" path, \
	    INTACT, "H/" path, "~/" path)
START(".bashrc")
START(".profile")
START(".zshrc")
START(".gitconfig")
START(".config/systemd/user/x.service")
START(".config/autostart/x.desktop")
START(".local/bin/tool")
START(".config/git/config")

RULE("P010", 'C', PROTECTED, WRITES, QUICK | MAYBE, "own-writes +n", OWN, "", "what is there of all that your rules protect", "")

/* What may not change: in the project itself */
#define KEEPS(id, name) \
	ROW(id, 'C', PROTECTED, PROTECTED, QUICK, "append P/pkg/" name, \
	    INTACT, "P/pkg/" name, name ", which exists")
#define PLANTS(id, name) \
	ROW(id, 'C', PROTECTED, PLANTED, QUICK, "plant P/new/" name, \
	    ABSENT, "P/new/" name, name ", which does not exist")
#define PROTECTED_NAME(id, name) \
	KEEPS(id, name) \
	PLANTS("P036", name)
PROTECTED_NAME("P060", ".mcp.json")
PROTECTED_NAME("P060", ".claude/settings.json")
PROTECTED_NAME("P060", ".claude/settings.local.json")
PROTECTED_NAME("P060", ".claude/commands/x.md")
PROTECTED_NAME("P060", ".claude/agents/x.md")
PROTECTED_NAME("P060", ".claude/skills/x.md")
PROTECTED_NAME("P060", ".claude/hooks/x")
PROTECTED_NAME("P061", ".vscode/tasks.json")
PROTECTED_NAME("P061", ".idea/workspace.xml")
PROTECTED_NAME("P062", ".envrc")
PROTECTED_NAME("P062", ".husky/pre-commit")
PROTECTED_NAME("P062", ".bashrc")
PROTECTED_NAME("P062", ".zshrc")
PROTECTED_NAME("P062", ".profile")
PROTECTED_NAME("P063", ".npmrc")
PROTECTED_NAME("P059", ".gitmodules")
PROTECTED_NAME("P059", ".gitconfig")
KEEPS("P061", ".devcontainer/devcontainer.json")
PLANTS("P036", "a/b/c/d/e/.vscode/tasks.json")
ROW("P036", 'C', PROTECTED, PLANTED, QUICK, "rename-parent P/arrive/.claude/settings.local.json", ABSENT, "P/arrive/.claude/settings.local.json", "a protected name made by renaming a directory")
ROW("P044", 'C', PROTECTED, PLANTED, QUICK, "plant-symlink P/new/.bash_profile", ABSENT, "P/new/.bash_profile", "a protected name as a symbolic link")
ROW("P044", 'C', PROTECTED, PLANTED, QUICK, "tmpfile-link P/.zprofile", ABSENT, "P/.zprofile", "a protected name from an O_TMPFILE")
ROW("P043", 'C', PROTECTED, PLANTED, QUICK, "bare-repository", ABSENT, "P/HEAD", "a bare repository in the start directory")
ROW("P036", 'C', PROTECTED, PLANTED, QUICK, "by-removed-dir P/removed/.envrc", ABSENT, "P/removed/.envrc", "a protected name by way of a removed directory")
#define FROZEN_ROW(how, attempt, path, proof, title, options) \
	RULE("P036", 'C', PROTECTED, PROTECTED, QUICK | FROZEN | how, \
	     attempt " " path, proof, path, title, options)
FROZEN_ROW(0, "plant", "P/srt/.claude/settings.json", ABSENT, ".claude/settings.json for the next run, with profile srt", SRT_OPTIONS)
FROZEN_ROW(0, "plant", "P/srt/.cloche.json", ABSENT, ".cloche.json for the next run, with profile srt", SRT_OPTIONS)
FROZEN_ROW(MOVED, "replace-or-unlink", "P/tools/cloche", INTACT, "another program in the place of cloche", "")
FROZEN_ROW(MOVED, "plant", "P/tools/cloche-resolve", ABSENT, "a helper of cloche, which does not exist", "")
#define GIT(id, attempt, target, title) \
	ROW(id, 'C', PROTECTED, PROTECTED, QUICK, attempt, INTACT, target, title)
GIT("P059", "append P/repo/.git/config", "P/repo/.git/config", ".git/config")
GIT("P059", "append P/repo/.git/hooks/write", "P/repo/.git/hooks/write", "a git hook")
GIT("P059", "unlink P/repo/.git/hooks/unlink", "P/repo/.git/hooks/unlink", "unlink() of a git hook")
GIT("P044", "replace P/repo/.git/hooks/over", "P/repo/.git/hooks/over", "rename() over a git hook")
GIT("P044", "replace P/pkg/.mcp.json", "P/pkg/.mcp.json", "rename() over a protected file")
GIT("P044", "append-hard P/repo/.git/hooks/hard", "P/repo/.git/hooks/hard", "a git hook through a hard link")
UNCHANGED("P023", "chmod P/repo/.git/hooks/chmod", "P/repo/.git/hooks/chmod", "chmod() of a git hook")
ROW("P059", 'C', PROTECTED, PROTECTED, QUICK, "plant P/repo/.git/hooks/new", ABSENT, "P/repo/.git/hooks/new", "a new git hook")
ROW("P042", 'C', PROTECTED, PLANTED, QUICK, "plant P/repo/.git/commondir", ABSENT, "P/repo/.git/commondir", ".git/commondir, which does not exist")
ROW("P042", 'C', PROTECTED, PLANTED, QUICK, "plant P/repo/.git/config.worktree", ABSENT, "P/repo/.git/config.worktree", ".git/config.worktree, which does not exist")
GIT("P042", "append P/tree/.git", "P/tree/.git", "the pointer of a work tree")
GIT("P042", "replace P/tree2/.git", "P/tree2/.git", "rename() over the pointer of a work tree")
GIT("P042", "append P/repo/.git/modules/sub/config", "P/repo/.git/modules/sub/config", "a submodule's config")
GIT("P042", "append P/repo/.git/modules/sub/hooks/x", "P/repo/.git/modules/sub/hooks/x", "a submodule's hook")
GIT("P042", "append P/repo/.git/worktrees/v/commondir", "P/repo/.git/worktrees/v/commondir", "a work tree's pointer to its repository")
ROW("P042", 'C', PROTECTED, PLANTED, QUICK, "plant P/repo/.git/worktrees/w/config.worktree", ABSENT, "P/repo/.git/worktrees/w/config.worktree", "a work tree's config, which does not exist")
ROW("P042", 'C', PROTECTED, PLANTED, QUICK, "plant P/repo/.git/info/attributes", ABSENT, "P/repo/.git/info/attributes", ".git/info/attributes, which does not exist")
#define LINKED(attempt, name, title) \
	ROW("P037", 'C', PROTECTED, PROTECTED, QUICK, attempt " " name, \
	    LINK, name, title)
LINKED("append", "P/linked/.mcp.json", "a write through a protected link")
LINKED("unlink", "P/linked/.bashrc", "unlink() of a protected link")
LINKED("replace", "P/linked/.envrc", "rename() over a protected link")
GIT("P038", "rename P/repo2/.git P/repo2/moved", "P/repo2/.git/hooks/x", "renaming .git away")
GIT("P038", "rename P/repo3 P/repo3-moved", "P/repo3/.git/hooks/x", "renaming the repository away")
GIT("P038", "rename P/pkg2/.claude P/pkg2/moved", "P/pkg2/.claude/settings.json", "renaming a protected file's directory away")
GIT("P038", "exchange-new P/repo4/.git P/repo4/fake", "P/repo4/.git/hooks/x", "exchanging .git for another directory")
GIT("P038", "exchange-new P/repo5/.git/hooks P/repo5/fake", "P/repo5/.git/hooks/x", "exchanging hooks/ for another directory")
RULE("P039", 'C', PROTECTED, PROTECTED, QUICK | ACT, "replaced-append P/pkg/.profile", INTACT, "P/pkg/.profile", "a protected file that the host replaces meanwhile", "")

/* Processes, and what they may become */
ROW("P070", 'C', PROCESS, PROCESSES, QUICK, "process-names +v", BYTES, "", "a process of the host in /proc")
ROW("P080", 'C', PROCESS, SIGNALS, QUICK, "kill-hard +v", ALIVE, "", "killing a process of the host")
ROW("P080", 'C', PROCESS, SIGNALS, QUICK, "kill-otherwise +v", ALIVE, "", "killing a process of the host by other calls")
#define OWN_NS(name, title) \
	ROW("P070", 'C', PROCESS, PROCESSES, QUICK, "namespace " name, \
	    SAME, name, title)
OWN_NS("user", "the user namespace of the host")
OWN_NS("mnt", "the mount namespace of the host")
OWN_NS("pid", "the pid namespace of the host")
OWN_NS("net", "the network namespace of the host")
OWN_NS("ipc", "the IPC namespace of the host")
OWN_NS("uts", "the UTS namespace of the host")
OWN_NS("cgroup", "the cgroup namespace of the host")
#define STATUS(id, line, title) \
	ROW(id, 'C', PROCESS, PRIVILEGES, QUICK | MAYBE, "not-status " line, \
	    CALL, "", title)
STATUS("P077", "CapEff:\t0000000000000000", "an effective capability")
STATUS("P077", "CapPrm:\t0000000000000000", "a permitted capability")
STATUS("P077", "CapBnd:\t0000000000000000", "a capability in the bounding set")
STATUS("P076", "NoNewPrivs:\t1", "no_new_privs is not set")
STATUS("P127", "Seccomp:\t2", "no system call filter")
ROW("P076", 'C', PROCESS, PRIVILEGES, QUICK | MAYBE, "nosuid /", CALL, "", "set-uid programs of the system")
ROW("P055", 'H', PROCESS, PRIVILEGES, QUICK | MAYBE, "nosuid P/", CALL, "", "set-uid programs in the project")
ROW("P055", 'H', PROCESS, PRIVILEGES, QUICK | MAYBE, "nodev P/", CALL, "", "device files in the project")
ROW("P030", 'H', PROCESS, PRIVILEGES, QUICK, "mknod-whiteout P/whiteout", ABSENT, "P/whiteout", "making a device file")
ROW("P075", 'C', PROCESS, MEMORY, QUICK | MAYBE, "ptrace +i", CALL, "", "ptrace() of the first process")
ROW("P075", 'C', PROCESS, MEMORY, QUICK | MAYBE, "vm-read +i", CALL, "", "process_vm_readv() of the first process")
ROW("P075", 'C', PROCESS, MEMORY, QUICK | MAYBE, "pidfd-getfd +i 0", CALL, "", "pidfd_getfd() from the first process")
ROW("P075", 'C', PROCESS, MEMORY, QUICK | MAYBE, "open /proc/+i/mem", CALL, "", "/proc/PID/mem of the first process")
ROW("P081", 'H', PROCESS, PRIVILEGES, QUICK, "core-limit", CALL, "", "raising the core file limit")

/* What comes along by accident */
ROW("P096", 'C', DESCRIPTORS, HIDDEN, QUICK, "inherited-files", BYTES, "H/.ssh/id_ed25519", "a descriptor that the caller left open")
ROW("P096", 'C', DESCRIPTORS, HIDDEN, QUICK, "inherited-dirs id_ed25519", BYTES, "H/.ssh/id_ed25519", "a directory that the caller left open")
ROW("P041", 'H', DESCRIPTORS, WRITES, QUICK, "reopen-write 0", INTACT, "A/stdin", "writing to a file that is standard input")
ROW("P041", 'H', DESCRIPTORS, HIDDEN, QUICK, "reopen-read 2", BYTES, "A/stderr", "reading a file that is standard error")
ROW("P104", 'H', DESCRIPTORS, IPC, QUICK, "shm +k", BYTES, "", "System V shared memory of the host")
ROW("P104", 'H', DESCRIPTORS, IPC, QUICK, "msg +k", BYTES, "", "a System V queue of the host")
ROW("P104", 'H', DESCRIPTORS, IPC, FULL | MAYBE, "mqueue /+n", BYTES, "", "a POSIX queue of the host")
ROW("P098", 'C', DESCRIPTORS, KERNEL, QUICK, "tiocsti", CALL, "", "TIOCSTI: typing into the terminal")
ROW("P098", 'C', DESCRIPTORS, KERNEL, QUICK, "tiocsti-high", CALL, "", "TIOCSTI with a high bit")
ROW("P098", 'C', DESCRIPTORS, KERNEL, QUICK, "tioclinux", CALL, "", "TIOCLINUX: pasting into the console")
ROW("P098", 'H', DESCRIPTORS, KERNEL, QUICK, "tiocsetd", CALL, "", "TIOCSETD: a line discipline")

/* The kernel's rarely used interfaces */
#define CALLS(id, severity, when, attempt, title) \
	ROW(id, severity, SYSCALLS, KERNEL, when, attempt, CALL, "", title)
/* With nothing useful as arguments: what gets through does nothing */
#define STRING(number) #number
#define NUMBER_OF(call) STRING(call)
#define USELESS(id, severity, call) \
	CALLS(id, severity, QUICK | MAYBE, \
	      "unknown-call " NUMBER_OF(SYS_##call), #call "()")
#define SOCKET(id, severity, arguments, title) \
	CALLS(id, severity, QUICK | MAYBE, "socket " arguments, title)
SOCKET("P113", 'C', "0x100000001 2 0", "AF_UNIX datagrams with bit 32")
SOCKET("P113", 'C', "0x200000001 2 0", "AF_UNIX datagrams with bit 33")
SOCKET("P113", 'C', "0x8000000000000001 2 0", "AF_UNIX datagrams with bit 63")
SOCKET("P113", 'C', "0x100000028 1 0", "AF_VSOCK with bit 32")
SOCKET("P113", 'C', "16 0x100000003 0x10000000c", "netlink protocol with bit 32")
SOCKET("P116", 'C', "38 5 0", "AF_ALG")
SOCKET("P116", 'C', "33 2 10", "AF_RXRPC")
SOCKET("P117", 'C', "40 1 0", "AF_VSOCK")
SOCKET("P116", 'H', "17 3 0", "AF_PACKET")
SOCKET("P116", 'H', "2 3 1", "raw IPv4")
SOCKET("P116", 'H', "10 3 58", "raw IPv6")
SOCKET("P116", 'H', "2 2 1", "ICMP by datagram")
SOCKET("P116", 'M', "2 1 132", "SCTP")
SOCKET("P116", 'M', "2 6 33", "DCCP")
SOCKET("P116", 'M', "2 1 262", "MPTCP")
SOCKET("P116", 'M', "2 2 136", "UDP-Lite")
SOCKET("P116", 'H', "15 3 2", "AF_KEY")
SOCKET("P116", 'M', "24 2 1", "AF_PPPOX")
SOCKET("P116", 'M', "26 2 0", "AF_LLC")
SOCKET("P116", 'M', "29 3 1", "AF_CAN")
SOCKET("P116", 'M', "30 5 0", "AF_TIPC")
SOCKET("P116", 'M', "31 3 1", "AF_BLUETOOTH")
SOCKET("P116", 'M', "39 5 0", "AF_NFC")
SOCKET("P116", 'M', "41 2 0", "AF_KCM")
SOCKET("P116", 'M', "43 1 0", "AF_SMC")
SOCKET("P116", 'M', "44 3 0", "AF_XDP")
SOCKET("P118", 'H', "16 3 4", "netlink SOCK_DIAG")
SOCKET("P118", 'H', "16 3 6", "netlink XFRM")
SOCKET("P118", 'H', "16 3 9", "netlink AUDIT")
SOCKET("P118", 'H', "16 3 12", "netlink NETFILTER")
SOCKET("P118", 'H', "16 3 15", "netlink UEVENT")
SOCKET("P118", 'H', "16 3 16", "netlink GENERIC")
SOCKET("P118", 'H', "16 3 21", "netlink CRYPTO")
CALLS("P114", 'C', QUICK | MAYBE, "int80", "a 32-bit system call")
CALLS("P114", 'C', QUICK | MAYBE, "int80-socket", "socket() through the 32-bit gate")
CALLS("P114", 'C', QUICK | MAYBE, "x32", "an x32 system call")
CALLS("P115", 'C', QUICK | MAYBE, "io-uring", "io_uring_setup()")
USELESS("P108", 'H', add_key)
USELESS("P108", 'H', request_key)
USELESS("P108", 'H', keyctl)
#define NEW_NS(how, which, name) \
	CALLS("P079", 'C', QUICK | MAYBE, #how " " which, \
	      #how "() of a " name " namespace")
NEW_NS(unshare, "user", "user")
NEW_NS(unshare, "user,mnt", "user and mount")
NEW_NS(unshare, "user,net", "user and network")
NEW_NS(clone, "user", "user")
NEW_NS(clone3, "user", "user")
USELESS("P120", 'C', mount)
CALLS("P120", 'C', QUICK | MAYBE, "unknown-call " NUMBER_OF(SYS_umount2), "umount()")
USELESS("P120", 'C', pivot_root)
USELESS("P120", 'C', chroot)
USELESS("P120", 'C', setns)
USELESS("P120", 'C', open_tree)
USELESS("P120", 'C', move_mount)
USELESS("P120", 'C', fsopen)
USELESS("P120", 'C', mount_setattr)
CALLS("P121", 'H', QUICK | MAYBE, "bpf", "bpf()")
CALLS("P121", 'H', QUICK | MAYBE, "perf", "perf_event_open()")
CALLS("P121", 'H', QUICK | MAYBE, "userfaultfd", "userfaultfd()")
USELESS("P121", 'H', name_to_handle_at)
USELESS("P121", 'H', open_by_handle_at)
USELESS("P121", 'H', kexec_load)
USELESS("P121", 'H', init_module)
USELESS("P121", 'H', finit_module)
USELESS("P121", 'H', swapon)
USELESS("P121", 'H', acct)
USELESS("P121", 'H', syslog)
USELESS("P121", 'H', clock_settime)
USELESS("P121", 'H', sethostname)
USELESS("P121", 'H', quotactl)
CALLS("P121", 'M', QUICK | MAYBE, "modify-ldt", "modify_ldt()")
USELESS("P121", 'M', move_pages)
USELESS("P121", 'M', mbind)
CALLS("P121", 'M', QUICK | MAYBE, "kcmp", "kcmp()")
USELESS("P121", 'M', fanotify_init)
#define NUMBER(number, name) \
	CALLS("P120", 'C', FULL | MAYBE, "unknown-call " number, name "()")
NUMBER("426", "io_uring_enter")
NUMBER("427", "io_uring_register")
NUMBER("431", "fsconfig")
NUMBER("432", "fsmount")
NUMBER("433", "fspick")
NUMBER("443", "quotactl_fd")
NUMBER("457", "statmount")
NUMBER("458", "listmount")
NUMBER("467", "open_tree_attr")
ROW("P116", 'C', SYSCALLS, KERNEL, FULL, "other-families", CALL, "", "every address family, every type")
CALLS("P122", 'M', QUICK, "personality", "personality(READ_IMPLIES_EXEC)")
RULE("P126", 'H', SYSCALLS, KERNEL, QUICK | MAYBE, "seccomp-listener", CALL, "", "a seccomp listener of its own", "--observe off")

/* Ways out that are no files */
#define HEARD(id, severity, guarantee, attempt, target, title) \
	ROW(id, severity, NETWORK, guarantee, QUICK, attempt, HIT, target, title)
HEARD("P040", 'C', UNIX_SOCKETS, "unix-connect A/stream", "stream", "a Unix socket of the host")
HEARD("P040", 'C', UNIX_SOCKETS, "unix-dgram A/dgram", "dgram", "a Unix datagram socket of the host")
HEARD("P040", 'C', UNIX_SOCKETS, "unix-connect P/stream", "local", "a Unix socket in the project")
HEARD("P040", 'C', UNIX_SOCKETS, "unix-dgram P/dgram", "local-dgram", "a Unix datagram socket in the project")
HEARD("P040", 'C', UNIX_SOCKETS, "unix-send P/dgram", "local-dgram", "a datagram to a Unix socket in the project")
HEARD("P040", 'C', WRITES, "fifo-write A/fifo", "fifo", "a FIFO of the host")
HEARD("P101", 'C', UNIX_SOCKETS, "abstract +n", "abstract", "an abstract Unix socket of the host")
HEARD("P140", 'C', NETWORK, "tcp 127.0.0.1 +p", "tcp4", "TCP to the host's loopback")
HEARD("P140", 'C', NETWORK, "tcp 0.0.0.0 +p", "tcp4", "TCP to 0.0.0.0")
ROW("P140", 'C', NETWORK, NETWORK, QUICK | MAYBE, "tcp ::ffff:127.0.0.1 +p", HIT, "tcp4", "TCP to the mapped loopback")
ROW("P139", 'C', NETWORK, NETWORK, QUICK | MAYBE, "tcp-fast 127.0.0.1 +p sendto", HIT, "tcp4", "TCP that is opened by sending")
HEARD("P123", 'H', NETWORK, "race-connect 60 +p 3128", "tcp4", "TCP to an address that changes meanwhile")
ROW("P123", 'H', NETWORK, NETWORK, FULL, "race-connect 4000 +p 3128", HIT, "tcp4", "TCP to an address that changes, for longer")
#define SERVICES(id, paths, title) \
	ROW(id, 'C', NETWORK, UNIX_SOCKETS, QUICK | MAYBE, "services " paths, \
	    CALL, "", title)
SERVICES("P102", "/run/docker.sock /run/podman/podman.sock U/podman/podman.sock /run/containerd/containerd.sock /run/libvirt/libvirt-sock", "sockets of container engines that run here")
SERVICES("P102", "/run/dbus/system_bus_socket /run/systemd/private /run/systemd/journal/stdout U/bus U/systemd/private", "sockets of the system's and the user's buses")
SERVICES("P102", "U/gnupg/S.gpg-agent U/keyring/control U/keyring/ssh U/gcr/ssh", "sockets of the user's key stores")
SERVICES("P102", "U/wayland-0 U/pipewire-0 /tmp/.X11-unix/X0 /tmp/.X11-unix/X1", "sockets of the user's screen and sound")
SERVICES("P102", "/run/nscd/socket /run/snapd.socket /run/cups/cups.sock /run/avahi-daemon/socket /run/postgresql/.s.PGSQL.5432 /run/mysqld/mysqld.sock", "sockets of other services")
SERVICES("P103", "/run/WSL/1_interop /run/WSL/2_interop", "the way from WSL to Windows")
HEARD("P139", 'C', NETWORK, "udp 127.0.0.1 +u", "udp", "UDP to the host")
ROW("P140", 'C', NETWORK, NETWORK, QUICK | MAYBE, "tcp +a +o", HIT, "own", "TCP to the machine's own address")
#define EMPTY(json, title) \
	RULE("P002", 'C', NETWORK, NETWORK, QUICK, "tcp-or-proxy 127.0.0.1 +p", \
	     HIT, "tcp4", title, \
	     "--settings {\"sandbox\":{\"network\":{" json "}}}")
EMPTY("\"allowedDomains\":[]", "an empty allow-list")
EMPTY("\"allowedDomains\":[\"\"]", "an empty name in the allow-list")
EMPTY("", "no allow-list")
ROW("P139", 'C', NETWORK, NETWORK, QUICK | MAYBE, "other-interfaces", READS, "", "a network interface of the host")

/* The gate as the way to somewhere else; every spelling of the loopback */
#define GATE(id, when, attempt, title) \
	ROW(id, 'C', PROXY, NETWORK, when, attempt, HIT, "tcp4", title)
GATE("P140", QUICK, "proxy-connect localhost +p", "CONNECT localhost")
GATE("P157", QUICK, "proxy-connect LOCALHOST +p", "CONNECT LOCALHOST")
GATE("P140", QUICK, "proxy-connect 127.0.0.1 +p", "CONNECT 127.0.0.1")
GATE("P159", QUICK, "proxy-connect 127.1 +p", "CONNECT 127.1")
GATE("P159", QUICK, "proxy-connect 2130706433 +p", "CONNECT 2130706433")
GATE("P159", QUICK, "proxy-connect 0x7f000001 +p", "CONNECT 0x7f000001")
GATE("P159", QUICK, "proxy-connect 0177.0.0.1 +p", "CONNECT 0177.0.0.1")
GATE("P159", QUICK, "proxy-connect 0x7f.1 +p", "CONNECT 0x7f.1")
GATE("P159", QUICK, "proxy-connect 0 +p", "CONNECT 0")
GATE("P159", QUICK, "proxy-connect 0.0.0.0 +p", "CONNECT 0.0.0.0")
GATE("P161", QUICK | MAYBE, "proxy-connect [::ffff:127.0.0.1] +p", "CONNECT ::ffff:127.0.0.1")
GATE("P161", QUICK | MAYBE, "proxy-connect [::ffff:7f00:1] +p", "CONNECT ::ffff:7f00:1")
GATE("P153", QUICK, "odd-name 127.0.0.1\\00.example.com +p", "CONNECT with a NUL in the name")
GATE("P153", QUICK, "odd-name 127.0.0.1%00.example.com +p", "CONNECT with %00 in the name")
GATE("P153", QUICK, "odd-name 127.0.0.1\\09 +p", "CONNECT with a tab in the name")
GATE("P153", QUICK, "odd-name 127.0.0.1\\0d\\0aX:\\20y +p", "CONNECT with a line end in the name")
GATE("P157", QUICK, "odd-name localhost. +p", "CONNECT localhost with a dot at its end")
GATE("P158", QUICK, "odd-name 127\\e3\\80\\820\\e3\\80\\820\\e3\\80\\821 +p", "CONNECT with ideographic dots")
GATE("P158", QUICK, "odd-name \\ef\\bc\\91\\ef\\bc\\92\\ef\\bc\\97.0.0.1 +p", "CONNECT with full-width digits")
#define ANSWERS(id, severity, attempt, title) \
	ROW(id, severity, PROXY, NETWORK, QUICK | MAYBE, attempt, CALL, "", title)
ANSWERS("P152", 'C', "promise localhost +p", "a tunnel that is promised before it is refused")
ANSWERS("P167", 'C', "smuggle +p", "requests that can be read in two ways")
ANSWERS("P181", 'H', "socks-command 2 +p", "SOCKS5 BIND")
ANSWERS("P181", 'H', "socks-command 3 +p", "SOCKS5 UDP ASSOCIATE")
ANSWERS("P182", 'H', "socks-command 0 +p", "SOCKS4")
ANSWERS("P143", 'C', "dns-query secret-in-a-name.example.net +u", "a DNS answer for a name that is not allowed")
GATE("P173", QUICK, "relayed-connect 127.0.0.1 +p", "CONNECT through a relay inside")
GATE("P151", QUICK, "proxy-fetch 127.0.0.1 +p 127.0.0.1:+p 127.0.0.1", "GET http://127.0.0.1/")
GATE("P151", QUICK, "proxy-fetch localhost +p localhost:+p localhost", "GET http://localhost/")
GATE("P155", QUICK, "proxy-fetch example.com@127.0.0.1 +p example.com@127.0.0.1:+p 127.0.0.1", "GET with a name before the address")
GATE("P154", QUICK, "proxy-fetch example.com +p 127.0.0.1:+p 127.0.0.1", "an allowed-looking URI with another Host")
GATE("P180", QUICK, "socks-connect ip 127.0.0.1 +p", "SOCKS5 to 127.0.0.1")
GATE("P179", QUICK, "socks-connect name localhost +p", "SOCKS5 to localhost")
GATE("P179", QUICK, "socks-connect name 127.0.0.1 +p", "SOCKS5 to an address as a name")
GATE("P179", QUICK, "socks-connect nul 127.0.0.1 +p", "SOCKS5 to a name with a NUL")
GATE("P170", QUICK, "proxy-fetch localhost +p localhost localhost A/stream", "a proxy header that names a Unix socket")

/* With a rule that allows a name: what it must not be stretched to */
RULE("P164", 'C', PROXY, NETWORK, QUICK, "other-sni localhost +p", HIT, "tcp4", "TLS to an allowed host that asks for another", "--allow localhost")
RULE("P160", 'C', PROXY, NETWORK, QUICK | MAYBE, "proxy-both-ports +h +o +p", HIT, "own", "an allowed name that leads to this machine", "--allow +h")
RULE("P160", 'C', PROXY, NETWORK, QUICK | MAYBE, "proxy-both-ports localhost.localdomain +o +p", HIT, "tcp4", "an allowed name that leads to the loopback", "--allow localhost.localdomain")
RULE("P156", 'C', PROXY, NETWORK, QUICK, "proxy-connect localhost +p", HIT, "tcp4", "a wildcard does not cover other names", "--allow *.example.com")
RULE("P156", 'C', PROXY, NETWORK, QUICK, "proxy-connect 127.0.0.1 +p", HIT, "tcp4", "a wildcard does not cover addresses", "--allow *.example.com")
RULE("P166", 'C', PROXY, NETWORK, QUICK | SERVED, "pipeline localhost +p", HIT, "tcp4", "a second request behind one that is allowed", "--allow localhost")
RULE("P163", 'H', PROXY, NETWORK, QUICK, "proxy-connect localhost +p", HIT, "tcp4", "another port of a host that is allowed", "--allow localhost:1")
RULE("P005", 'C', PROXY, NETWORK, QUICK | ACT, "reloaded 127.0.0.1 +p", HIT, "tcp4", "settings that become unreadable meanwhile", "--settings A/live.json")

/* Secrets that are no files */
#define VARIABLE(id, name, more) \
	ROW(id, 'C', SECRETS, HIDDEN, QUICK, "variable " name, \
	    BYTES, "", "$" name more)
VARIABLE("P073", "AWS_SECRET_ACCESS_KEY", "")
VARIABLE("P073", "GITHUB_TOKEN", "")
VARIABLE("P073", "SSH_AUTH_SOCK", "")
VARIABLE("P073", "DOCKER_HOST", "")
VARIABLE("P073", "KUBECONFIG", "")
VARIABLE("P073", "MYSQL_PWD", "")
VARIABLE("P073", "VERIFY_API_KEY", "")
VARIABLE("P074", "GCONV_PATH", ", which names code to load")
VARIABLE("P074", "GLIBC_TUNABLES", ", which names code to load")
RULE("P072", 'C', SECRETS, PROCESSES, QUICK | ACT, "passed VERIFY_PASSED", SEEN, "", "a secret for the command in a command line", "--env VERIFY_PASSED")
ROW("P071", 'C', SECRETS, PROCESSES, QUICK, "scan-processes environ cloche-canary-", BYTES, "", "the caller's environment in /proc")
ROW("P071", 'C', SECRETS, PROCESSES, QUICK, "scan-processes cmdline cloche-canary-", BYTES, "", "the caller's command line in /proc")
ROW("P108", 'C', SECRETS, HIDDEN, QUICK | MAYBE, "keyring-search +n", BYTES, "", "the session keyring")

/* A bound secret: the command has a placeholder, and the value is nowhere inside. What
 * cloche-tls puts into requests, and where, is tested with servers of our own
 * (tests/live/tls.py).
 */
#define BIND(host) \
	"--secret VERIFY_BOUND@" host " --secret-from VERIFY_BOUND=env:VERIFY_BOUND"
#define BOUND(id, attempt, proof, target, title) \
	RULE(id, 'C', SECRETS, HIDDEN, QUICK, attempt, proof, target, title, \
	     BIND("bound.example.com"))
BOUND("P215", "variable VERIFY_BOUND", BYTES, "", "the value of a bound secret in its variable")
BOUND("P215", "scan-processes environ cloche-bound-", BYTES, "", "the value of a bound secret in /proc/PID/environ")
BOUND("P215", "scan-processes cmdline cloche-bound-", BYTES, "", "the value of a bound secret in /proc/PID/cmdline")
BOUND("P215", "scan-memory cloche-bound-", BYTES, "", "the value of a bound secret in the memory of processes inside")
BOUND("P215", "scan-files cloche-bound- H P /tmp /dev /run /etc", BYTES, "H/notes/bound", "the value of a bound secret in files")
#define SENDS(attempt, options, title) \
	RULE("P216", 'C', SECRETS, HIDDEN, QUICK, "bound-request VERIFY_BOUND localhost +p" attempt, \
	     SENT, "", title, options)
SENDS("", BIND("bound.example.com") " --allow localhost", "a bound secret to another host that is allowed")
SENDS(" tunnel", BIND("bound.example.com") " --allow localhost", "a bound secret to another host, in a tunnel")
SENDS("", BIND("localhost"), "a bound secret to its host in plain HTTP")
SENDS(" tunnel", BIND("localhost"), "a bound secret to its host in a tunnel without TLS")

/* The store of secrets: what is in it, and what would lead it astray later */
#define STORE(id, guarantee, attempt, name, proof, title) \
	ROW(id, 'C', SECRETS, guarantee, QUICK, \
	    attempt " H/.local/state/cloche/secrets/" name, proof, \
	    "H/.local/state/cloche/secrets/" name, title)
STORE("P215", HIDDEN, "read", "credentials.enc", BYTES, "the store of secrets")
STORE("P215", HIDDEN, "read", "credentials.json", BYTES, "the store of secrets that is plain text")
STORE("P221", WRITES, "append", "credentials-written.enc", INTACT, "a write into a store of secrets")
STORE("P221", WRITES, "replace", "credentials-over.enc", INTACT, "another file in the place of a store")
STORE("P221", WRITES, "plant-symlink", "credentials-link.enc", ABSENT, "a symbolic link in the place of a store")
STORE("P221", WRITES, "mkfifo", "credentials-fifo.enc", ABSENT, "a FIFO in the place of a store")
STORE("P222", WRITES, "plant", ".credentials.enc.new", ABSENT, "a file where a store is being written")

/* The end */
ROW("P082", 'C', LIFECYCLE, END, QUICK, "survive", GONE, "", "a process that outlives the command")
};

const size_t verify_rows_len = ARRAY_SIZE(verify_rows);

const struct verify_group verify_groups[GROUPS] = {
	[GROUP_LAUNCH] = { "launch", "launch, fail closed" },
	[GROUP_HIDDEN] = { "hidden", "hidden reads" },
	[GROUP_PROTECTED] = { "protected", "protected writes" },
	[GROUP_PROCESS] = { "process", "processes and privileges" },
	[GROUP_DESCRIPTORS] = { "descriptors", "descriptors, terminal, IPC" },
	[GROUP_SYSCALLS] = { "syscalls", "system calls" },
	[GROUP_NETWORK] = { "network", "network" },
	[GROUP_PROXY] = { "proxy", "proxy policy" },
	[GROUP_SECRETS] = { "secrets", "secrets" },
	[GROUP_LIFECYCLE] = { "lifecycle", "lifecycle" },
};
