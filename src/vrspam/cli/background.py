"""An experiment beside other work: it begins at once, and its progress is told when somebody listens."""

from __future__ import annotations

import time
from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

from vrspam.experiments.run import Experiment, Outcome, Watcher


class Stopped(Exception):
    """Ends the thread of an experiment that nobody waits for."""


class Background(Watcher):
    """Does an experiment in a thread; use it as a context, whose end stops what is still under way.

    Parameters
    ----------
    run : callable
        Does the experiment, given the watcher to tell; as `vrspam.experiments.run.run_experiment` does.

    Attributes
    ----------
    seconds : float
        How long the experiment took, after `result`.
    """

    def __init__(self, run: Callable[[Watcher], Experiment]):
        self._run, self._events, self._stopped = run, SimpleQueue[tuple[float, str, Any]](), Event()
        self._begun = self._moment = time.monotonic()
        self._thread = Thread(target=self._work, daemon=True)

    def __enter__(self) -> Background:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        self._thread.join()

    def clock(self) -> float:
        """The time of what is being told: a watcher that counts seconds takes it for the present."""
        return self._moment

    def result(self, watcher: Watcher) -> Experiment:
        """Tell a watcher what has happened and what happens; return the experiment when it has ended, or raise."""
        while True:
            self._moment, kind, content = self._events.get()
            if kind == "ended":
                self.seconds = self._moment - self._begun
                if isinstance(content, BaseException):
                    raise content
                return content
            getattr(watcher, kind)(*content)

    def start(self, todo: list[Any], done: int) -> None:
        self._keep("start", (todo, done))

    def step(self, outcome: Outcome) -> None:
        self._keep("step", (outcome,))

    def message(self, text: str) -> None:
        self._keep("message", (text,))

    def _keep(self, kind: str, content: Any) -> None:
        if self._stopped.is_set():
            raise Stopped
        self._events.put((time.monotonic(), kind, content))

    def _work(self) -> None:
        try:
            found: Any = self._run(self)
        except Stopped:  # is not kept: it would hold on to the processes of the experiment
            return
        except BaseException as error:
            found = error
        self._events.put((time.monotonic(), "ended", found))
