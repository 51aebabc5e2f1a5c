"""Prove that other systems compute the same bits, and keep what was seen for docs/platforms.md.

python -m scripts.platforms              run every proof that this machine can run
python -m scripts.platforms NAME ...     run these
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

from scripts.generated import ROOT
from scripts.platforms.systems import SYSTEMS, Missing

RESULTS = ROOT / "scripts" / "platforms" / "results.json"


def summary(proof: dict[str, Any], home: dict[str, Any] | None) -> dict[str, Any]:
    """Counts of a proof, and of the outputs whose words are those of the first system."""
    ways: dict[str, dict[str, int]] = {}
    own = next(iter(home["ways"].values())) if home is not None else {}
    for title, outcomes in proof["ways"].items():
        words = list(outcomes.items())
        ways[title] = {
            "equal": sum(text.startswith("equal") for _, text in words),
            "different": sum(text == "different" for _, text in words),
            "refused": sum(text.startswith("refused") for _, text in words),
            "same words": sum(own.get(case) == text for case, text in words if text.startswith("equal")),
        }
    wrong = {case for outcomes in proof["ways"].values() for case, text in outcomes.items() if text == "different"}
    own_values = {name: value for name, value in proof.items() if name != "ways"}
    return {**own_values, "ways": ways, "wrong": sorted(wrong)}


def prove(name: str) -> dict[str, Any]:
    """Run a proof; Missing where this machine cannot, CalledProcessError where it fails."""
    _, make = SYSTEMS[name]
    run = make()
    environment = {**os.environ, "TDB_DAP_PLAN_CACHE": "0", **run.environment}
    done = subprocess.run(run.command, input="", env=environment, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}")
    proof: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return proof


def main() -> int:
    """Run the proofs one after the other. 0: all outputs are equal; 1: some differ; 2: a proof has failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(SYSTEMS)}")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(SYSTEMS):
        parser.error(f"no system {', '.join(sorted(unknown))}; there are: {', '.join(SYSTEMS)}")
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    code = 0
    home = prove("linux-x64")
    for name in arguments.names or list(SYSTEMS):
        try:
            proof = home if name == "linux-x64" else prove(name)
        except Missing as error:
            print(f"{name}: not run: {error}")
            continue
        except (RuntimeError, ValueError, OSError) as error:
            print(f"{name}: failed: {error}", file=sys.stderr)
            code = 2
            continue
        seen = {**summary(proof, home), "date": time.strftime("%Y-%m-%d")}
        results[name] = seen
        counts = ", ".join(f"{title}: {way['equal']} of {seen['cases']} equal" for title, way in seen["ways"].items())
        print(f"{name}: {counts}", flush=True)
        code = max(code, int(any(way["different"] for way in seen["ways"].values())))
        RESULTS.write_text(json.dumps({key: results[key] for key in SYSTEMS if key in results}, indent=1) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
