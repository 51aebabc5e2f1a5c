"""``python -m tdb_dap``: as ``tdb-dap``."""

import sys

from tdb_dap.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
