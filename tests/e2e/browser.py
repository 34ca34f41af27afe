# SPDX-License-Identifier: Apache-2.0
"""A real browser, driven by the WebDriver protocol."""

import base64
import json
import pathlib
import socket
import subprocess
import time
import urllib.error
import urllib.request

PATIENCE = 90  # seconds for the driver and the browser to start


class Browser:
    """A headless Chromium of its own."""

    def __init__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=%d" % port],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.url = "http://127.0.0.1:%d" % port
        self.wait_for_driver()
        options = {
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,900"]
        }
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.url += "/session/" + session["sessionId"]

    def wait_for_driver(self):
        end = time.time() + PATIENCE
        while True:
            try:
                return self.call("GET", "/status")
            except urllib.error.URLError:
                if time.time() > end:
                    raise
                time.sleep(0.05)

    def call(self, method, path, body=None):
        payload = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, payload, method=method)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def open(self, page, fragment=""):
        url = pathlib.Path(page).resolve().as_uri() + fragment
        # The same page with another fragment would not be loaded anew.
        self.call("POST", "/url", {"url": "about:blank"})
        self.call("POST", "/url", {"url": url})
        self.run("const e = document.getElementById('explore'); if (e) e.scrollIntoView();")

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def actions(self, *actions):
        pointer = {"type": "pointer", "id": "mouse", "actions": list(actions)}
        self.call("POST", "/actions", {"actions": [pointer]})

    def drag(self, start, end):
        self.actions(
            {"type": "pointerMove", "duration": 0, "x": int(start[0]), "y": int(start[1])},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "duration": 100, "x": int(end[0]), "y": int(end[1])},
            {"type": "pointerUp", "button": 0},
        )

    def click(self, x, y):
        self.drag((x, y), (x, y))

    def keys(self, text):
        steps = []
        for key in text:
            steps += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": steps}]})

    def resize(self, width, height, dark=False):
        """The size of the page in pixels, narrower than a window may be, and its theme."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        for command, values in (
            ("Emulation.setDeviceMetricsOverride", metrics),
            ("Emulation.setEmulatedMedia", {"features": [scheme]}),
        ):
            self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": values})

    def print_pages(self):
        """The page as a PDF file."""
        return base64.b64decode(self.call("POST", "/print", {}))

    def renew(self):
        """A new tab, with its own history and the size of the window, instead of the present one."""
        handle = self.call("POST", "/window/new", {"type": "tab"})["handle"]
        self.call("DELETE", "/window")
        self.call("POST", "/window", {"handle": handle})

    def console(self):
        return self.call("POST", "/se/log", {"type": "browser"})

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
