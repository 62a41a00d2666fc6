"""Brings a real browser on a real server to the tests of this folder."""

from tests.web.browser.fix_browser import chromium, dash

__all__ = ["chromium", "dash"]
