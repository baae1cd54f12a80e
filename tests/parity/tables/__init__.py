"""The tables, one module a section."""

from __future__ import annotations

from tests.parity.tables.console import CONSOLE
from tests.parity.tables.section1 import SECTION_1
from tests.parity.tables.section2 import SECTION_2
from tests.parity.tables.section3 import SECTION_3
from tests.parity.tables.section4 import SECTION_4
from tests.parity.tables.section5 import SECTION_5
from tests.parity.tables.section6 import SECTION_6

ROWS = (*SECTION_1, *SECTION_2, *SECTION_3, *CONSOLE, *SECTION_4, *SECTION_5, *SECTION_6)
