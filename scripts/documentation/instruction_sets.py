"""The instruction set of each chip: its memories, its forms, what they compute, and their fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from inspect import cleandoc

from scripts.documentation.markdown import folded, prose, table
from scripts.robustness.fuzz_simulator import report
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips
from tdb_dap.targets.declaration.family import Row
from tdb_dap.targets.declaration.instruction_set import Instruction
from tdb_dap.targets.families import FAMILIES
from tdb_dap.targets.semantics import SEMANTICS
from tdb_dap.targets.validation.evidence import evidence
from tdb_dap.targets.validation.self_check import is_simulated

_OVERVIEW = (
    "chip",
    "lanes",
    "local memory of a lane",
    "bytes at once",
    "forms",
    "simulated",
    "fuzzed cases",
    "refused of them",
)
COMPARED = "Compared with the vendor's simulator"
_EVIDENCE = {
    "models": "compiled models for this chip",
    "sister": "models for another chip",
    "fields": "the names of the fields only",
}


def pages() -> Iterator[tuple[str, str]]:
    """(name, text) of an overview and of one page for each chip."""
    fuzzed = report.read()
    yield "index.md", _overview(fuzzed)
    for name, chip in chips().items():
        yield f"{name.lower()}.md", _chip(name, chip, fuzzed)


def _overview(fuzzed: Mapping[str, report.Results]) -> str:
    rows = []
    for name, chip in chips().items():
        geometry = chip.geometry
        forms = chip.instruction_set.instructions
        simulated = sum(is_simulated(chip, form) for form in forms)
        rows.append(
            (
                f"[{name}]({name.lower()}.md)",
                geometry.lanes,
                f"{geometry.lane_bytes >> 10:,} KiB",
                f"{geometry.eu_bytes}",
                len(forms),
                simulated,
                f"{fuzzed[chip.name]['cases']:,}" if chip.name in fuzzed else "",
                report.refused(fuzzed[chip.name]) if chip.name in fuzzed else "",
            )
        )
    return (
        "# Instruction sets\n\n"
        "Made from the tables and functions that decode and simulate. What a form computes is in words and formulas "
        "next to it; how it compares with the vendor's simulator is at the end of each page. "
        "[Fidelity](../../fidelity.md) explains that table.\n\n" + table(_OVERVIEW, rows) + "\n"
    )


def _chip(name: str, chip: Chip, fuzzed: Mapping[str, report.Results]) -> str:
    parts = [f"# {name}", _memories(chip)]
    if chip.rules is None:
        parts.append("This chip is decoded and listed, not simulated.")
    forms = sorted(chip.instruction_set.instructions, key=lambda form: (form.engine, form.kind, form.sub, form.bits))
    for engine in dict.fromkeys(form.engine for form in forms):
        parts.append(f"## {engine.upper()}")
        own = [form for form in forms if form.engine == engine]
        for family_name in dict.fromkeys(_family_name(form) for form in own):
            parts += _family(chip, family_name, [form for form in own if _family_name(form) == family_name])
    if chip.name in fuzzed:
        results = fuzzed[chip.name]
        parts.append(f"## {COMPARED}")
        parts.append(f"{results['cases']:,} cases, seed {results['seed']}: [how to read it](../../fidelity.md).")
        parts.append(table(*report.table(results)))
    return "\n\n".join(parts) + "\n"


def _memories(chip: Chip) -> str:
    geometry = chip.geometry
    rows = [
        ("local memory", f"{geometry.lanes} lanes of {geometry.lane_bytes:,} bytes, banks of {geometry.bank_bytes:,}"),
        ("static memory", f"{geometry.static_bytes:,} bytes"),
        ("L2", f"{geometry.l2_bytes:,} bytes" if geometry.l2_bytes else "none"),
        ("execution units", f"{geometry.eu_bytes} bytes of a lane at once, the unit of the aligned layout"),
    ]
    rows += [
        (f"addresses of {window.space.title}", f"`{window.start:#x}` to `{window.stop:#x}`")
        for window in geometry.windows
    ]
    return table(("", ""), rows)


def _family_name(form: Instruction) -> str:
    family = FAMILIES.get(form.register)
    return family.name if family is not None else f"{form.register}, not described"


def _family(chip: Chip, name: str, forms: list[Instruction]) -> Iterator[str]:
    yield f"### {name}"
    family = FAMILIES.get(forms[0].register)
    if family is not None:
        yield prose(family.text)
        if family.operands or family.results:
            yield table(("role", "", "fields", ""), [*_rows(family.operands, False), *_rows(family.results, True)])
    yield table(("mnemonic", "sub type", "result", "views from"), _forms(chip, forms))
    for form in {form.register: form for form in forms}.values():
        rows = [(f"`{field}`", bit, width) for field, bit, width in form.fields]
        yield folded(f"fields of {form.register}, {form.bits} bits", table(("field", "first bit", "bits"), rows))


def _rows(rows: Iterable[tuple[str, Row]], is_result: bool) -> Iterator[tuple[str, str, str, str]]:
    for role, row in rows:
        notes = ["not in every form"] if row.when is not None else []
        notes += ["not in the listing"] if row.hidden else []
        yield f"`{role}`", "result" if is_result else "operand", f"`{row.prefix}_*`", ", ".join(notes)


def _forms(chip: Chip, forms: list[Instruction]) -> Iterator[tuple[str, int, str, str]]:
    """Long and short forms of the same operation are one row: the one that is simulated, if only one is."""
    rows: dict[tuple[str, int], Instruction] = {}
    for form in forms:
        known = rows.get((form.mnemonic, form.sub))
        if known is None or is_simulated(chip, form) or not is_simulated(chip, known):
            rows[form.mnemonic, form.sub] = form
    for form in rows.values():
        family = FAMILIES.get(form.register)
        function = SEMANTICS.get((family.name, form.sub)) if family is not None else None
        formula = ""
        if function is not None:
            formula = prose(cleandoc(function.__doc__ or "")).replace("\n\n", "<br>").replace("\n", " ")
        if chip.rules is not None and not is_simulated(chip, form):
            formula = "*not simulated*"
        yield f"`{form.mnemonic}`", form.sub, formula, _EVIDENCE[evidence(chip.name, form).value]
