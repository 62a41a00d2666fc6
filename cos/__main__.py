"""`python -m cos` is `cos`."""

import sys

from cos.cli.main import main

sys.exit(main())
