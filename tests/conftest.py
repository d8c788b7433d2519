"""Fixtures that several test files share."""

from __future__ import annotations

import os

import pytest
from browsing import start_browser
from hypothesis import settings

# The same examples every time, so that a red run is a change of the code; HYPOTHESIS_PROFILE=explore looks for new.
# The first example may compile, so none has a deadline.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One headless browser for all tests of pages."""
    browser = start_browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()
