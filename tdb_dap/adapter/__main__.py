"""``python -m tdb_dap.adapter``: as ``tdb-dap adapter``."""

import sys

from tdb_dap.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["adapter", *sys.argv[1:]]))
