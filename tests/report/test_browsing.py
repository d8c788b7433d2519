"""The browser of the tests sees what a page asks for, what it complains about, and what is shown."""

from __future__ import annotations

import shutil

import pytest
from browsing import start_browser

PAGE = """<!doctype html><title>t</title><p>shown</p><p hidden>hidden</p>
<img src="absent.png" alt="">
<script>console.warn("careful"); console.log("fine"); throw new Error("broken")</script>"""


def test_requests_and_problems_are_seen(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(PAGE, "utf-8")
    browser.open(page)
    assert browser.requests == [page.as_uri(), (tmp_path / "absent.png").as_uri()]
    for words in ("careful", "broken", "ERR_FILE_NOT_FOUND"):
        assert any(words in problem for problem in browser.problems), words
    assert not any("fine" in problem for problem in browser.problems)
    assert browser.text("body").strip() == "shown"
    assert [browser.is_shown(f"p >> nth={place}") for place in (0, 1)] == [True, False]


def test_the_next_page_starts_afresh(browser, tmp_path):
    page = tmp_path / "quiet.html"
    page.write_text("<!doctype html><title>t</title>", "utf-8")
    browser.open(page)
    assert (browser.requests, browser.problems) == ([page.as_uri()], [])
    assert browser.run("return Promise.resolve(arguments[0] + 1)", 2) == 3


def test_without_a_browser_the_test_is_skipped_aloud(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(pytest.skip.Exception, match="no chromium is installed"):
        start_browser(tmp_path)
