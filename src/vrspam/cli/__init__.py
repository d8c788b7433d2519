"""The command `vrspam`: parses, calls the library, prints. Exit codes: 0 done, 1 failed, 2 misused."""

from __future__ import annotations

import gc
import signal
import sys
import threading


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code. Without `arguments` it is that of a process, which then ends."""
    is_process = arguments is None
    _end_by_signals()
    if is_process:
        from vrspam.cli.streams import prepare_streams

        prepare_streams()
        # nearly all objects of a short process belong to modules and stay: looking for garbage among them costs a fifth
        # of the time of a page of help
        gc.set_threshold(100_000, 50, 50)
    try:
        import rich.console  # noqa: F401 (the commands need it: said here if it is missing)

        from vrspam.cli.run import run
    except ModuleNotFoundError as error:
        from vrspam._utils.extras import how_to_install  # here, because --help does not need it

        module = str(error.name).partition(".")[0]
        print(f"vrspam: {how_to_install(module, 'cli')}", file=sys.stderr)
        return 1
    code = run(sys.argv[1:] if arguments is None else arguments)
    if is_process:
        gc.freeze()  # or Python would look for garbage in all modules once more before it ends
    return code


def _end_by_signals() -> None:
    """Let SIGTERM and SIGHUP end the process as `sys.exit` does, without leftovers; signals of others stay as set."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
