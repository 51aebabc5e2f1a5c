import * as vscode from "vscode";
import { DEBUG_TYPE } from "../contributions";
import { firstFinding, merged, type FirstFinding } from "./findings";

/** The problems of the Problems pane: what the language server has found, and what a session adds to it. */
export class Problems implements vscode.Disposable {
  private readonly shown = vscode.languages.createDiagnosticCollection(DEBUG_TYPE);
  private readonly ofServer = new Map<string, readonly vscode.Diagnostic[]>();
  private readonly changed = new vscode.EventEmitter<void>();
  /** The server has looked through a file. */
  readonly onDidChange = this.changed.event;
  private ofSession = new Map<string, readonly vscode.Diagnostic[]>();

  dispose(): void {
    this.shown.dispose();
    this.changed.dispose();
  }

  /** The server's present problems of a file. */
  serverSays(uri: vscode.Uri, found: readonly vscode.Diagnostic[]): void {
    this.ofServer.set(uri.toString(), found);
    this.show(uri.toString());
    this.changed.fire();
  }

  /** The first error of a file that has a moment, as far as it is known without a session. */
  firstFinding(uri: vscode.Uri): FirstFinding | undefined {
    return firstFinding(this.ofServer.get(uri.toString()) ?? []);
  }

  /** All that the session has found, by URI. */
  sessionSays(found: Map<string, readonly vscode.Diagnostic[]>): void {
    const concerned = new Set([...this.ofSession.keys(), ...found.keys()]);
    this.ofSession = found;
    for (const uri of concerned) this.show(uri);
  }

  private show(uri: string): void {
    this.shown.set(vscode.Uri.parse(uri), merged(this.ofServer.get(uri) ?? [], this.ofSession.get(uri) ?? []));
  }
}
