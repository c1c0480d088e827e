# SPDX-License-Identifier: Apache-2.0
"""tests/secret/exposure.py - a value is nowhere but where it must be

Memory of our processes (as root, who may look), argument lists, environments,
core dumps, files, other processes of the same user.
"""

import base64
import signal

from common import *
from gnome_keyring import Keyring

MEMSCAN = os.path.join(BIN, "memscan")

# A sanitizer locks no memory and keeps what was freed: nothing to see there
scan_test = test_if(IS_ROOT and not SANITIZED)


def canary(t):
    """A fresh value, and the file that tells memscan what to look for"""
    value = "c4nary" + os.urandom(16).hex() + "X"
    path = os.path.join(t.away, "canary")
    with open(path, "w") as f:
        f.write(value)
    return value, path


def scanned(t, path, *argv, env=None, stdin=""):
    """Run argv under memscan: ({(when, program): most copies}, its lines)"""
    full = {"XDG_CONFIG_HOME": None, "XDG_RUNTIME_DIR": None,
            "DBUS_SESSION_BUS_ADDRESS": None, **(env or {})}
    r = t.outside(MEMSCAN, path, *argv, env=full, stdin=stdin, timeout=120).ok()
    found = {}
    for line in re.findall(r"^(\w+) (\S+) (\d+)$", r.out, re.M):
        key = line[0], line[1]
        found[key] = max(found.get(key, 0), int(line[2]))
    lacks(r.out, "blind")
    contains(r.out, "code 0", r.out)
    return found


def check_clean(found, *programs):
    for program in programs:
        check(("exit", program) in found, program, "did not end", found)
    for (when, program), copies in found.items():
        check(copies == 0, f"{program}: {copies} copies ({when})")


@scan_test
def the_memory_scanner_finds_values_left_by_other_programs(t):
    """The control: without this, an empty result would show nothing"""
    value, path = canary(t)
    found = scanned(t, path, "sh", "-c", "read x; echo $x >/dev/null; :",
                    stdin=value + "\n")
    check(found[("exit", "sh")] > 0, found)
    check(found[("during", "sh")] > 0, found)
    found = scanned(t, path, "sh", "-c", f"/bin/true {value}")
    check(found[("visible", "sh")] > 0, found)


@scan_test
def no_copy_is_left_in_memory_with_the_plaintext_file(t):
    value, path = canary(t)
    check_clean(scanned(t, path, CLOCHE, "secret", "set", "A", stdin=value),
                "cloche-secret")
    check_clean(scanned(t, path, CLOCHE, "secret", "get", "A"),
                "cloche-secret")
    check_clean(scanned(t, path, CLOCHE, "secret", "export"), "cloche-secret")
    equal(get(t, "A"), value)


@scan_test
def no_copy_is_left_in_memory_with_the_encrypted_file(t):
    value, path = canary(t)
    words = os.path.join(t.away, "words")
    with open(os.open(words, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
        f.write("passphrase\n")
    for options in (("--key-file", key_file(t), "--service", "k"),
                    ("--passphrase-file", words, "--service", "p")):
        check_clean(scanned(t, path, CLOCHE, "secret", "set", "A", *options,
                            stdin=value), "cloche-secret")
        check_clean(scanned(t, path, CLOCHE, "secret", "get", "A", *options),
                    "cloche-secret")
        equal(get(t, "A", *options), value)


@scan_test
def no_passphrase_is_left_in_memory(t):
    words, path = canary(t)
    os.chmod(path, 0o600)
    options = ("--passphrase-file", path)
    check_clean(scanned(t, path, CLOCHE, "secret", "set", "A", *options,
                        stdin="v"), "cloche-secret")
    check_clean(scanned(t, path, CLOCHE, "secret", "get", "A", *options),
                "cloche-secret")


@scan_test
def no_copy_is_left_in_memory_with_the_keyring(t):
    value, path = canary(t)
    with Keyring(t).start() as ring:
        check_clean(scanned(t, path, CLOCHE, "secret", "set", "A", stdin=value,
                            env=ring.env),
                    "cloche-secret", "cloche-secret-s")
        check_clean(scanned(t, path, CLOCHE, "secret", "get", "A",
                            env=ring.env),
                    "cloche-secret", "cloche-secret-s")
        equal(ring.get("A"), value)


@scan_test
def no_copy_is_left_in_memory_by_the_credential_helpers(t):
    value, path = canary(t)
    host = "protocol=https\nhost=example.com\n"
    check_clean(scanned(t, path, CLOCHE, "secret", "git-credential", "store",
                        stdin=f"{host}username=me\npassword={value}\n"),
                "cloche-secret")
    check_clean(scanned(t, path, CLOCHE, "secret", "git-credential", "get",
                        stdin=host), "cloche-secret")
    check_clean(scanned(t, path, CLOCHE, "secret", "docker-credential",
                        "store", stdin='{"ServerURL":"https://x","Username":'
                        f'"me","Secret":"{value}"}}'), "cloche-secret")
    check_clean(scanned(t, path, CLOCHE, "secret", "docker-credential", "get",
                        stdin="https://x"), "cloche-secret")


@test
def no_file_except_the_store_contains_the_value(t):
    value, path = canary(t)
    os.unlink(path)
    put(t, "A", value, "--key-file", key_file(t)).ok()
    get(t, "A", "--key-file", key_file(t))
    put(t, "B", value, "--service", "s", "--backend", "plaintext").ok()
    forms = [value, value.encode().hex(),
             base64.b64encode(value.encode()).decode().rstrip("=")]
    holders = set()
    for root in (t.home, t.away, t.dir, os.environ.get("TMPDIR", "/tmp")):
        for base, _, files in os.walk(root):
            for name in files:
                with open(os.path.join(base, name), "rb") as f:
                    data = f.read()
                if any(form.encode() in data for form in forms):
                    holders.add(os.path.join(base, name))
    equal(holders, {store_file(t, "credentials-s.json")})


def with_a_value_in_hand(t, value, look):
    """Call look(pid) while cloche-secret holds @value and waits for its helper,
    which is held up by a pipe
    """
    pipe = os.path.join(t.away, "pipe")
    os.mkfifo(pipe)
    cloche = programs_with(t, f"exec cat {pipe}")
    holder = subprocess.Popen(
        [cloche, "secret", "set", "A", "--backend", "secret-service"],
        env={**os.environ, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"},
        stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=t.dir)
    holder.stdin.write(value.encode())
    holder.stdin.close()
    with open(pipe, "wb"):		# Open as soon as the helper reads
        look(holder.pid)
        holder.kill()
        holder.wait()


@as_user
def another_process_of_the_user_cannot_read_its_memory(t):
    value, _ = canary(t)

    def look(pid):
        for name in ("mem", "environ", "maps"):
            try:
                open(f"/proc/{pid}/{name}", "rb").read(1)
            except PermissionError:
                continue
            raise AssertionError(f"/proc/PID/{name} can be read")
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            lacks(f.read(), value.encode())

    with_a_value_in_hand(t, value, look)
    with subprocess.Popen(["sleep", "60"]) as control:
        open(f"/proc/{control.pid}/environ", "rb").read(1)
        control.kill()


def cores(t):
    """Whatever core_pattern calls them: nothing else is written there"""
    return os.listdir(t.dir)


@as_root
def a_crash_leaves_no_core_dump(t):
    import resource
    with open("/proc/sys/kernel/core_pattern") as f:
        if f.read()[0] in "|/":
            skip("cores do not go to the current directory here")
    endless = resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_CORE, (endless, endless))
    equal(cores(t), [])
    t.outside("sh", "-c", "kill -SEGV $$")
    equal(len(cores(t)), 1, "cores of the control")
    for name in cores(t):
        os.unlink(os.path.join(t.dir, name))
    value, _ = canary(t)
    for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGQUIT):
        def crash(pid):
            os.kill(pid, number)
            wait_until(lambda: os.path.exists(f"/proc/{pid}") and
                       "Z" in open(f"/proc/{pid}/stat").read().split()[2],
                       "it did not die")
        with_a_value_in_hand(t, value, crash)
        os.unlink(os.path.join(t.away, "pipe"))
        equal(cores(t), [], "cores")


@test
def values_are_printed_on_request_only(t):
    value, _ = canary(t)
    for argv in (("list",), ("status",), ("status", "--json"),
                 ("delete", "A")):
        put(t, "A", value).ok()
        r = secret(t, *argv)
        lacks(r.out + r.err, value)
    # Errors on the way do not quote it either
    r = put(t, "A", value + "\n" + value)
    lacks(r.out + r.err, value)
    os.makedirs(store_dir(t), exist_ok=True)
    with open(os.open(store_file(t), os.O_WRONLY | os.O_CREAT, 0o600),
              "w") as f:
        f.write('{"A":"' + value + '" oops}')
    for argv in (("get", "A"), ("list",), ("status",), ("export",)):
        r = secret(t, *argv)
        lacks(r.out + r.err, value)


main()
