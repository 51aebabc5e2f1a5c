"""Run by mkdocs (gen-files): adds the pages that are made from the code, and the files outside of docs/ that belong."""

from __future__ import annotations

from collections.abc import Iterator

import mkdocs_gen_files

from scripts.documentation import capabilities, command_line, debugging, instruction_sets, python_reference
from scripts.documentation.site import COPIED, PICTURES, ROOT


def generated() -> Iterator[tuple[str, str]]:
    """(name, text) of every page."""
    yield "reference/command-line.md", command_line.page()
    yield "reference/console.md", debugging.console_page()
    yield "reference/configuration.md", debugging.configuration_page()
    yield "reference/capabilities.md", capabilities.page()
    yield "reference/python.md", python_reference.page()
    for name, text in instruction_sets.pages():
        yield f"reference/chips/{name}", text
    for source, name in COPIED.items():
        if (ROOT / source).exists():
            yield name, (ROOT / source).read_text("utf-8")


for name, text in generated():
    with mkdocs_gen_files.open(name, "w", encoding="utf-8") as file:
        file.write(text)

for picture in sorted((ROOT / PICTURES).glob("*.png")):
    with mkdocs_gen_files.open(f"images/{picture.name}", "wb") as file:
        file.write(picture.read_bytes())
