import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findAdapter, subcommand, type Interpreter, type Machine, type Wishes } from "../src/adapter/find";

const EXTENSION = "0.2.0";

const python = (version: string | null, minor = 11): Interpreter => ({ python: [3, minor, 0], version });

/** A machine with these programs on PATH, these interpreters, and these `tdb-dap` programs. */
function machine(
  path: Record<string, string>,
  interpreters: Record<string, Interpreter>,
  programs: Record<string, string> = {},
): Machine {
  return {
    which: (program) => path[program],
    interpreter: (interpreter) => Promise.resolve(interpreters[interpreter]),
    program: (program) => Promise.resolve(programs[program]),
  };
}

const everything = machine(
  { "tdb-dap": "/usr/bin/tdb-dap", python3: "/usr/bin/python3", python: "/usr/bin/python" },
  {
    "/set/bin/python": python(EXTENSION),
    "/project/.venv/bin/python": python(EXTENSION),
    "/project/venv/bin/python": python(EXTENSION),
    "/selected/bin/python": python(EXTENSION),
    "/private/bin/python": python(EXTENSION),
    "/usr/bin/python3": python(EXTENSION),
    "/usr/bin/python": python(EXTENSION),
  },
  { "/usr/bin/tdb-dap": EXTENSION },
);

const nothing: Wishes = {
  command: [],
  interpreter: "",
  workspace: [],
  selected: undefined,
  bundled: undefined,
  private: undefined,
  version: EXTENSION,
};

const all: Wishes = {
  ...nothing,
  command: ["ssh", "board", "tdb-dap"],
  interpreter: "/set/bin/python",
  workspace: ["/project/.venv/bin/python", "/project/venv/bin/python"],
  selected: "/selected/bin/python",
  bundled: "/extension/bundled/tdb-dap",
  private: "/private/bin/python",
};

describe("the debugger is", () => {
  it("the first of the order of the search, whatever comes after it", async () => {
    const wishes = { ...all };
    const order: (readonly [string, Partial<Wishes>])[] = [
      ["ssh", { command: [] }],
      ["/set/bin/python", { interpreter: "" }],
      ["/project/.venv/bin/python", { workspace: ["/project/venv/bin/python"] }],
      ["/project/venv/bin/python", { workspace: [] }],
      ["/selected/bin/python", { selected: undefined }],
      ["/private/bin/python", { private: undefined }],
      ["/extension/bundled/tdb-dap", { bundled: undefined }],
      ["/usr/bin/tdb-dap", {}],
    ];
    for (const [executable, next] of order) {
      const { found, rejected } = await findAdapter(wishes, everything);
      assert.equal(found?.command.executable, executable);
      assert.deepEqual(rejected, []);
      Object.assign(wishes, next);
    }
  });

  it("started in the way that suits what was found", async () => {
    const found = async (wishes: Partial<Wishes>) => (await findAdapter({ ...nothing, ...wishes }, everything)).found;
    assert.deepEqual(await found({ command: ["ssh", "board", "tdb-dap"] }), {
      command: { executable: "ssh", args: ["board", "tdb-dap"], fixed: true },
      origin: "setting",
      version: undefined,
    });
    assert.deepEqual(await found({ selected: "/selected/bin/python" }), {
      command: { executable: "/selected/bin/python", args: ["-m", "tdb_dap.adapter"], fixed: false },
      origin: "selected",
      version: EXTENSION,
    });
    assert.deepEqual(await found({ bundled: "/extension/bundled/tdb-dap" }), {
      command: { executable: "/extension/bundled/tdb-dap", args: ["adapter"], fixed: false },
      origin: "bundled",
      version: EXTENSION,
    });
  });

  it("that of Python on PATH when there is no tdb-dap", async () => {
    const only = machine(
      { python3: "/usr/bin/python3", python: "/usr/bin/python" },
      { "/usr/bin/python3": python(null), "/usr/bin/python": python("0.2.1") },
    );
    const { found, rejected } = await findAdapter(nothing, only);
    assert.equal(found?.command.executable, "/usr/bin/python");
    assert.deepEqual(rejected, [{ path: "/usr/bin/python3", origin: "path", reason: "absent", version: "" }]);
  });

  it("not one that is older than the extension, nor one that cannot run", async () => {
    const mixed = machine(
      { "tdb-dap": "/usr/bin/tdb-dap" },
      { "/old/python": python("0.1.9"), "/project/.venv/bin/python": python(null, 9) },
      { "/usr/bin/tdb-dap": "0.10.0" },
    );
    const wishes = { ...nothing, workspace: ["/project/.venv/bin/python", "/broken/python"], selected: "/old/python" };
    const { found, rejected } = await findAdapter(wishes, mixed);
    assert.equal(found?.command.executable, "/usr/bin/tdb-dap");
    assert.deepEqual(
      rejected.map(({ reason, version }) => [reason, version]),
      [
        ["old python", "3.9"],
        ["unusable", ""],
        ["older", "0.1.9"],
      ],
    );
  });

  it("no other than the interpreter in the settings, if that cannot be used", async () => {
    const { found, rejected } = await findAdapter({ ...all, command: [], interpreter: "/gone/python" }, everything);
    assert.equal(found, undefined);
    assert.deepEqual(rejected, [{ path: "/gone/python", origin: "setting", reason: "unusable", version: "" }]);
  });

  it("asked about once, though it is found in two ways", async () => {
    const bare = machine({ python3: "/selected/bin/python" }, { "/selected/bin/python": python(null) });
    const { found, rejected } = await findAdapter({ ...nothing, selected: "/selected/bin/python" }, bare);
    assert.equal(found, undefined);
    assert.equal(rejected.length, 1);
  });

  it("new enough if the numbers of its version are", async () => {
    const versions = { "0.2": true, "0.2.0rc1": true, "0.2.0.dev3": true, "0.1.99": false, "1.0": true, "": false };
    for (const [version, isNew] of Object.entries(versions)) {
      const one = machine({ python3: "/usr/bin/python3" }, { "/usr/bin/python3": python(version) });
      assert.equal((await findAdapter(nothing, one)).found !== undefined, isNew, version);
    }
  });
});

describe("a subcommand is", () => {
  const of = (executable: string, ...args: string[]) => subcommand({ executable, args, fixed: false }, "lsp");

  it("one of the adapter's own package", () => {
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
