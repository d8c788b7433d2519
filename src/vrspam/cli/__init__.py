"""The command `vrspam`: parses, calls the library, prints. Exit codes: 0 done, 1 failed, 2 misused."""

from __future__ import annotations

import sys

from vrspam._utils.messages import how_to_install


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    try:
        from vrspam.cli.app import run
    except ModuleNotFoundError as error:
        print(f"vrspam: {how_to_install(str(error.name).partition('.')[0], 'cli')}", file=sys.stderr)
        return 1
    return run(sys.argv[1:] if arguments is None else arguments)
