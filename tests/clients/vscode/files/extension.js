// A virtual workspace: files of the test's server, read only. It runs in the extension host of a browser.
const vscode = require("vscode");

exports.activate = (context) => {
  const base = vscode.Uri.joinPath(context.extensionUri, "../mount").toString();
  const at = async (uri, query = "") => {
    const response = await fetch(`${base}${uri.path}${query}`);
    if (!response.ok) throw vscode.FileSystemError.FileNotFound(uri);
    return response;
  };
  const refuse = () => {
    throw vscode.FileSystemError.NoPermissions("read only");
  };
  const provider = {
    onDidChangeFile: new vscode.EventEmitter().event,
    watch: () => new vscode.Disposable(() => undefined),
    stat: async (uri) => (await at(uri, "?stat")).json(),
    readDirectory: async (uri) => (await at(uri, "?list")).json(),
    readFile: async (uri) => new Uint8Array(await (await at(uri)).arrayBuffer()),
    ...Object.fromEntries(["createDirectory", "writeFile", "delete", "rename"].map((name) => [name, refuse])),
  };
  context.subscriptions.push(
    vscode.workspace.registerFileSystemProvider("tdb-test", provider, { isCaseSensitive: true, isReadonly: true }),
  );
};
