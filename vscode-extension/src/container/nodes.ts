/** Rows of the tree of models. */
import * as vscode from "vscode";
import { isRecording } from "../configuration/program";
import { INTERNAL } from "../contributions";
import type {
  BorderTensor,
  ModelContents,
  ModelLaunch,
  ModelOp,
  ModelSubnet,
  ModelWeight,
} from "../protocol/generated";
import type { Link } from "../protocol/messages";
import { keyOf, nameOf, type ModelReference } from "../programs/program";
import { bytesText, commandsText, typeText } from "./words";

export interface Node {
  readonly item: vscode.TreeItem;
  /** The model that it belongs to. */
  readonly model: ModelReference;
  /** Line of the listing where its commands begin. */
  readonly listingLine?: number;
  /** Whether its children show where the program stands. */
  readonly followsTime?: boolean;
  children?(): Promise<Node[]> | Node[];
}

/** What a model's rows are made of. */
export type Ask = (model: ModelReference) => Promise<ModelContents>;

const { Collapsed, Expanded } = vscode.TreeItemCollapsibleState;

/** `now`: commands executed in the session of a model that is being debugged. */
export function modelNode(
  model: ModelReference,
  isDebugged: boolean,
  where: string,
  ask: Ask,
  now: () => number | undefined = () => undefined,
): Node {
  const item = new vscode.TreeItem(nameOf(model), Collapsed);
  item.id = keyOf(model);
  const isRecorded = isRecording(model.program);
  item.iconPath = new vscode.ThemeIcon(isRecorded ? "record" : "chip");
  item.contextValue = isRecorded ? "recording" : "model";
  item.tooltip = model.program;
  item.description = isDebugged ? vscode.l10n.t("being debugged") : where;
  const children = async () => {
    const contents = await ask(model);
    const at = isDebugged ? now : () => undefined;
    return [...viewNodes(model), ...launchGroup(model, contents, at), ...partNodes(model, contents, ask)];
  };
  return { item, model, children };
}

function row(model: ModelReference, label: string, description: string, icon: string, link: Link): Node {
  const item = new vscode.TreeItem(label);
  item.description = description;
  item.iconPath = new vscode.ThemeIcon(icon);
  item.tooltip = [label, description].filter(Boolean).join("\n");
  item.accessibilityInformation = { label: [label, description].filter(Boolean).join(", ") };
  item.command = { command: INTERNAL.follow, title: label, arguments: [model, link] };
  return { item, model };
}

function group(model: ModelReference, label: string, description: string, icon: string, children: () => Node[]): Node {
  const item = new vscode.TreeItem(label, Collapsed);
  item.description = description;
  item.iconPath = new vscode.ThemeIcon(icon);
  return { item, model, children };
}

/** The views of a model, which need no session. */
function viewNodes(model: ModelReference): Node[] {
  return [
    row(model, vscode.l10n.t("Graph"), vscode.l10n.t("ops and what flows between them"), "type-hierarchy", {
      to: "view",
      view: "graph",
    }),
    row(model, vscode.l10n.t("Timeline"), vscode.l10n.t("estimated time of each command"), "pulse", {
      to: "view",
      view: "timeline",
    }),
    row(model, vscode.l10n.t("Chip Memory"), vscode.l10n.t("which tensor is where, and when"), "circuit-board", {
      to: "view",
      view: "memory",
    }),
    row(model, vscode.l10n.t("Disassembly"), vscode.l10n.t("every command, one in a line"), "list-ordered", {
      to: "listing",
      line: 1,
    }),
  ];
}

/** Nets and their stages; what a net consists of is known of the one that is loaded. */
function netNodes(model: ModelReference, contents: ModelContents, ask: Ask): Node[] {
  return contents.nets.flatMap(({ name, stages }) =>
    stages.map(({ inputs, outputs }, stage) => {
      const isLoaded = name === contents.net && stage === contents.stage;
      const part: ModelReference = isLoaded ? model : { program: model.program, net: name, stage };
      const only = contents.nets.length === 1 && stages.length === 1;
      const item = new vscode.TreeItem(
        stages.length === 1 ? vscode.l10n.t("net {0}", name) : vscode.l10n.t("net {0}, stage {1}", name, stage),
        only ? Expanded : Collapsed,
      );
      item.description = inputs.map((tensor) => typeText(tensor)).join(", ");
      item.iconPath = new vscode.ThemeIcon("symbol-namespace");
      item.contextValue = "net";
      const children = async () => {
        const found = isLoaded ? contents : await ask(part);
        return [
          group(part, vscode.l10n.t("Inputs"), String(inputs.length), "arrow-right", () =>
            inputs.map((tensor) => tensorNode(part, tensor, "input")),
          ),
          group(part, vscode.l10n.t("Outputs"), String(outputs.length), "arrow-left", () =>
            outputs.map((tensor) => tensorNode(part, tensor, "output")),
          ),
          ...found.subnets.map((subnet) => subnetNode(part, subnet, found)),
          ...weightGroup(part, found),
        ];
      };
      return { item, model: part, children };
    }),
  );
}

/** Nets; of a recorded run the weights of its models, and of a run of many nets these below one row. */
function partNodes(model: ModelReference, contents: ModelContents, ask: Ask): Node[] {
  if (contents.recording !== null) return weightGroup(model, contents);
  if (contents.launches.length === 0) return netNodes(model, contents, ask);
  const { nets } = contents;
  const all = () => netNodes(model, contents, ask);
  return [group(model, vscode.l10n.t("Nets"), String(nets.length), "symbol-namespace", all)];
}

/** The launches of a recorded run; those of a language model by the token that they are for. */
function launchGroup(model: ModelReference, { launches }: ModelContents, now: () => number | undefined): Node[] {
  if (launches.length === 0) return [];
  const children = () => {
    const at = now();
    const here = at === undefined ? undefined : launches.filter(({ first }) => first <= at).at(-1);
    const tokens = new Map<number | null, ModelLaunch[]>();
    for (const launch of launches) tokens.set(launch.token, [...(tokens.get(launch.token) ?? []), launch]);
    const rows = (some: readonly ModelLaunch[]) => some.map((launch) => launchNode(model, launch, launch === here));
    return [...tokens].flatMap(([token, some]) =>
      token === null ? rows(some) : [tokenNode(model, token, here?.token === token, () => rows(some))],
    );
  };
  const all = group(model, vscode.l10n.t("Launches"), String(launches.length), "debug-rerun", children);
  all.item.contextValue = "launches";
  all.item.collapsibleState = Expanded;
  return [{ ...all, followsTime: true }];
}

function tokenNode(model: ModelReference, token: number, isHere: boolean, children: () => Node[]): Node {
  const made = group(model, vscode.l10n.t("token {0}", token), "", "symbol-key", children);
  if (isHere) markHere(made.item);
  return made;
}

function launchNode(model: ModelReference, launch: ModelLaunch, isHere: boolean): Node {
  const { number, net, shapes, entry, listingLine, commands } = launch;
  const made = row(
    model,
    vscode.l10n.t("launch {0}", number),
    [net, shapes, commandsText(commands)].filter(Boolean).join(" · "),
    "play-circle",
    { to: "moment", ordinal: entry, line: listingLine },
  );
  made.item.contextValue = "commands";
  if (isHere) markHere(made.item);
  return { ...made, listingLine };
}

/** Of the row in which the program stands. */
function markHere(item: vscode.TreeItem): void {
  const text = typeof item.description === "string" ? item.description : "";
  item.description = [vscode.l10n.t("here"), text].filter(Boolean).join(" · ");
  item.iconPath = new vscode.ThemeIcon("debug-stackframe", new vscode.ThemeColor("debugIcon.continueForeground"));
  const label = typeof item.label === "string" ? item.label : "";
  item.accessibilityInformation = { label: `${label}, ${item.description}` };
}

function tensorNode(model: ModelReference, tensor: BorderTensor, kind: "input" | "output"): Node {
  const description = `${typeText(tensor)} · ${tensor.address} · ${bytesText(tensor.size)}`;
  const expression = `${kind}(${JSON.stringify(tensor.name)})`;
  return row(model, tensor.name, description, "symbol-variable", { to: "tensor", expression });
}

function weightGroup(model: ModelReference, { weights }: ModelContents): Node[] {
  if (weights.length === 0) return [];
  const size = weights.reduce((sum, weight) => sum + weight.size, 0);
  const description = `${String(weights.length)} · ${bytesText(size)}`;
  return [
    group(model, vscode.l10n.t("Weights"), description, "symbol-constant", () =>
      weights.map((weight) => weightNode(model, weight)),
    ),
  ];
}

function weightNode(model: ModelReference, weight: ModelWeight): Node {
  const description = `${typeText(weight)} · ${weight.address} · ${bytesText(weight.size)}`;
  const expression = `weight(${JSON.stringify(weight.name)})`;
  return row(model, weight.name, description, "symbol-constant", { to: "tensor", expression });
}

function subnetNode(model: ModelReference, subnet: ModelSubnet, { ops }: ModelContents): Node {
  const own = ops.filter((op) => op.subnet === subnet.id);
  const item = new vscode.TreeItem(vscode.l10n.t("subnet {0}", subnet.id), own.length > 0 ? Collapsed : undefined);
  item.description = `${subnet.kind} · ${commandsText(subnet.commands)}`;
  item.iconPath = new vscode.ThemeIcon("symbol-method");
  item.contextValue = "commands";
  item.command = {
    command: INTERNAL.follow,
    title: vscode.l10n.t("Go to Line"),
    arguments: [model, place(subnet.line, subnet.listingLine)],
  };
  return { item, model, listingLine: subnet.listingLine, children: () => own.map((op) => opNode(model, op)) };
}

function opNode(model: ModelReference, op: ModelOp): Node {
  const label = [op.opcode.replace(/^tpu\./, ""), op.name].filter(Boolean).join(" ");
  const type = op.dtype === "" ? "" : typeText(op);
  const description = [type, commandsText(op.commands), vscode.l10n.t("line {0}", op.line)];
  const made = row(
    model,
    label,
    description.filter(Boolean).join(" · "),
    "symbol-operator",
    place(op.line, op.listingLine),
  );
  made.item.contextValue = "commands";
  return { ...made, listingLine: op.listingLine };
}

/** A line of final.mlir, or where there is none of the listing. */
function place(line: number, listingLine: number): Link {
  return line > 0 ? { to: "line", line } : { to: "listing", line: listingLine };
}
