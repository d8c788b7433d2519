"""The command `vrspam`: parses, calls the library, prints. Exit codes: 0 done, 1 failed, 2 misused."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    try:
        from vrspam.cli.app import run
    except ModuleNotFoundError as error:
        print(f"vrspam: {error.name} is missing: install the commands with  pip install 'vrspam[cli]'", file=sys.stderr)
        return 1
    return run(sys.argv[1:] if arguments is None else arguments)
