# SPDX-License-Identifier: Apache-2.0
"""tests/harness/browser.py - Chromium, over its debugging pipe

    with Browser(path, profile) as page:
        page.open("file:///tmp/page.html")
        page.run("document.title")

Everything that the page asks for and everything that it writes to its console is kept,
so that a test can say that there was nothing.
"""

import base64
import json
import os
import subprocess


class Browser:
    def __init__(self, program, profile):
        to_read, self.to = os.pipe()
        self.source, from_write = os.pipe()

        def arrange():
            os.dup2(to_read, 100)
            os.dup2(from_write, 101)
            os.dup2(100, 3)
            os.dup2(101, 4)

        self.child = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", f"--user-data-dir={profile}", "--remote-debugging-pipe"],
            preexec_fn=arrange, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_read)
        os.close(from_write)
        self.rest, self.number = b"", 0
        self.requests, self.console, self.events = [], [], []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Network", "Log":
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session = None
        try:
            self.call("Browser.close")
        except (OSError, EOFError):
            pass
        os.close(self.to)
        os.close(self.source)
        self.child.wait()

    def _message(self):
        while b"\0" not in self.rest:
            more = os.read(self.source, 1 << 16)
            if not more:
                raise EOFError("the browser is gone")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        method, params = message.get("method", ""), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.consoleAPICalled":
            self.console.append(params)
        elif method == "Runtime.exceptionThrown":
            self.console.append(params)
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])
        if method:
            self.events.append(method)
        return message

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self._message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, address):
        """Load @address; return when its load event has come"""
        self.requests, self.console, self.events = [], [], []
        self.call("Page.navigate", url=address)
        while "Page.loadEventFired" not in self.events:
            self._message()

    def run(self, script):
        """The value of a JavaScript expression; promises are waited for"""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def key(self, key, text=None):
        for kind in "keyDown", "keyUp":
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode={"Tab": 9, "Enter": 13}.get(key, 0), **more)

    def size(self, width, height, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path, height=4000):
        """The page from its top, also what is below the window"""
        width, all = self.run("[innerWidth, document.documentElement.scrollHeight]")
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": width, "height": min(all, height), "scale": 1})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
