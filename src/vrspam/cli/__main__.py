"""`python -m vrspam.cli` is the command `vrspam`."""

import sys

from vrspam.cli import main

if __name__ == "__main__":
    sys.exit(main())
