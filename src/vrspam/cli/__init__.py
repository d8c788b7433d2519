"""The command `vrspam`: parses, calls the library, prints. Exit codes: 0 done, 1 failed, 2 misused."""

from __future__ import annotations

import gc
import signal
import sys
import threading


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    if threading.current_thread() is threading.main_thread():  # signals end it as `sys.exit` does, without leftovers
        for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, lambda number, _: sys.exit(128 + number))
    if arguments is None:
        from vrspam.cli.streams import prepare_streams

        prepare_streams()
        gc.set_threshold(100_000, 50, 50)  # a short process: nearly all its objects belong to modules and stay
    try:
        import rich.console  # noqa: F401 (the commands need it: said here if it is missing)

        from vrspam.cli.app import run
    except ModuleNotFoundError as error:
        from vrspam._utils.extras import how_to_install  # here, because --help does not need it

        print(f"vrspam: {how_to_install(str(error.name).partition('.')[0], 'cli')}", file=sys.stderr)
        return 1
    if arguments is not None:
        return run(arguments)
    code = run(sys.argv[1:])
    gc.freeze()  # the process ends here: without it, Python would look for garbage in all modules once more
    return code
