// First, so that the sources find it under the name vscode.
import "./vscode";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import type * as vscode from "vscode";
import { finishedEnvironment, installInto, makeEnvironment, type Place } from "../src/adapter/environment";
import { folder, pythonScript, script, setPath, starts } from "./machine";

const never = {
  isCancellationRequested: false,
  onCancellationRequested: () => ({ dispose: () => undefined }),
} as unknown as vscode.CancellationToken;
const silent = () => undefined;

/** Text of a script that makes an environment with this pip. */
const makes = (pip: string) =>
  pythonScript(
    null,
    `/bin/mkdir -p "$3/bin"; printf '#!/bin/sh\\n${pip}\\n' > "$3/bin/python"; /bin/chmod +x "$3/bin/python"`,
  );

let bin: string;
let place: Place;

beforeEach(() => {
  const root = folder();
  bin = join(root, "bin");
  mkdirSync(bin);
  place = { environment: join(root, "storage", "environment"), package: "tdb-dap" };
  setPath(bin);
});

/** An environment that works, as an earlier installation has left it. */
function oldEnvironment(): string {
  const python = script(join(place.environment, "bin", "python"), pythonScript("0.1.0"));
  writeFileSync(join(place.environment, "old"), "");
  return python;
}

const isOld = () => existsSync(join(place.environment, "old"));
const leftovers = () => [".old", ".making"].filter((kind) => existsSync(place.environment + kind));

describe("the private environment", () => {
  it("is replaced by a new one, of which nothing is left over", async () => {
    const python = oldEnvironment();
    script(join(bin, "python3"), makes("exit 0"));
    await makeEnvironment(place, silent, never);
    assert.equal(finishedEnvironment(place.environment), python);
    assert.ok(!isOld());
    assert.deepEqual(leftovers(), []);
  });

  it("is the one before, whatever goes wrong with the new one", async () => {
    const python = oldEnvironment();
    const broken = [makes("echo ERROR: no network; exit 1"), pythonScript(null, "echo no venv; exit 1")];
    for (const text of broken) {
      script(join(bin, "python3"), text);
      await assert.rejects(makeEnvironment(place, silent, never), /no network|No Python|no venv/);
      assert.equal(finishedEnvironment(place.environment), python);
      assert.ok(isOld());
      assert.deepEqual(leftovers(), []);
    }
  });

  it("is none while another window makes it, nor is it made twice", async () => {
    oldEnvironment();
    script(join(bin, "python3"), makes("exit 0"));
    writeFileSync(`${place.environment}.making`, String(process.pid));
    assert.equal(finishedEnvironment(place.environment), undefined);
    await assert.rejects(makeEnvironment(place, silent, never), /Another window is installing/);
    assert.ok(isOld());
  });

  it("is the one before where the editor ended in the middle of making it", async () => {
    const python = oldEnvironment();
    const { pid } = spawnSync("/bin/sh", ["-c", "exit 0"]);
    const crash = () => {
      renameSync(place.environment, `${place.environment}.old`);
      script(join(place.environment, "bin", "python"), "exit 1");
      writeFileSync(`${place.environment}.making`, String(pid));
    };
    crash();
    assert.equal(finishedEnvironment(place.environment), python);
    assert.ok(isOld());
    assert.deepEqual(leftovers(), []);
    crash();
    script(join(bin, "python3"), pythonScript(null, "exit 1"));
    await assert.rejects(makeEnvironment(place, silent, never));
    assert.ok(isOld(), "also when the next attempt fails");
  });

  it("is not made in another way after the user has cancelled", async () => {
    oldEnvironment();
    script(join(bin, "python3"), pythonScript(null, "exec /bin/sleep 60"));
    script(join(bin, "uv"), "exit 0");
    let cancel: () => void = silent;
    const token = {
      isCancellationRequested: false,
      onCancellationRequested: (listener: () => void) => {
        cancel = listener;
        return { dispose: () => undefined };
      },
    };
    const report = () =>
      // When it has started.
      setImmediate(() => {
        token.isCancellationRequested = true;
        cancel();
      });
    const made = makeEnvironment(place, report, token as unknown as vscode.CancellationToken);
    await assert.rejects(made, (error: Error) => error.constructor.name === "CancellationError");
    assert.deepEqual(
      starts(bin).filter((line) => line.includes("/uv ")),
      [],
    );
    assert.ok(isOld());
  });
});

describe("a Python that the system manages", () => {
  it("is refused with what to choose instead", async () => {
    const python = script(join(bin, "python3"), "echo 'error: externally-managed-environment'; exit 1");
    await assert.rejects(installInto(python, place, silent, never), /virtual environment, or install into a private/);
  });
});
