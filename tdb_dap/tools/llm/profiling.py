"""Times of the tokens of a completion, added to the profile of its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tdb_dap.tools.llm.passes import passes
from tdb_dap.tools.llm.running import token_seconds
from tdb_dap.tools.profile.tokens import tokens_of

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.tools.profile.profiling import Profile
    from tdb_dap.tools.profile.schema import ProfileReport


def with_tokens(debugger: Debugger, profile: Profile, report: ProfileReport) -> ProfileReport:
    """The report with the times of each token; the debugger runs to the end. TdbError where it cannot."""
    groups = passes(debugger.program.launches)
    return (
        replace(report, tokens=tokens_of(profile, groups, list(token_seconds(debugger, groups)))) if groups else report
    )
