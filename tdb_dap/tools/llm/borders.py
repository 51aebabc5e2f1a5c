"""Inputs and outputs of a language model's nets, by their numbers, as places of a schedule."""

from __future__ import annotations

from tdb_dap.engine.program.schedule import Border
from tdb_dap.tools.llm.language_model import LanguageModel


def net_input(model: LanguageModel, net: str, index: int, stage: int = 0) -> Border:
    """An input of a net."""
    return Border(net, model.input(net, index).name, stage=stage)


def net_output(model: LanguageModel, net: str, index: int, stage: int = 0) -> Border:
    """An output of a net."""
    return Border(net, model.output(net, index).name, stage=stage)


def part_of(model: LanguageModel, net: str, index: int, first: int, count: int) -> Border:
    """``count`` elements of an input of a net from ``first`` on."""
    return Border(net, model.input(net, index).name, first, count)
