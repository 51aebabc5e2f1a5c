"""The interface for plugins, notebooks and scripts; nothing else of this package is promised to stay.

``VERSION`` is raised with every change of what is here: the second number when something is added, the first one when
something is changed or taken away. ``scripts/record_api.py`` keeps a record of it, and a test compares.

A chip: ``Chip`` with ``Geometry`` (``Space``, ``window``) and ``Rules``; ``self_check`` proves its tables free of
contradictions, ``Model``, ``Border`` and ``Stream`` write a bmodel to try it with.

A backend: ``Backend``, or ``InProcess`` to change how ``Executable`` commands are executed (``Outcome``, ``Memory``,
``Region``, ``Bytes``); ``Attached`` with a ``Device`` for memories that live elsewhere (``DeviceLayout``, ``Effect``,
``Content``, ``Extent``). BackendFailed ends it; the session goes on with the built-in simulator.

An observer: ``Observer``; its methods are given an ``Inspector`` and return a ``Finding`` to stop.

A console command: a function ``(debugger: Debugger, text: str) -> str``.

A script: ``open_program``, ``open_debugger``, ``load_inputs``, ``Debugger``, ``Machine``, ``Program``,
``CompiledProgram``, ``Context``, ``Listener``, ``filters_named``, ``command_table``; ``Client`` drives an adapter as an
editor does.
"""

from tdb_dap.adapter.protocol.client import Client
from tdb_dap.engine.bmodel.writing import Border, Model, Stream
from tdb_dap.engine.checks.exception_filters import filters_named
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.control.inspector import Inspector
from tdb_dap.engine.control.listener import Listener
from tdb_dap.engine.control.observers import Observer
from tdb_dap.engine.control.stops import Finding, Stop
from tdb_dap.engine.device.device import Attached, Content, Device, Effect
from tdb_dap.engine.device.device import Layout as DeviceLayout
from tdb_dap.engine.device.page_sync import Extent
from tdb_dap.engine.expressions.values import Value
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.hardware.geometry import Geometry, Space, window
from tdb_dap.engine.hardware.memory import Bytes, Memory, Region
from tdb_dap.engine.hardware.views import Constant, View
from tdb_dap.engine.machine.backend import Backend, Executable, InProcess
from tdb_dap.engine.machine.input_data import load_inputs
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.machine.undo_log import Outcome
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.engine.program.ops import command_table
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.source.op_records import OpRecord
from tdb_dap.errors import BackendFailed, BadAccess, BadExpression, BadInput, NotFinished, NotSimulated, TdbError
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import target_for
from tdb_dap.targets.rules import Rules
from tdb_dap.targets.validation.self_check import check as self_check
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.programs import open_program

VERSION = "2.48"
"""Version of this interface, not of the package."""

__all__ = [
    "VERSION",
    "Attached",
    "Backend",
    "BackendFailed",
    "BadAccess",
    "BadExpression",
    "BadInput",
    "Border",
    "Bytes",
    "Chip",
    "Client",
    "CompiledProgram",
    "Constant",
    "Content",
    "Context",
    "Debugger",
    "Device",
    "DeviceLayout",
    "Effect",
    "Executable",
    "Extent",
    "Finding",
    "Geometry",
    "InProcess",
    "Inspector",
    "Listener",
    "Machine",
    "Memory",
    "Model",
    "NotFinished",
    "NotSimulated",
    "Observer",
    "OpRecord",
    "Outcome",
    "Program",
    "Region",
    "Rules",
    "Space",
    "Stop",
    "Stream",
    "TdbError",
    "Value",
    "View",
    "command_table",
    "filters_named",
    "load_inputs",
    "open_debugger",
    "open_program",
    "self_check",
    "target_for",
    "window",
]
