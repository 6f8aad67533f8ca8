"""Processes that measure one thing whenever they are asked to."""

import os
import subprocess


class Worker:
    """A process that answers every line with a line: seconds and pixels."""

    def __init__(self, *command, greeting=False, **environment):
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**os.environ, **environment},
        )
        self.version = self.process.stdout.readline().strip() if greeting else None

    def ask(self, question):
        """The answer as it is."""
        self.process.stdin.write(question + "\n")
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise RuntimeError(f"no answer to '{question}'")
        return answer

    def rate(self, question):
        """Pixels a second."""
        seconds, pixels = map(float, self.ask(question).split())
        return pixels / seconds

    def end(self):
        """Waits for the process to end."""
        self.process.stdin.close()
        self.process.wait()


def optional(*command, **environment):
    """A worker with a greeting, or `None` where it cannot start."""
    try:
        worker = Worker(*command, greeting=True, **environment)
    except OSError:
        return None
    return worker if worker.version else None
