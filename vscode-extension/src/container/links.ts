/** Where a row of the tree of models, or of the editor of a model, leads to. */
import * as vscode from "vscode";
import { COMMANDS } from "../contributions";
import { viewStaticTensor } from "../panels/tensor/command";
import { textOf } from "../protocol/errors";
import type { Link } from "../protocol/messages";
import { debug } from "../programs/debugging";
import { travel } from "../sessions/moment";
import { nameOf, type ModelReference } from "../programs/program";
import { showLine, showListing } from "../programs/sources";
import type { Contents } from "./contents";
import { commandsText } from "./words";

const VIEWS = {
  graph: COMMANDS.graph,
  timeline: COMMANDS.timeline,
  memory: COMMANDS.memory,
  answer: COMMANDS.answer,
} as const;

/** Follows links, each in the model that it belongs to. */
export class Links {
  constructor(
    private readonly root: vscode.Uri,
    private readonly contents: Contents,
  ) {}

  /** `takesKeyboard`: whether a text that is opened does; a click in a tree leaves it there. */
  async follow(model: ModelReference, link: Link, takesKeyboard = false): Promise<void> {
    try {
      await this.go(model, link, takesKeyboard);
    } catch (error) {
      void vscode.window.showErrorMessage(vscode.l10n.t("TDB: {0}", textOf(error)));
    }
  }

  /** Let the user choose a weight or an input of a model, and show it. */
  async chooseTensor(model: ModelReference): Promise<void> {
    try {
      const { weights, nets, net, stage } = await this.contents.of(model);
      const inputs = nets.find(({ name }) => name === net)?.stages[stage]?.inputs ?? [];
      const item = (
        kind: "weight" | "input",
        { name, dtype, shape }: { name: string; dtype: string; shape: readonly number[] },
      ) => ({
        label: name,
        description: `${dtype}[${shape.join(",")}]`,
        expression: `${kind}(${JSON.stringify(name)})`,
      });
      const items = [
        ...inputs.map((tensor) => item("input", tensor)),
        ...weights.map((tensor) => item("weight", tensor)),
      ];
      const picked = await vscode.window.showQuickPick(items, {
        title: vscode.l10n.t("View Tensor"),
        placeHolder: vscode.l10n.t("A weight, or an input before the first command"),
      });
      if (picked !== undefined) await this.go(model, { to: "tensor", expression: picked.expression });
    } catch (error) {
      void vscode.window.showErrorMessage(vscode.l10n.t("TDB: {0}", textOf(error)));
    }
  }

  /** Let the user search the launches of a recorded run by number, net or shape, and go to one. */
  async chooseLaunch(model: ModelReference): Promise<void> {
    try {
      const { launches } = await this.contents.of(model);
      if (launches.length === 0) {
        const text = vscode.l10n.t(
          "TDB: {0} has no launches: it is neither a recording nor a language model that is being asked.",
          nameOf(model),
        );
        void vscode.window.showInformationMessage(text);
        return;
      }
      const items = launches.map(({ number, net, shapes, first, entry, listingLine, commands, token }) => ({
        label: vscode.l10n.t("launch {0} of {1} ({2})", number, net, shapes),
        description: [
          token === null ? "" : vscode.l10n.t("token {0}", token),
          vscode.l10n.t("command {0}", first),
          commandsText(commands),
        ]
          .filter(Boolean)
          .join(" · "),
        link: { to: "moment", ordinal: entry, line: listingLine } as const,
      }));
      const picked = await vscode.window.showQuickPick(items, {
        title: vscode.l10n.t("Go to Launch"),
        placeHolder: vscode.l10n.t("Number of a launch, or name of a net"),
      });
      if (picked !== undefined) await this.go(model, picked.link);
    } catch (error) {
      void vscode.window.showErrorMessage(vscode.l10n.t("TDB: {0}", textOf(error)));
    }
  }

  private async go(model: ModelReference, link: Link, takesKeyboard = true): Promise<void> {
    switch (link.to) {
      case "debug":
        await debug(model);
        return;
      case "view":
        await vscode.commands.executeCommand(VIEWS[link.view], model);
        return;
    }
    const lease = await this.contents.program(model);
    if (link.to === "tensor") {
      await viewStaticTensor(this.root, lease, link.expression);
      return;
    }
    try {
      if (link.to === "moment" && lease.program.session !== undefined)
        await travel(lease.program.session, link.ordinal);
      else await (link.to === "line" ? showLine : showListing)(lease.program, link.line, takesKeyboard);
    } finally {
      lease.release();
    }
  }
}
