"""`python -m driftwise`, and what the script `driftwise` calls."""

import sys

from driftwise.cli import main

if __name__ == "__main__":
    sys.exit(main())
