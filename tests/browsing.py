"""A real browser for tests of pages: the Chromium of this machine, driven by Playwright, which downloads nothing."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium() -> str | None:
    """Return the path of the first browser that is installed, or None."""
    paths = [shutil.which(name) for name in NAMES]
    return next((path for path in paths if path), None)


def start_browser(profile: Path) -> Browser:
    """Start a headless Chromium with a profile of its own; skip the test if none is installed."""
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no chromium is installed (Debian's package is `chromium`): pages are not tested in a browser")
    return Browser(chromium, profile)


class Browser:
    """One tab of a browser: `requests` and `problems` are those of the page that was opened last.

    Playwright runs on an event loop in a thread of its own, so that no loop runs in the thread of the tests: Dask, and
    whatever else they start, may have one there.
    """

    def __init__(self, chromium: str, profile: Path):
        self.requests: list[str] = []
        self.problems: list[str] = []
        self._address = ""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._wait(self._start(chromium, profile))

    def _wait(self, step: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(step, self._loop).result(timeout=60)

    async def _start(self, chromium: str, profile: Path) -> None:
        from playwright.async_api import async_playwright

        self._playwright = await async_playwright().start()
        self._context = await self._playwright.chromium.launch_persistent_context(
            profile, executable_path=chromium, headless=True, args=CHROMIUM_FLAGS, no_viewport=True
        )
        self._page = self._context.pages[0]
        self._session = await self._context.new_cdp_session(self._page)
        self._session.on("Network.requestWillBeSent", self._note_request)
        await self._session.send("Network.enable")
        self._page.on("console", self._note_message)
        self._page.on("pageerror", lambda error: self.problems.append(str(error)))

    def _note_request(self, event: dict) -> None:
        if event["documentURL"] == self._address:  # the browser's own start page makes requests too
            self.requests.append(event["request"]["url"])

    def _note_message(self, message: Any) -> None:
        if message.type in ("warning", "error"):
            self.problems.append(message.text)

    def close(self) -> None:
        self._wait(self._context.close())
        self._wait(self._playwright.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def send(self, command: str, **parameters: Any) -> None:
        """Send a command of the DevTools protocol."""
        self._wait(self._session.send(command, parameters))

    def set_screen(self, width: int, height: int = 900) -> None:
        """Make the screen so wide and high; one below 500 pixels is a phone."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def reset_screen(self) -> None:
        self.send("Emulation.clearDeviceMetricsOverride")

    def open(self, page: Path) -> None:
        """Open a file, and wait until it is loaded."""
        self._address = page.as_uri()
        self.requests.clear()
        self.problems.clear()
        self._wait(self._page.goto(self._address))

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what the body of a JavaScript function returns; a promise is waited for."""
        return self._wait(
            self._page.evaluate(f"(given) => (function () {{ {script} }}).apply(null, given)", list(arguments))
        )

    def _first(self, selector: str) -> Any:
        return self._page.locator(selector).first

    def text(self, selector: str) -> str:
        """Return the text that is shown in the first element; of a picture, all its text."""
        return self.run(
            "const element = document.querySelector(arguments[0]);"
            "return element.innerText === undefined ? element.textContent : element.innerText",
            selector,
        )

    def texts(self, selector: str) -> list[str]:
        return self._wait(self._page.locator(selector).all_inner_texts())

    def attribute(self, selector: str, name: str) -> str:
        return self._wait(self._first(selector).get_attribute(name))

    def value(self, selector: str) -> str:
        return self._wait(self._first(selector).input_value())

    def box(self, selector: str) -> dict[str, float]:
        """Return `x`, `y`, `width` and `height` of an element on the screen."""
        return self._wait(self._first(selector).bounding_box())

    def is_shown(self, selector: str) -> bool:
        return self._wait(self._first(selector).is_visible())

    def press(self, key: str, selector: str | None = None) -> None:
        """Press a key in an element, or where the focus is."""
        self._wait(self._page.keyboard.press(key) if selector is None else self._first(selector).press(key))

    def type(self, text: str, selector: str) -> None:
        """Type a text behind what stands in a box."""
        self._wait(self._first(selector).press_sequentially(text))

    def clear(self, selector: str) -> None:
        self._wait(self._first(selector).clear())

    def click(self, selector: str) -> None:
        self._wait(self._first(selector).click())

    def point_at(self, selector: str, right: float = 0.0, down: float = 0.0) -> None:
        """Move the mouse to a place beside the middle of an element."""
        self._wait(self._first(selector).scroll_into_view_if_needed())
        box = self.box(selector)
        x, y = box["x"] + box["width"] / 2 + right, box["y"] + box["height"] / 2 + down
        self._at = x, y
        self._wait(self._page.mouse.move(x, y))

    def click_there(self) -> None:
        """Click where the mouse points at."""
        self._wait(self._page.mouse.click(*self._at))
