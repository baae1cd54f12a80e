"""`python -m runner`: the same as the `ansible-operator` command."""

from __future__ import annotations

import sys

from runner.cli import main

sys.exit(main())
