# SPDX-License-Identifier: Apache-2.0
"""tests/library/python.py - the package for Python, installed"""

import array
import asyncio
import errno
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import cloche
from cloche import ClocheError, Sandbox

AWAY = os.environ["AWAY"]
LONG = bool(os.environ.get("CLOCHE_LONG"))


def fresh():
    return tempfile.mkdtemp(dir=AWAY)


def connect(port):
    return ("exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT 127.0.0.1:"
            f"{port} HTTP/1.1\\r\\n\\r\\n' >&3; read -r a b c <&3; echo $b; "
            "exec 3<&-")


def count_fds():
    return len(os.listdir("/proc/self/fd"))


class Runs(unittest.TestCase):
    def test_status_output_input_directory_and_environment(self):
        box, place = Sandbox(), os.path.realpath(fresh())
        r = box.run(["sh", "-c", "echo out; echo err >&2; exit 7"])
        self.assertEqual((r.status, r.stdout, r.stderr, r.sandboxed),
                         (7, "out\n", "err\n", True))
        r = box.run("cat; pwd; echo $LANG", input="in\n", cwd=place,
                    env={"LANG": "C", "PATH": os.environ["PATH"]})
        self.assertEqual(r.stdout, f"in\n{place}\nC\n")
        self.assertEqual(box.run("kill -9 $$").status, 137)
        self.assertEqual(box.run(["no-such-program"]).status, 127)
        big = b"x" * 3000000
        self.assertEqual(box.run("cat", input=big, text=False).stdout, big)

    def test_commands_of_a_session_share_a_sandbox(self):
        place = fresh()
        with Sandbox(write=place).session("python-test") as box:
            start = f"sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >{place}/pid; echo x >/tmp/x"
            self.assertEqual(box.run(start, cwd=place).status, 0)
            look = f"kill -0 $(cat {place}/pid) && cat /tmp/x"
            self.assertEqual(box.run(look, cwd=place).stdout, "x\n")
            # The control: a run of its own
            self.assertNotEqual(Sandbox(write=place).run(look, cwd=place).status, 0)
            # A refusal is its own command's, and is reported by the sandbox's function
            seen, other = [], fresh()
            box.on_violation = seen.append
            r = box.run(f"echo hi >{other}/file", cwd=place)
            self.assertEqual([(v["kind"], v["target"]) for v in seen],
                             [("fs-write", f"{other}/file")])
            self.assertEqual(r.violations, seen)
            self.assertEqual(box.run(look, cwd=place).violations, [])
            with self.assertRaisesRegex(ClocheError, "another policy"):
                Sandbox().session("python-test").run("true", cwd=place)
        self.assertNotEqual(box.run(look, cwd=place).status, 0)	# Another one by now
        box.stop()
        box.stop()

    def test_much_input_takes_no_longer_than_it_must(self):
        """Linear: what is left was copied with every write"""
        def seconds(megabytes):
            start = time.process_time()
            r = Sandbox().run("wc -c", input=b"x" * (megabytes << 20))
            self.assertEqual(int(r.stdout), megabytes << 20)
            return time.process_time() - start
        few, many = (min(seconds(size) for _ in range(3)) for size in (4, 40))
        self.assertLess(many, 40 * few)

    def test_an_environment_may_be_bytes_but_not_anything(self):
        box = Sandbox(pass_env=True)
        env = {**os.environb, b"A": b"b\xff", "C": Path("/d")}
        r = box.run("printf %s \"$A $C\"", env=env, text=False)
        self.assertEqual(r.stdout, b"b\xff /d")
        before = count_fds()
        with self.assertRaises(TypeError):
            box.run("true", env={"A": None})
        self.assertEqual(count_fds(), before)

    def test_a_run_that_has_ended_has_no_descriptor(self):
        run = Sandbox().start("true", stdio=(-1, -1, -1))
        self.assertGreater(run.fileno(), 2)
        run.wait()
        with self.assertRaises(ValueError):
            run.fileno()

    def test_a_cancelled_run_ends(self):
        async def main():
            loop, up = asyncio.get_running_loop(), asyncio.Event()
            box = Sandbox(on_violation=lambda _:
                          loop.call_soon_threadsafe(up.set))
            task = asyncio.create_task(box.run_async(
                "echo >/nowhere; sleep 1000"))
            await up.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
        asyncio.run(main())	# Waits for the thread as well

    def test_nothing_is_not_an_argument(self):
        for command in (["echo", None, "x"], [None], None):
            with self.assertRaises(TypeError):
                Sandbox().run(command)
        with self.assertRaises(TypeError):
            Sandbox().wrap(["echo", None, "x"])

    def test_a_refusal_is_an_event_and_in_the_result(self):
        place, seen = fresh(), []
        r = Sandbox(on_violation=seen.append).run(f"echo hi >{place}/file")
        self.assertEqual([(v["kind"], v["target"]) for v in seen],
                         [("fs-write", f"{place}/file")])
        self.assertEqual(r.violations, seen)
        r = Sandbox(write=[place]).run(f"echo hi >{place}/file")
        self.assertEqual((r.status, r.violations), (0, []))

    def test_a_question_is_answered(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            answers = ((lambda q: q.allow(), "200\n"),
                       (lambda q: True, "200\n"), (lambda q: q.deny(), "403\n"),
                       (lambda q: False, "403\n"), (lambda q: 1, "403\n"),
                       (None, "403\n"))
            for answer, want in answers:
                r = Sandbox(on_ask=answer).run(["bash", "-c", connect(port)])
                self.assertEqual(r.stdout, want)

    def test_a_new_policy_counts_at_once_a_wrong_one_changes_nothing(self):
        place = fresh()
        box = Sandbox({"filesystem": {"allowWrite": []}})
        ours, theirs = socket.socketpair()
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            run = box.start(["bash", "-c", f"""while read x; do
                (echo hi >{place}/file) 2>/dev/null && echo yes || echo no
                {connect(port)}; done"""], stdio=[theirs.fileno()] * 3)
            theirs.close()
            lines = ours.makefile("rw")

            def turn():
                lines.write("\n")
                lines.flush()
                return lines.readline(), lines.readline()

            self.assertEqual(turn(), ("no\n", "403\n"))
            box.update({"filesystem": {"allowWrite": [place]},
                        "network": {"allowedDomains": ["127.0.0.1"]}})
            self.assertEqual(turn(), ("yes\n", "200\n"))
            with self.assertRaisesRegex(ClocheError, "allowWrite") as caught:
                box.update({"filesystem": {"allowWrite": 7}})
            self.assertEqual(caught.exception.errno, errno.EINVAL)
            self.assertEqual(turn(), ("yes\n", "200\n"))
        ours.shutdown(socket.SHUT_WR)
        self.assertEqual(run.wait().status, 0)
        lines.close()
        ours.close()
        self.assertEqual(box.run(f"echo hi >{place}/file").status, 0)

    def test_another_thread_updates_and_ends_it(self):
        place = fresh()
        box = Sandbox({"filesystem": {"allowWrite": []}})
        run = box.start(f"while ! (echo hi >{place}/file) 2>/dev/null; do "
                        "sleep 0.05; done; echo $$; sleep 1000",
                        stdio=[-1, -1, -1])
        done = []
        thread = threading.Thread(target=lambda: done.append(run.wait()))
        thread.start()
        box.update({"filesystem": {"allowWrite": [place]}})
        while not os.path.exists(f"{place}/file"):
            self.assertTrue(thread.is_alive())
        run.send_signal(9)
        thread.join()
        self.assertEqual(done[0].status, 137)
        run.send_signal(9)	# The process has exited

    def test_a_callback_may_close_the_run(self):
        place, seen = fresh(), []

        def close(record):
            seen.append(record)
            box.close()

        box = Sandbox(on_violation=close)
        with self.assertRaises(ClocheError) as caught:
            box.run(f"while :; do echo x >{place}/no; sleep 0.01; done")
        self.assertEqual(caught.exception.errno, errno.ECANCELED)
        self.assertTrue(seen)

    def test_an_answer_that_comes_too_late_is_none(self):
        def late(question):
            box._running()[0].send_signal(9)
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            return True

        box = Sandbox(on_ask=late)
        self.assertEqual(box.run(connect(80)).status, 137)

    def test_who_waits_for_an_update_hears_of_the_end(self):
        run = Sandbox().start(["sleep", "1000"], stdio=[-1, -1, -1])
        future = run.start_update({})
        run.close()
        self.assertIsNone(future.result())

    def test_updates_meet_runs_that_end(self):
        box, wrong = Sandbox(), []

        def often(count, function):
            try:
                for _ in range(count):
                    function()
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=often, args=args) for args in [
            (15, lambda: box.run(["true"])), (15, lambda: box.run(["true"])),
            (15, lambda: box.run(["true"])), (50, lambda: box.update({}))]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_input_is_bytes_of_any_kind(self):
        box, before = Sandbox(), count_fds()
        for data in (array.array("i", range(50000)), bytearray(200000),
                     memoryview(bytes(200000))):
            self.assertEqual(box.run(["wc", "-c"], input=data).stdout,
                             "200000\n")
        for data in (5, ["a"]):
            with self.assertRaises(TypeError):
                box.run(["true"], input=data)
        for stdio in ([1, 2], [0, 1, 2, 3]):
            with self.assertRaises(ValueError):
                box.start(["true"], stdio=stdio)
        self.assertEqual(count_fds(), before)

    def test_mistakes_are_errors_with_words(self):
        with self.assertRaisesRegex(ClocheError, "no-such"):
            Sandbox(no_such="x")
        with self.assertRaisesRegex(ClocheError, "JSON"):
            Sandbox("settings.json")
        with self.assertRaisesRegex(ClocheError, "allowWrite"):
            Sandbox({"filesystem": {"allowWrite": 7}}).run("true")
        with self.assertRaisesRegex(ClocheError, "/no/such"):
            Sandbox(program="/no/such").run("true")
        with self.assertRaisesRegex(ValueError, "NUL"):
            Sandbox().run(["a\0b"])

    def test_what_was_denied_is_denied_or_an_error(self):
        place = fresh()
        secret = os.path.join(place, "secret")
        with open(secret, "w") as file:
            file.write("x")
        for path in (secret, secret.encode(), Path(secret)):
            r = Sandbox(deny_read=[path]).run(["cat", secret])
            self.assertNotEqual(r.status, 0, path)
        self.assertEqual(Sandbox().run(["cat", secret]).stdout, "x")
        for wrong in ({secret}, [None], [True], iter([secret])):
            with self.assertRaisesRegex(TypeError, "deny_read"):
                Sandbox(deny_read=wrong)
        # C would stop there, and take the directory above
        with self.assertRaisesRegex(ValueError, "NUL"):
            Sandbox(write=[place + "/\0job"])
        with self.assertRaisesRegex(ValueError, "NUL"):
            Sandbox().run(["true"], cwd=place + "/\0job")

    def test_what_a_callback_raises_comes_out(self):
        def fail(_):
            raise KeyError("mine")
        with self.assertRaisesRegex(KeyError, "mine"):
            Sandbox(on_violation=fail).run("echo hi >/nowhere")

    def test_a_wrapped_line_runs_by_itself(self):
        line = Sandbox(timeout="30s").wrap("echo 'it works'")
        self.assertEqual(subprocess.check_output(line, shell=True),
                         b"it works\n")

    def test_async(self):
        async def both():
            box = Sandbox()
            return await asyncio.gather(box.run_async("exit 3"),
                                        box.run_async("exit 4"))
        self.assertEqual([r.status for r in asyncio.run(both())], [3, 4])

    def test_many_runs_leave_nothing(self):
        box = Sandbox()
        box.run("true")
        before = count_fds()
        for _ in range(1000 if LONG else 100):
            box.run("true")
        self.assertEqual(count_fds(), before)
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

    def test_a_command_ends_with_its_object_and_its_process(self):
        read, write = os.pipe()
        run = Sandbox().start("echo; sleep 1000", stdio=[-1, write, -1])
        os.close(write)
        self.assertEqual(os.read(read, 1), b"\n")
        del run
        self.assertEqual(os.read(read, 1), b"")
        os.close(read)
        code = ("from cloche import Sandbox; import time\n"
                "run = Sandbox().start('echo; sleep 1000')\ntime.sleep(1000)")
        child = subprocess.Popen([sys.executable, "-c", code],
                                 stdout=subprocess.PIPE)
        self.assertEqual(child.stdout.read(1), b"\n")
        child.kill()
        self.assertEqual(child.stdout.read(1), b"")
        child.wait()
        child.stdout.close()


class Machine(unittest.TestCase):
    def test_modes_refusals_and_secrets(self):
        self.assertTrue(cloche.is_supported_platform())
        cloche.set_mode("auto-allow", scope="user")
        self.assertEqual(cloche.get_mode(), "auto-allow")
        with self.assertRaisesRegex(ClocheError, "is not one of disabled"):
            cloche.set_mode("often")
        cloche.add_to_excluded_commands("docker *")
        self.assertIn("docker *", cloche.get_excluded_commands())
        Sandbox().run("echo x > ~/of-python")
        self.assertIn("of-python", str(cloche.get_violations(kind="write", since="1h")))
        cloche.set_secret("OF_PYTHON", "value")
        self.assertIn("OF_PYTHON", cloche.list_secrets())
        cloche.delete_secret("OF_PYTHON")
        self.assertNotIn("OF_PYTHON", cloche.list_secrets())

    def test_settings_become_a_configuration_of_sandbox_runtime(self):
        self.assertEqual(cloche.convert_to_runtime_config({
            "permissions": {"allow": ["Edit(//srv/**)", "WebFetch(domain:a.example.org)"],
                            "deny": ["Read(~/.env)", "Edit(secret)"]},
            "sandbox": {"network": {"allowedDomains": ["c.example.org"]},
                        "ignoreViolations": {"*": ["y"]}}}, cwd="/base"), {
            "network": {"allowedDomains": ["c.example.org", "a.example.org"],
                        "deniedDomains": []},
            "filesystem": {"denyRead": ["~/.env"], "allowRead": [],
                           "allowWrite": [".", "/srv/**"], "denyWrite": ["/base/secret"]},
            "ignoreViolations": {"*": ["y"]}})

    def test_tags_are_taken_out(self):
        self.assertEqual(cloche.remove_violation_tags(
            "a\n<sandbox_violations>\ndeny x\n</sandbox_violations>\nb <b>"), "ab <b>")


if __name__ == "__main__":
    unittest.main()
