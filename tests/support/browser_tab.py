"""The page in a tab of a browser."""

from dataclasses import dataclass, field
from typing import Any, Self

from http_client import Client


@dataclass
class Tab:
    """A page in a browser, and what became known of it."""

    page: Any
    client: Client
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def open(self, path: str = "/") -> Self:
        """Open an address of the page, and wait for all of it."""
        self.page.goto(f"{self.base}{path}")
        self.page.wait_for_load_state("networkidle")
        return self

    def refuse(self, dialog: Any) -> None:
        """Take note of a dialog, which only a script of a note would open."""
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.client.port}"

    def type(self, text: str) -> None:
        """Type into the box."""
        self.page.locator("#query").press_sequentially(text)

    def titles(self) -> list[str]:
        """Return the titles of the results."""
        return self.page.locator("#results strong").all_inner_texts()  # type: ignore[no-any-return]

    def wait_for(self, selector: str, **options: Any) -> Any:
        found = self.page.locator(selector, **options).first
        found.wait_for()
        return found
