"""The tools of the server, by question. Their docstrings are what an agent reads; nothing in them runs code."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Literal

from tdb_dap.agent import calls
from tdb_dap.agent.answers import Answer
from tdb_dap.agent.printed import finding_lines, following_call
from tdb_dap.agent.session import Session
from tdb_dap.engine.expressions.values import NOT_COMPUTED
from tdb_dap.errors import BadInput
from tdb_dap.version import __version__

Stopped = Callable[[], bool]
Direction = Literal["to", "forward", "back", "start", "end"]

_MOST_VALUES = 256
_MOST_TOKENS = 64
_LONGEST_ID = 10


class Tools:
    """Questions about one session. Each answer is short, and names the next useful question."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> tuple[Callable[..., Answer], ...]:
        """Every tool, in the order in which they are usually needed."""
        return (
            self.open,
            self.triage,
            self.check,
            self.sanitize,
            self.stop_when,
            self.who_wrote,
            self.read_tensor,
            self.compare,
            self.explain,
            self.trace,
            self.profile,
            self.diff,
            self.judge_model,
            self.weights,
            self.zoo,
            self.travel,
            self.bookmark,
            self.what_if,
            self.reduce,
            self.report,
        )

    def open(self, context: str, inputs: str = "", reference: str = "") -> Answer:
        """Open a compiled model (a context directory, .bmodel or .tdbrec) and stop before its first command.

        inputs: .npz by input name, or raw .dat; reference: .npz with the expected value of every tensor.
        """
        reply = self._session.open(context, inputs, reference)
        return Answer(
            "opened; stopped before the first command", reply, "check, or sanitize where there is no reference"
        )

    def triage(self, directory: str, stopped: Stopped) -> Answer:
        """Say which stage of a compilation went wrong first, which op, and whether it is a bug or quantisation.

        directory: where model_transform and model_deploy were run.
        """
        place = self._session.allowed(directory)
        done = self._session.run(calls.run_triage, place, is_stopped=stopped)
        text, verb = following_call(done.text)
        following = f"open and {verb}, as in the last line" if verb else "open the context, then sanitize and check"
        return Answer("something is wrong" if done.is_wrong else "nothing is wrong", text, following)

    def check(self, stopped: Stopped, blame: bool = True) -> Answer:
        """Compare every op of the open model with its reference; blame: find which op is at fault by itself."""
        done = self._session.run(calls.run_check, self._session.model(), blame, is_stopped=stopped)
        self._session.check_page = done.page
        following = "explain LINE, stop_when 'line LINE', then who_wrote 'in[0]'" if done.is_wrong else "sanitize"
        return Answer("tensors differ" if done.is_wrong else "all tensors agree", done.text, following)

    def sanitize(self, stopped: Stopped) -> Answer:
        """Find out-of-bounds accesses, unwritten bytes, missing dependencies, unused results and the first NaN."""
        model = self._session.model(with_reference=False)
        done = self._session.run(calls.run_sanitizers, model, is_stopped=stopped)
        findings = "\n".join(finding_lines(done.report)) if done.report is not None else done.text
        following = "explain the command that is named (D12, B7): its op, and who wrote what it reads"
        verdict = "errors were found" if done.is_wrong else "no errors"
        return Answer(verdict, findings, following if done.is_wrong else "check")

    def stop_when(self, place: str, condition: str = "", show: bool = False) -> Answer:
        """Run from here until a place is reached: 'line 31', conv.normal, tpu.Softmax, B23, #loc("x").

        condition: an expression that must hold there, such as max(abs(in[0])) > 100. show: as of travel.
        """
        where = place.removeprefix("line ").strip()
        if not where:
            raise BadInput("place: give a line of final.mlir, an instruction, an op or a command such as B23")
        reply = self._session.stop_at(where, condition, show)
        return Answer("", reply, "compare 'in[0]', who_wrote 'in[0]'; travel 'forward' before its result is compared")

    def who_wrote(self, expression: str, levels: int = 2) -> Answer:
        """Say which command wrote a tensor, slice or address last, and who wrote what that one read.

        expression: in[0], in[0][0,3], %16, R4.64, G4096.
        """
        return Answer("", self._session.look(f"who {expression} : {min(max(1, levels), 8)}"), "travel to that command")

    def read_tensor(self, expression: str, values: int = 16) -> Answer:
        """Summary and first values of a tensor or slice: in[0], out[0], %16[0,0:2], #loc("x"), R0:f32[64]."""
        summary = self._session.look(f"p {expression}")
        count = min(max(1, values), _MOST_VALUES)
        lines = summary.splitlines()
        kept = lines[: 1 + (count + 5) // 6]
        more = f"\n({len(lines) - len(kept)} more lines; give a slice)" if len(lines) > len(kept) else ""
        return Answer("", "\n".join(kept) + more, "compare, or who_wrote")

    def compare(self, expression: str) -> Answer:
        """Compare a tensor that is computed with its reference: in[0], %16, #loc("x"); the largest difference."""
        at = self._session.look(f"p max(abs(real({expression}) - ref({expression})))")
        size = self._session.look(f"p max(abs(ref({expression})))")
        quoted = f"largest difference: {at}\nlargest expected: {size}"
        if NOT_COMPUTED in at:
            return Answer("not yet computed: there is no verdict", quoted, "travel 'forward', then compare it by name")
        return Answer("", quoted, "who_wrote with the index that differs")

    def explain(self, place: str = "") -> Answer:
        """Explain an op through all levels of compilation (a line of final.mlir), or a command in words (B12)."""
        return Answer("", self._session.look(f"explain {place}".strip()), "stop_when with that place")

    def trace(self, point: str = "", when: str = "", where: str = "", history: str = "") -> Answer:
        """Ask about the whole run, past and future, without moving: give one of the four.

        point: 'max(out[0]) at tpu.Conv2D', a table. when: a condition such as max(abs(out[0])) > 6e4: first and last
        time. where: the tensors x with a property, max(abs(x)) > 6e4. history: all that a tensor or address ever held.
        """
        questions = {"trace": point, "when": when, "where": where, "history": history}
        given = [f"{verb} {text}" for verb, text in questions.items() if text.strip()]
        if len(given) != 1:
            raise BadInput("give one of point, when, where and history")
        return Answer("", self._session.look(given[0]), "travel 'to' a moment of it, then read_tensor")

    def profile(self, stopped: Stopped, directory: str = "", ids: str = "", tokens: int = 2) -> Answer:
        """Say where the time of the open model goes: engines, ops by share, memory in use. It is an estimate.

        directory, ids, tokens: of a language model instead, as for judge_model: time by token, net and kind of op.
        """
        if bool(directory) != bool(ids) or not 1 <= tokens <= _MOST_TOKENS:
            raise BadInput(
                f"give directory and ids of a language model, and 1 to {_MOST_TOKENS} tokens, or none of them"
            )
        if directory:
            model = self._session.allowed(directory)
            done = self._session.run(calls.run_tokens_profile, model, _ids(ids), tokens, is_stopped=stopped)
            return Answer("", done.text, "judge_model with reference")
        done = self._session.run(
            calls.run_profile, self._session.model(with_reference=False).context, is_stopped=stopped
        )
        return Answer("", done.text, "explain a LINE that takes long")

    def diff(self, a: str, b: str, stopped: Stopped, inputs: str = "") -> Answer:
        """Compare two compiled models: structure, then values of every tensor on the same inputs.

        a, b: context directories, .bmodel or .cvimodel; inputs: .npz by input name (default: those next to a).
        """
        one, other = self._session.allowed(a), self._session.allowed(b)
        given = self._session.allowed(inputs) if inputs else None
        done = self._session.run(calls.run_diff, one, other, given, is_stopped=stopped)
        verdict = "the models differ" if done.is_wrong else "the models are the same"
        return Answer(verdict, done.text, "open the one that is wrong, then check")

    def judge_model(
        self,
        directory: str,
        stopped: Stopped,
        prompt: str = "",
        ids: str = "",
        tokens: int = 4,
        reference: str = "",
        recording: str = "",
        picture: str = "",
    ) -> Answer:
        """Let a compiled language model complete a prompt, and find its first wrong token, launch, op or weight.

        directory: of the converter; prompt: a text, or ids: '5,17,30'; tokens: 1 to 64; reference: folder of the model
        before conversion (config.json, .safetensors), without which nothing is judged; recording: .tdbrec of a host
        program's run, judged instead of a completion: what the program gave each launch, too. It needs no prompt;
        picture: file that the prompt shows, or .npz of its rows.
        """
        if (not recording and bool(prompt) == bool(ids)) or not 1 <= tokens <= _MOST_TOKENS:
            raise BadInput(f"give prompt or ids, or a recording, and 1 to {_MOST_TOKENS} tokens")
        paths = (reference, recording, picture)
        expected, recorded, shown = (self._session.allowed(path) if path else None for path in paths)
        model, given = self._session.allowed(directory), _ids(ids) if ids else prompt
        done = self._session.run(calls.run_answer, model, given, tokens, expected, recorded, shown, is_stopped=stopped)
        if expected is None:
            return Answer("completed; nothing was judged", done.text, "judge_model with reference")
        verdict = "something is wrong" if done.is_wrong else "nothing is wrong"
        return Answer(verdict, done.text, "weights, where no weight is named" if done.is_wrong else "diff, or profile")

    def weights(self, directory: str, stopped: Stopped, reference: str = "") -> Answer:
        """Compare the constants of a compiled model with the weights before conversion, without a run.

        directory: of llm_convert, or of model_deploy --debug; reference: of a language model the folder of config.json
        and .safetensors; of a network nothing (the files of the compilation), or an .onnx.
        """
        model = self._session.allowed(directory)
        expected = self._session.allowed(reference) if reference else None
        done = self._session.run(calls.run_weights, model, expected, is_stopped=stopped)
        verdict = "weights are wrong" if done.is_wrong else "no weight is wrong"
        return Answer(verdict, done.text, "judge_model")

    def zoo(self, store: str, stopped: Stopped, case: str = "") -> Answer:
        """Say what is newly wrong in the last run of many models (tdb-dap zoo run), or what is wrong with one case.

        store: zoo.sqlite; case: a name of it.
        """
        done = self._session.run(calls.run_zoo, self._session.allowed(store), case, is_stopped=stopped)
        if case:
            following = "open the directory of its last line, with its options, then what that line asks"
            return Answer("something is wrong" if done.is_wrong else "nothing is wrong", done.text, following)
        verdict = "something is newly wrong" if done.is_wrong else "nothing is newly wrong"
        return Answer(verdict, done.text, "zoo with one of the cases" if done.is_wrong else "")

    def travel(self, direction: Direction, count: int = 1, show: bool = False) -> Answer:
        """Go to a moment: 'to' command number count, 'forward' or 'back' by count ops, 'start' or 'end'.

        show: in a session that a user has invited you to, move the user's view, too; only when asked for.
        """
        return Answer("", self._session.travel(direction, count, show), "read_tensor 'out[0]'")

    def bookmark(self, name: str = "") -> Answer:
        """Remember this moment under a name, for the user to see; without one: list those that are remembered."""
        if name and (not name.isidentifier() or len(name) > 40):
            raise BadInput("name: give a word of letters, digits and _, at most 40")
        return Answer("", self._session.bookmark(name) or "none yet", "travel 'to' one of them")

    def what_if(self, change: str) -> Answer:
        """Change a field of the next command (FIELD = NUMBER) and see what it would give; nothing stays changed."""
        if not self._session.may_edit:
            raise BadInput("what_if changes a command: start the server with --allow-edits")
        return Answer("", self._session.ask(f"whatif {change}"), "explain, or report")

    def reduce(self, output: str, stopped: Stopped) -> Answer:
        """Write the smallest failing case of the open model into a new folder, ready for a compiler's issue."""
        if not self._session.may_edit:
            raise BadInput("reduce writes files: start the server with --allow-edits")
        folder = self._session.allowed_new(output)
        done = self._session.run(calls.run_reduce, self._session.model().context, folder, is_stopped=stopped)
        text = f"{done.text}\nfolder: {folder}"
        return Answer("alone it does not fail" if done.is_wrong else "written", text, "report")

    def report(self, stopped: Stopped) -> Answer:
        """Write a bug report in Markdown: verdict, numbers, commands to see it, versions."""
        model, plain = self._session.model(), self._session.model(with_reference=False)
        info = self._session.run(calls.run_info, model.context, is_stopped=stopped)
        parts = [f"# {model.context.name}", "", "## Model", "", info.text]
        if model.references:
            done = self._session.run(calls.run_check, model, True, is_stopped=stopped)
            parts += _section("check", [*self._session.files(), "--blame"], done)
        done = self._session.run(calls.run_sanitizers, plain, is_stopped=stopped)
        parts += _section("sanitize", self._session.files(with_reference=False), done)
        parts += ["", "## Versions", "", f"tdb-dap {__version__}"]
        return Answer("", "\n".join(parts), "reduce makes the smallest case")


def _ids(text: str) -> list[int]:
    """Token ids of a text such as ``5,17,30``."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and len(word) < _LONGEST_ID for word in words):
        raise BadInput("ids: give whole numbers with commas between them")
    return list(map(int, words))


def _section(verb: str, words: list[str], done: calls.Printed) -> list[str]:
    title = f"## {verb.capitalize()}: {'fails' if done.is_wrong else 'passes'}"
    return ["", title, "", f"`{shlex.join(['tdb-dap', verb, *words, '--quiet'])}`", "", done.text]
