"""Fixtures that several test files share."""

from __future__ import annotations

import pytest
from browsing import start_browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One headless browser for all tests of pages."""
    browser = start_browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.quit()
