// Runs proof.py in Pyodide: node pyodide.mjs PYODIDE WHEELS ROOT [--quick]
// PYODIDE: folder of the npm package; WHEELS: folder of wheels for it, ours among them; ROOT: of the repository.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [pyodideFolder, wheels, root, ...options] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(join(pyodideFolder, "pyodide.mjs")).href);
const pyodide = await loadPyodide({ indexURL: pyodideFolder, stderr: (line) => process.stderr.write(`${line}\n`) });
const site = pyodide.runPython("import site; site.getsitepackages()[0]");
for (const name of readdirSync(wheels).filter((each) => each.endsWith(".whl"))) {
  pyodide.unpackArchive(new Uint8Array(readFileSync(join(wheels, name))), "wheel", { extractDir: site });
}
const copy = (from, to) => {
  pyodide.FS.mkdirTree(to);
  for (const name of readdirSync(from)) {
    const [source, target] = [join(from, name), `${to}/${name}`];
    if (statSync(source).isDirectory()) copy(source, target);
    else pyodide.FS.writeFile(target, readFileSync(source));
  }
};
for (const chip of ["bm1684", "bm1684x", "bm1688", "bm1690", "chips"]) {
  copy(join(root, "tests", "data", chip), `/data/${chip}`);
}
pyodide.FS.writeFile("/proof.py", readFileSync(join(root, "scripts", "platforms", "proof.py")));
const quick = options.includes("--quick") ? "True" : "False";
console.log(
  await pyodide.runPythonAsync(`
import json, sys
from pathlib import Path
sys.path.insert(0, "/")
import proof
json.dumps(proof.prove(Path("/data"), ${quick}))
`),
);
