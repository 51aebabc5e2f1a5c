import * as vscode from "vscode";
import { LANGUAGES } from "../contributions";

/** A line above a line of final.mlir. */
interface Lens {
  readonly uri: vscode.Uri;
  /** Counted from 1. */
  readonly line: number;
  readonly command: vscode.Command;
}

/** Above the line at which the program stands: what differs first up to here, and the way there. */
export class DifferenceLens implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.changed.event;
  private readonly registered = vscode.languages.registerCodeLensProvider({ language: LANGUAGES.mlir }, this);
  private lens: Lens | undefined;

  show(lens: Lens | undefined): void {
    if (lens === undefined && this.lens === undefined) return;
    this.lens = lens;
    this.changed.fire();
  }

  /** Scroll the line to the top: VS Code writes below it what has happened, which a low window cuts off. */
  reveal(): void {
    const editor = vscode.window.visibleTextEditors.find(({ document }) => this.isAbove(document));
    if (this.lens === undefined || editor === undefined) return;
    const start = new vscode.Position(this.lens.line - 1, 0);
    editor.revealRange(new vscode.Range(start, start), vscode.TextEditorRevealType.AtTop);
  }

  private isAbove({ uri }: vscode.TextDocument): boolean {
    return this.lens?.uri.toString() === uri.toString();
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    if (this.lens === undefined || !this.isAbove(document)) return [];
    const start = new vscode.Position(this.lens.line - 1, 0);
    return [new vscode.CodeLens(new vscode.Range(start, start), this.lens.command)];
  }

  dispose(): void {
    this.registered.dispose();
    this.changed.dispose();
  }
}
