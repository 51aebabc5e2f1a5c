"""Several nets of one bmodel as one program: launched in an order, with actions of the host between them.

The nets were compiled apart, all for the same addresses. Each gets a separate range in DDR; the weights stay those
of the file. What the host does is computed when it is reached, so an edit goes on into everything that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.bmodel import Bmodel, ModelFile, Net, RunMode, Span, Stage, SubnetInfo, TensorInfo
from tdb_dap.engine.commands.commands import ENGINES, Columns, Command, Commands
from tdb_dap.engine.commands.net_tensors import Tensor
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.hardware.dtypes import UI8, Array
from tdb_dap.engine.hardware.geometry import LINKED
from tdb_dap.engine.hardware.memory import Memory, Region
from tdb_dap.engine.hardware.strides import contiguous
from tdb_dap.engine.hardware.target import Description, Message, Target
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.engine.program.compiled_program import ACTIVATIONS, BORDERS, WEIGHTS, CompiledProgram, Place, places_of
from tdb_dap.engine.program.program import Launch, Program, Subnet
from tdb_dap.engine.program.schedule import Border, Compute, HostStep, NetStep, Schedule
from tdb_dap.engine.source.joined_map import MappedLaunch, joined_map
from tdb_dap.engine.source.joined_text import JoinedText
from tdb_dap.engine.source.mlir_file import MlirFile, SourceFile
from tdb_dap.errors import BadInput, NotSimulated

_APART = 1 << 16
"""Bytes between the places of two nets, so that what reads beyond its own is found."""

_PAGE = 1 << 12


class LinkableTarget(Target, Protocol):
    """A chip whose DDR several nets can share."""

    def linked(self, moves: Sequence[tuple[int, int, int]]) -> LinkableTarget:
        """The chip for one of the nets; see ``Geometry.linked``."""
        ...


class LinkedProgram(Program):
    """All steps of a schedule.

    ``target_for(chip, file)`` finds the chip, ``context_of(net, stage)`` the files that a net was compiled with;
    ``source_path``: where the text of a net's compressed final.mlir is kept for editors to open.
    """

    def __init__(
        self,
        context: Context,
        target_for: Callable[[str, str], LinkableTarget],
        schedule: Schedule,
        context_of: Callable[[str, int], Context],
        source_path: Callable[[bytes, str], Path],
    ) -> None:
        self._bmodel = Bmodel(context.bmodel)
        self.content = self._bmodel.content
        self.schedule = schedule
        metadata = self._bmodel.metadata
        plain = target_for(metadata.chip, str(context.bmodel))
        self._programs = _placed(self._bmodel, plain, schedule, context_of)
        target = plain.linked(())
        plan = _Plan(schedule, self._programs)
        self._plan = plan
        sources = _sources(self._programs)
        joined = JoinedText([(_prefix(*key), source.text.encode()) for key, source in sources.items()])
        lines_before = dict(zip(sources, joined.before, strict=True))
        mlir = _joined(
            joined, [_file(sources[key], key[0], before, source_path) for key, before in lines_before.items()]
        )
        first, last = plan.launches[0].program, plan.launches[-1].program
        stage = Stage(
            tuple(map(_linked, first.stage.inputs, first.inputs)),
            tuple(map(_linked, last.stage.outputs, last.outputs)),
            *(0, Span(0, 0), 0, 0, 0, 0, 1, plan.infos),
        )
        super().__init__(
            replace(context, mlir=None, locations=None, inputs=None, reference=None),
            target,
            metadata.chip,
            metadata.version,
            Net(context.bmodel.name.removesuffix(".xz").removesuffix(".bmodel"), 0, (stage,)),
            0,
            plan.columns,
            self._bmodel.payload,
            _StandIns(plan),
            lambda core, ordinal: plan.launch_of(ordinal).program.target,
            plan.part_at,
        )
        self.launches = tuple(
            Launch(
                number,
                launch.step.net,
                ", ".join("×".join(map(str, tensor.shape)) for tensor in launch.program.inputs),
                launch.start,
                launch.stop,
                launch.step.token,
            )
            for number, launch in enumerate(plan.launches)
        )
        self.subnets = tuple(plan.subnets())
        mapped = [
            MappedLaunch(
                launch.program.source,
                launch.first,
                lines_before.get((launch.step.net, launch.step.stage), 0),
                {info.id: launch.first_subnet + number for number, info in enumerate(launch.program.stage.subnets)},
            )
            for launch in plan.launches
        ]
        self.source = joined_map(mlir, mapped, len(self.commands))

    has_waits = False
    brings_inputs = True
    begins_at_op = True

    @property
    def nets(self) -> tuple[Net, ...]:
        return self._bmodel.metadata.nets

    @property
    def bmodel(self) -> ModelFile:
        return self._bmodel

    def borders_of(self, launch: Launch) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        program = self._plan.launches[launch.number].program
        return program.inputs, program.outputs

    def made_by(self, launch: Launch) -> tuple[Tensor, ...]:
        program = self._plan.launches[launch.number].program
        return (*(tensor for subnet in program.subnets for tensor in subnet.outputs), *program.outputs)

    def ddr_regions(self, to_write: bool = False) -> list[Region]:
        regions: dict[int, Region] = {}
        for (net, stage), program in self._programs.items():
            for region in program.separate_regions(to_write):
                title = f"{region.title} of {net}" + (f" {stage}" if stage else "")
                regions.setdefault(region.start, replace(region, title=title))
        return list(regions.values())

    def unused_from(self) -> list[tuple[int, Place]]:
        """Moments from which on the activations of a net are neither read nor written any more, in order.

        Outputs that stay at the end of the program, and places where the host leaves tokens, are not among them.
        """
        last = self._plan.last_uses()
        kept = {(border.net, border.stage) for border in self.schedule.answers.values()}
        kept.add((self._plan.launches[-1].step.net, self._plan.launches[-1].step.stage))
        unused: list[tuple[int, Place]] = []
        for key, program in self._programs.items():
            places = places_of(program.stage, program.target.geometry) if key not in kept else ()
            unused += [(last[key], place) for place in places if place.title == ACTIVATIONS]
        return sorted(unused, key=lambda one: one[0])

    def message_of(self, ordinal: int) -> Message | None:
        launch = self._plan.launch_of(ordinal)
        local = ordinal - launch.first
        return launch.program.message_of(local) if 0 <= local < len(launch.program.commands) else None

    def answered_at(self, token: int) -> View | None:
        border = self.schedule.answers.get(token)
        return _view(border, self._programs) if border is not None else None

    def is_computed(self, subnet: Subnet) -> bool:
        launch = self._plan.launch_of(subnet.start)
        own = launch.program.stage.subnets[subnet.id - launch.first_subnet]
        return (launch.step.net, own.id) in self.schedule.substitutes

    def outside_writes(self, ordinal: int, memory: Memory) -> tuple[tuple[View, Array], ...] | None:
        action = self._plan.actions.get(ordinal)
        if action is not None:
            return (action.carried_out(memory),)
        return self._plan.substituted(ordinal, memory, self.schedule.substitutes)


class _Action(Struct, frozen=True):
    """A step of the host with the places of its tensors."""

    step: HostStep
    sources: tuple[View, ...]
    destination: View

    def carried_out(self, memory: Memory) -> tuple[View, Array]:
        words = [memory.read(view) for view in self.sources]
        if self.step.is_exact:
            return self.destination, words[0].reshape(self.destination.shape)
        given = [view.dtype.decode(bits) for view, bits in zip(self.sources, words, strict=True)]
        return self.destination, _encoded(self.step.name, self.step.compute, given, self.destination)


def _encoded(name: str, compute: Compute, given: Sequence[Array], view: View) -> Array:
    try:
        numbers = np.asarray(compute(given))
    except BadInput as error:
        raise NotSimulated(f"{name}: {error}") from None
    return view.dtype.encode(numbers).reshape(view.shape)


class _Launched(Struct, frozen=True):
    """A launch: rows [start, stop), the net's own commands from ``first`` on."""

    step: NetStep
    program: CompiledProgram
    start: int
    first: int
    stop: int
    first_subnet: int


class _Plan:
    """Rows of a schedule.

    What the host does between two launches belongs to the second one from the first step on that gives its net
    something, and to the first one before that.
    """

    def __init__(self, schedule: Schedule, programs: Mapping[tuple[str, int], CompiledProgram]) -> None:
        self.actions: dict[int, _Action] = {}
        self.launches: list[_Launched] = []
        row = subnet = 0
        waiting: list[tuple[int, HostStep]] = []
        for step in schedule.steps:
            if isinstance(step, HostStep):
                self.actions[row] = _action(step, programs)
                waiting.append((row, step))
                row += 1
                continue
            start = next((at for at, host in waiting if host.destination.net == step.net), row)
            if self.launches:
                self.launches[-1] = replace(self.launches[-1], stop=start)
            else:
                start = 0
            program = programs[step.net, step.stage]
            stop = row + len(program.commands)
            self.launches.append(_Launched(step, program, start, row, stop, subnet))
            row = stop
            waiting.clear()
            subnet += len(program.stage.subnets)
        self.launches[-1] = replace(self.launches[-1], stop=row)
        self._starts = np.array([launch.start for launch in self.launches], np.int64)
        self.infos = tuple(self._infos())
        self.columns = self._columns(row)

    def launch_of(self, ordinal: int) -> _Launched:
        return self.launches[max(0, int(np.searchsorted(self._starts, ordinal, "right")) - 1)]

    def part_at(self, ordinal: int) -> tuple[Commands, int] | None:
        """The commands of the net that a command belongs to, and the ordinal of their first; None for the host's.

        They are the same for every launch of the net, so what is known of them lives as long as the program.
        """
        launch = self.launch_of(ordinal)
        commands = launch.program.commands
        is_own = 0 <= ordinal - launch.first < len(commands) and commands.encoded is not None
        return (commands, launch.first) if is_own else None

    def last_uses(self) -> dict[tuple[str, int], int]:
        """Net and stage -> the moment after its last launch and after the host's last look at its tensors."""
        last = {(launch.step.net, launch.step.stage): launch.stop for launch in self.launches}
        for row, action in self.actions.items():
            for border in (*action.step.sources, action.step.destination):
                key = border.net, border.stage
                last[key] = max(last.get(key, 0), row + 1)
        return last

    def _infos(self) -> list[SubnetInfo]:
        infos: list[SubnetInfo] = []
        for launch in self.launches:
            numbers = {
                info.id: launch.first_subnet + number for number, info in enumerate(launch.program.stage.subnets)
            }
            for info, subnet in zip(launch.program.stage.subnets, launch.program.subnets, strict=True):
                ahead = tuple(numbers.get(id, id) for id in info.next_ids)
                inputs = tuple(map(_linked, info.inputs, subnet.inputs))
                outputs = tuple(map(_linked, info.outputs, subnet.outputs))
                infos.append(replace(info, id=numbers[info.id], next_ids=ahead, inputs=inputs, outputs=outputs))
        return infos

    def subnets(self) -> list[Subnet]:
        """One per launch and subnet; the first and the last of a launch have the host's actions around it, too."""
        subnets: list[Subnet] = []
        for launch in self.launches:
            own = launch.program.subnets
            for number, subnet in enumerate(own):
                start = launch.start if number == 0 else subnet.start + launch.first
                stop = launch.stop if number == len(own) - 1 else subnet.stop + launch.first
                token = f"token {launch.step.token}, " if launch.step.token is not None else ""
                subnets.append(
                    replace(
                        subnet,
                        id=launch.first_subnet + number,
                        start=start,
                        stop=stop,
                        function=f"{_prefix(launch.step.net, launch.step.stage)}{subnet.function}",
                        title=f"{token}{launch.step.net} {subnet.function} {subnet.run_mode}:",
                    )
                )
        return subnets

    def _columns(self, count: int) -> Columns:
        def whole(name: str, dtype: Any, alone: Mapping[int, int]) -> Any:
            column = np.zeros(count, dtype)
            for launch in self.launches:
                own = getattr(launch.program.commands.columns, name)
                if name == "subnet":
                    column[launch.start : launch.first] = launch.first_subnet
                    column[launch.first + own.size : launch.stop] = (
                        launch.first_subnet + len(launch.program.subnets) - 1
                    )
                    own = own + launch.first_subnet
                column[launch.first : launch.first + own.size] = own
            for row, value in alone.items():
                column[row] = value
            return column

        host = ENGINES.index("host")
        return Columns(
            engine=whole("engine", np.int8, dict.fromkeys(self.actions, host)),
            core=whole("core", np.int16, {}),
            subnet=whole("subnet", np.int32, {}),
            kind=whole("kind", np.int32, dict.fromkeys(self.actions, -1)),
            offset=whole("offset", np.int64, {}),
            id=whole("id", np.int64, {row: number for number, row in enumerate(self.actions, 1)}),
            dependency=whole("dependency", np.int64, {}),
            listed=whole("listed", np.int64, {}),
        )

    def substituted(
        self, ordinal: int, memory: Memory, substitutes: Mapping[tuple[str, int], Compute]
    ) -> tuple[tuple[View, Array], ...] | None:
        """Words of the output of a dynamic subnet that the schedule knows; None for other commands."""
        launch = self.launch_of(ordinal)
        subnet = next((s for s in launch.program.subnets if s.start <= ordinal - launch.first < s.stop), None)
        compute = substitutes.get((launch.step.net, subnet.id)) if subnet is not None else None
        if subnet is None or compute is None or subnet.run_mode != RunMode.TPU_DYNAMIC.value:
            return None
        given = [tensor.dtype.decode(memory.read(tensor.view)) for tensor in subnet.inputs]
        view = subnet.outputs[0].view
        return ((view, _encoded(f"{launch.step.net} {subnet.function}", compute, given, view)),)


class _StandIns:
    """Actions of the host, and what stands for subnets of the nets."""

    def __init__(self, plan: _Plan) -> None:
        self._plan = plan

    def text(self, command: Command) -> tuple[str, str]:
        action = self._plan.actions.get(command.ordinal)
        if action is None:
            return self._of_the_net(command).text(self._own(command))
        sources = ", ".join(f"source = {_typed(view)}" for view in action.sources)
        return action.step.name, f"{command.token}: {_typed(action.destination)} = {action.step.name}({sources})"

    def description(self, command: Command) -> Description:
        action = self._plan.actions.get(command.ordinal)
        if action is None:
            return self._of_the_net(command).description(self._own(command))
        step, sources = action.step, action.sources
        roles = ("source",) * len(sources), ("destination",)
        return Description(
            step.name, "host", step.summary, sources, roles[0], (action.destination,), roles[1], {}, sources
        )

    def _of_the_net(self, command: Command) -> Any:
        return self._plan.launch_of(command.ordinal).program.commands.stand_ins

    def _own(self, command: Command) -> Command:
        launch = self._plan.launch_of(command.ordinal)
        return launch.program.commands[command.ordinal - launch.first]


def _typed(view: View) -> str:
    return f"%{view.name} {view.dtype}[{','.join(map(str, view.shape))}]"


def _placed(
    bmodel: Bmodel, plain: LinkableTarget, schedule: Schedule, context_of: Callable[[str, int], Context]
) -> dict[tuple[str, int], CompiledProgram]:
    """The nets of a schedule, each at its place; BadInput for one that is not in the file.

    Nets with the same weights in the file share them, and stages of a net its inputs and outputs, as they do on the
    vendor's runtime.
    """
    nets = {net.name: net for net in bmodel.metadata.nets}
    placed: dict[tuple[str, int], CompiledProgram] = {}
    shared: dict[Hashable, int] = {}
    end = 0
    for name, number in schedule.nets:
        if name not in nets or number >= len(nets[name].stages):
            raise BadInput(f"there is no net {name}" + (f" with a stage {number}" if name in nets else ""))
        stage = nets[name].stages[number]
        places = places_of(stage, plain.geometry)
        starts: list[int] = []
        for place in places:
            owner = _owner(place, stage, name)
            known = shared.get(owner) if owner is not None else None
            starts.append(end if known is None else known)
            if known is None:
                end += _room(place.size)
            if owner is not None:
                shared[owner] = starts[-1]
        if end > limits.DEVICE_MEMORY:
            raise BadInput(f"its nets need more than {limits.readable(limits.DEVICE_MEMORY)} of DDR together")
        moves = [(place.start, place.stop, start) for place, start in zip(places, starts, strict=True)]
        placed[name, number] = CompiledProgram(
            context_of(name, number), _always(plain.linked(moves)), name, number, bmodel
        )
    return placed


def _owner(place: Place, stage: Stage, net: str) -> Hashable:
    """Key under which others have the same place; None for what is a net's own."""
    if place.title == WEIGHTS:
        return stage.weights
    return (net, place.start, place.size) if place.title == BORDERS else None


def _always(target: Target) -> Callable[[str, str], Target]:
    return lambda chip, file: target


def _room(size: int) -> int:
    return -(-size // _PAGE) * _PAGE + _APART


def _sources(programs: Mapping[tuple[str, int], CompiledProgram]) -> dict[tuple[str, int], MlirFile]:
    """The sources of the nets that have one."""
    return {key: program.source.mlir for key, program in programs.items() if program.source.mlir is not None}


def _file(source: MlirFile, net: str, before: int, source_path: Callable[[bytes, str], Path]) -> SourceFile:
    path = source_path(source.text.encode(), net) if source.path.suffix == ".xz" else source.path
    return SourceFile(path, source.sha256, before)


def _joined(joined: JoinedText, files: Sequence[SourceFile]) -> MlirFile | None:
    return MlirFile(joined.text.decode("utf-8", "replace"), files[0].path, files=files) if files else None


def _prefix(net: str, stage: int) -> str:
    """Prefix of the names of a net's functions in the joined text."""
    return f"{net}.{stage}." if stage else f"{net}."


def _linked(info: TensorInfo, tensor: Tensor) -> TensorInfo:
    """A tensor with its device address in the space of all nets."""
    return replace(info, address=LINKED + tensor.view.address)


def _action(step: HostStep, programs: Mapping[tuple[str, int], CompiledProgram]) -> _Action:
    """BadInput where a copy does not fit."""
    sources = tuple(_view(border, programs) for border in step.sources)
    destination = _view(step.destination, programs)
    if step.is_exact and (sources[0].dtype is not destination.dtype or sources[0].size != destination.size):
        given, wanted = (
            f"{border.tensor} of {border.net} ({view.dtype}, {view.size:,} elements)"
            for border, view in zip((step.sources[0], step.destination), (sources[0], destination), strict=True)
        )
        raise BadInput(f"{given} cannot be copied to {wanted}")
    return _Action(step, sources, destination)


def _view(border: Border, programs: Mapping[tuple[str, int], CompiledProgram]) -> View:
    program = programs.get((border.net, border.stage))
    if program is None:
        raise BadInput(f"net {border.net} is not launched, so its tensors have no place")
    tensors = (*program.inputs, *program.outputs)
    tensor = next((tensor for tensor in tensors if tensor.name == border.tensor), None)
    weight = dict(program.stage.named_weights).get(border.tensor)
    if tensor is None and weight is not None:
        space, start = program.target.geometry.locate(program.stage.weights_address)
        size = (weight.size,)
        return View(
            space, start + weight.start, size, UI8, Layout.CONTIGUOUS, contiguous(size), program.target.geometry
        )
    if tensor is None:
        known = ", ".join(tensor.name for tensor in tensors)
        raise BadInput(f"net {border.net} has no input or output {border.tensor}; it has {known}")
    view = tensor.view
    if border.first == 0 and border.count is None:
        return view
    count = view.size - border.first if border.count is None else border.count
    if border.first < 0 or count < 1 or border.first + count > view.size:
        raise BadInput(f"{border.tensor} of {border.net} has {view.size:,} elements, not {border.first + count:,}")
    if view.layout is not Layout.CONTIGUOUS:
        raise BadInput(f"{border.tensor} of {border.net} is not in one piece; only all of it can be used")
    start = view.address + border.first * view.dtype.itemsize
    return View(view.space, start, (count,), view.dtype, Layout.CONTIGUOUS, contiguous((count,)), view.geometry)
