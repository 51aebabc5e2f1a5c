import * as vscode from "vscode";

/** What shows the memory of a variable at its icon. Without it the icon only offers to install it. */
const HEX_EDITOR = "ms-vscode.hexeditor";

/** Leaves the icon out where nothing would show the memory: *Show Bytes* in the menu always does. */
export function withMemoryIcon(configuration: vscode.DebugConfiguration): vscode.DebugConfiguration {
  return vscode.extensions.getExtension(HEX_EDITOR) === undefined
    ? { memoryReferences: false, ...configuration }
    : configuration;
}
