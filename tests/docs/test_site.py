"""What the site is made of, without the tool that builds it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from scripts.documentation import capabilities, command_line, debugging, instruction_sets
from scripts.documentation.site import COPIED, DOCS, ROOT, DeadLink, page_of, relinked
from scripts.robustness.fuzz_simulator import report
from scripts.robustness.fuzz_simulator.__main__ import CHIPS
from tdb_dap.cli.main import COMMANDS
from tdb_dap.targets.chips.registry import chips

PAGES = [path.relative_to(DOCS).as_posix() for path in sorted(DOCS.rglob("*.md"))]
COPIES = [name for source, name in COPIED.items() if (ROOT / source).exists()]


def text_of(page: str) -> str:
    sources = {name: source for source, name in COPIED.items()}
    return (ROOT / sources[page] if page in sources else DOCS / page).read_text("utf-8")


@pytest.mark.parametrize("page", [*PAGES, *COPIES])
def test_no_link_is_dead(page: str) -> None:
    assert relinked(text_of(page), page)


def test_links_between_files_become_links_of_the_site() -> None:
    assert relinked("[x](check.md#a)", "index.md") == "[x](check.md#a)"
    assert relinked("[x](../examples/toy-chip/README.md)", "index.md") == "[x](examples/toy-chip.md)"
    assert relinked("[x](docs/check.md)", "index.zh.md") == "[x](check.md)"
    assert relinked("![x](vscode-extension/images/graph.png)", "index.zh.md") == "![x](images/graph.png)"
    assert relinked("[x](../Makefile)", "index.md") == "x (`Makefile`)"
    with pytest.raises(DeadLink, match=r"there is no docs/nowhere\.md"):
        relinked("[x](nowhere.md)", "index.md")
    with pytest.raises(DeadLink, match="leads out of the project"):
        relinked("[x](../../etc/passwd)", "index.md")


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert [page for page in (*PAGES, *COPIES) if f" {page}" not in navigation] == []


def linked_from(page: str) -> set[str]:
    return set(re.findall(r"\]\(([^)#]+)", relinked(text_of(page), page)))


def test_every_page_is_linked_from_the_index() -> None:
    """Directly: the index lists tasks, and each page is the answer to one; of some folders their own index does."""
    pages = {*PAGES, *COPIES} - {"index.md"}
    for folder, index in (("editors", "editors.md"), ("decisions", "decisions/index.md")):
        inside = {page for page in pages if page.startswith(f"{folder}/")} - {index}
        links = {os.path.normpath(os.path.join(os.path.dirname(index), link)) for link in linked_from(index)}
        assert sorted(inside - links) == []
        pages -= inside
    assert sorted(pages - linked_from("index.md")) == []


def test_the_reference_holds_every_command_and_verb() -> None:
    page = command_line.page()
    assert all(f"\n## {name}\n" in page for name in COMMANDS)
    assert "--blame" in page
    console = debugging.console_page()
    assert "`rc/reverse-continue`" in console
    assert "`argwhere`" in console
    assert "| `historyLimit` |" in debugging.configuration_page()


def test_every_capability_is_announced_with_a_test_or_explained() -> None:
    page = capabilities.page()
    assert "\n| supportsStepBack |  |  |  |  |  |  | x | [test_next_goes_from_op_to_op_and_back](../../tests" in page
    assert relinked(page, "reference/capabilities.md")


def test_every_chip_has_a_page_with_all_its_instructions() -> None:
    pages = dict(instruction_sets.pages())
    for name, chip in chips().items():
        page = pages[f"{name.lower()}.md"]
        assert [i.mnemonic for i in chip.instruction_set.instructions if f"`{i.mnemonic}`" not in page] == []
    assert "condition(left, right) ? third : 0." in pages["bm1684x.md"]


def test_every_fuzzed_chip_has_its_results_on_its_page() -> None:
    pages, fuzzed = dict(instruction_sets.pages()), report.read()
    assert fuzzed.keys() == set(CHIPS)
    for name, results in fuzzed.items():
        _, compared = pages[f"{name.lower()}.md"].split(f"\n## {instruction_sets.COMPARED}\n")
        assert f"\n{results['cases']:,} cases, seed {results['seed']}: " in compared
        assert compared.count("\n| ") == len(results["operations"]) + 1
        assert f"| [{name}]({name.lower()}.md) |" in pages["index.md"]
    assert "\n| arith.abs | 4 | 7 | 10 | 9 of 10, 1 but for NaNs |  |  |\n" in pages["bm1684x.md"]
    assert "\n| arith.cshift | 3 of 4 | 1 | 4 of 5 | 1 | 11 | 2 refused, not in the models |\n" in pages["bm1684x.md"]


def test_a_file_that_is_not_on_the_site_has_no_page() -> None:
    assert page_of(ROOT / "Makefile") is None
    assert page_of(Path(ROOT, "docs", "check.md")) == "check.md"
