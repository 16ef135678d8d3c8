"""Servers that cases in Python kill. What needs them finds this folder by `PYTHONPATH`."""

import subprocess


class Served:
    """A server over a folder of data, which can be killed and started again."""

    def __init__(self, program, app, data):
        self.command = [program, "serve", app, "--data", data]
        self.command += ["--listen", "127.0.0.1:0", "--log", "error"]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if " on http" in line:
                self.url = line.split(" on ")[1].strip()
                return
        raise AssertionError("the server did not start")

    def kill(self):
        self.process.kill()
        self.process.wait()
