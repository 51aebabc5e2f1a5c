import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findAdapter, languageServer, type Machine } from "../src/adapter/find";

/** A machine with these programs on PATH, and tdb_dap installed for these interpreters. */
function machine(path: Record<string, string>, withAdapter: string[]): Machine {
  return {
    which: (program) => path[program],
    hasAdapter: (interpreter) => Promise.resolve(withAdapter.includes(interpreter)),
  };
}

const everything = machine({ "tdb-dap": "/usr/bin/tdb-dap", python3: "/usr/bin/python3", python: "/usr/bin/python" }, [
  "/venv/bin/python",
  "/usr/bin/python3",
  "/usr/bin/python",
]);

describe("the adapter is", () => {
  it("the user's own command line before all else", async () => {
    const { found } = await findAdapter(
      { command: ["ssh", "board", "tdb-dap"], interpreter: "/venv/bin/python" },
      everything,
    );
    assert.deepEqual(found, { executable: "ssh", args: ["board", "tdb-dap"], fixed: true });
  });

  it("that of the selected interpreter, though another one is on PATH", async () => {
    const { found } = await findAdapter({ command: [], interpreter: "/venv/bin/python" }, everything);
    assert.deepEqual(found, { executable: "/venv/bin/python", args: ["-m", "tdb_dap.adapter"], fixed: false });
  });

  it("the one on PATH when the selected interpreter has none", async () => {
    const { found } = await findAdapter({ command: [], interpreter: "/other/bin/python" }, everything);
    assert.deepEqual(found, { executable: "/usr/bin/tdb-dap", args: ["adapter"], fixed: false });
  });

  it("that of Python on PATH when there is no tdb-dap", async () => {
    const only = machine({ python3: "/usr/bin/python3", python: "/usr/bin/python" }, ["/usr/bin/python"]);
    const { found } = await findAdapter({ command: [], interpreter: undefined }, only);
    assert.deepEqual(found, { executable: "/usr/bin/python", args: ["-m", "tdb_dap.adapter"], fixed: false });
  });

  it("nowhere, and the user learns where it was looked for", async () => {
    const bare = machine({ python3: "/usr/bin/python3" }, []);
    const { found, tried } = await findAdapter({ command: [], interpreter: "/venv/bin/python" }, bare);
    assert.equal(found, undefined);
    assert.deepEqual(tried, ["the selected interpreter /venv/bin/python", "tdb-dap on PATH", "/usr/bin/python3"]);
  });
});

describe("the language server is", () => {
  const of = (executable: string, ...args: string[]) => languageServer({ executable, args, fixed: false });

  it("a command of the adapter's own package", () => {
    assert.deepEqual(of("/usr/bin/tdb-dap", "adapter"), { executable: "/usr/bin/tdb-dap", args: ["lsp"] });
    assert.deepEqual(of("/venv/bin/python", "-m", "tdb_dap.adapter"), {
      executable: "/venv/bin/python",
      args: ["-m", "tdb_dap", "lsp"],
    });
    assert.deepEqual(of("python", "-m", "tdb_dap.adapter", "--log", "x"), {
      executable: "python",
      args: ["-m", "tdb_dap", "lsp"],
    });
  });

  it("none where the user's command line does not tell", () => {
    assert.equal(of("/opt/start-adapter.sh"), undefined);
  });
});
