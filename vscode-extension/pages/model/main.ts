/** The editor of a compiled model: what it consists of, with links to its sources, its tensors and its views. */
import "../shared/theme.css";
import "./model.css";
import type {
  ModelContents,
  ModelLaunch,
  ModelOp,
  ModelRecording,
  ModelStage,
  ModelSubnet,
  ModelWeight,
} from "../../src/protocol/generated";
import type { FromEditorPage, ToEditorPage } from "../../src/protocol/messages";
import { button, html } from "../shared/dom";
import { listen, send } from "../shared/host";
import { t } from "../shared/l10n";
import { bytes, count, type } from "../shared/text";
import { actions } from "./actions";
import { launchTable } from "./launches";
import { facts, follow, line, link, shortNames, table, type Column } from "./parts";

/** A column of a name, shortened; `cell`: what stands for it. */
function nameColumn<Item extends { readonly name: string }>(
  items: readonly Item[],
  cell: (item: Item, label: string) => Node | string = ({ name }, label) => html("span", { title: name }, label),
): Column<Item> {
  const labels = shortNames(items.map(({ name }) => name));
  return {
    title: t("name"),
    isElastic: true,
    value: ({ name }) => name,
    cell: (item) => cell(item, labels(item.name)),
  };
}

interface Typed {
  readonly dtype: string;
  readonly shape: readonly number[];
}

function typeColumn(): Column<Typed> {
  return { title: t("type"), value: ({ dtype, shape }) => (dtype === "" ? "" : type(dtype, shape)), isWide: true };
}

function addressColumn(): Column<{ readonly address: string }> {
  return {
    title: t("address"),
    value: ({ address }) => address,
    cell: ({ address }) => html("span", { class: "address" }, address),
  };
}

function sizeColumn<Item>(title: string, value: (item: Item) => number): Column<Item> {
  return { title, isNumber: true, value, cell: (item) => bytes(value(item)) };
}

function countColumn<Item>(title: string, value: (item: Item) => number): Column<Item> {
  return { title, isNumber: true, value, cell: (item) => count(value(item)) };
}

/** `view`: a link to the picture of a tensor. */
function view(expression: string, label: string, name: string): HTMLButtonElement {
  return link(label, { to: "tensor", expression }, t("View the tensor {0}", name));
}

function borders(stage: ModelStage): HTMLElement[] {
  const columns = (kind: "input" | "output"): Column<ModelStage["inputs"][number]>[] => [
    nameColumn(stage[`${kind}s`], ({ name }, label) =>
      kind === "input" ? view(`input(${JSON.stringify(name)})`, label, name) : html("span", { title: name }, label),
    ),
    { ...typeColumn(), isWide: false },
    addressColumn(),
    sizeColumn(t("size"), ({ size }) => size),
    { title: t("scale"), isNumber: true, isWide: true, value: ({ scale }) => Number(scale.toPrecision(6)) },
    { title: t("zero point"), isNumber: true, isWide: true, value: ({ zeroPoint }) => zeroPoint },
  ];
  return [
    ...table(t("Inputs"), columns("input"), stage.inputs),
    ...table(t("Outputs"), columns("output"), stage.outputs),
  ];
}

interface Part {
  readonly stage: ModelStage;
  readonly net: string;
  readonly index: number;
  readonly title: string;
}

/** The nets and their stages, which a click shows. */
function netTable(contents: ModelContents): HTMLElement[] {
  const items = contents.nets.flatMap(({ name: net, stages }) =>
    stages.map((stage, index): Part => {
      const title = stages.length > 1 ? t("{0}, stage {1}", net, index) : net;
      return { stage, net, index, title };
    }),
  );
  const choose = ({ net, index }: Part) => {
    if (contents.recording === null) send({ type: "choose", net, stage: index } satisfies FromEditorPage);
  };
  const cell = (part: Part) => {
    if (contents.recording !== null) return part.title;
    const isShown = part.net === contents.net && part.index === contents.stage;
    if (isShown) return html("strong", {}, part.title);
    return button(
      part.title,
      () => {
        choose(part);
      },
      { class: "link", title: t("Show this one") },
    );
  };
  const columns: Column<Part>[] = [
    { title: t("net"), value: ({ title }) => title, cell },
    {
      title: t("inputs"),
      isElastic: true,
      value: ({ stage }) => stage.inputs.map(({ dtype, shape }) => type(dtype, shape)).join(", "),
    },
    { ...countColumn(t("cores"), ({ stage }: Part) => stage.cores), isWide: true },
    { ...countColumn(t("subnets"), ({ stage }: Part) => stage.subnets), isWide: true },
    { ...sizeColumn(t("commands"), ({ stage }: Part) => stage.commandBytes), isWide: true },
    sizeColumn(t("weights"), ({ stage }) => stage.weightBytes),
    sizeColumn(t("activations"), ({ stage }) => stage.activationBytes + stage.ioBytes),
  ];
  return table(t("Nets"), columns, items, { opened: choose });
}

function opTable(ops: readonly ModelOp[]): HTMLElement[] {
  const columns: Column<ModelOp>[] = [
    { title: t("op"), value: ({ opcode }) => opcode, cell: ({ opcode }) => opcode.replace(/^tpu\./, "") },
    nameColumn(ops),
    typeColumn(),
    { ...countColumn(t("commands"), ({ commands }: ModelOp) => commands), isWide: true },
    { title: t("where"), value: (op) => op.line, cell: (op) => line(op.line, op.listingLine) },
    {
      title: t("disassembly"),
      isWide: true,
      value: ({ first }) => first,
      cell: ({ first, listingLine }) =>
        link(t("command {0}", count(first)), { to: "listing", line: listingLine }, t("Show in the disassembly")),
    },
  ];
  return table(t("Ops"), columns, ops, {
    opened: (op) => {
      follow(op.line > 0 ? { to: "line", line: op.line } : { to: "listing", line: op.listingLine });
    },
  });
}

function subnetTable(subnets: readonly ModelSubnet[]): HTMLElement[] {
  const engines = ({ engines: found }: ModelSubnet) =>
    found.map(([name, number]) => `${count(number)} ${name.toUpperCase()}`).join(", ");
  const names = (all: readonly string[]) => {
    const labels = shortNames(all);
    return html("span", { title: all.join("\n") }, all.map(labels).join(", "));
  };
  const columns: Column<ModelSubnet>[] = [
    { title: t("subnet"), isNumber: true, value: ({ id }) => id },
    { title: t("kind"), value: ({ kind }) => kind },
    { ...countColumn(t("commands"), ({ commands }: ModelSubnet) => commands), isWide: true },
    { title: t("engines"), isElastic: true, value: engines },
    { title: t("inputs"), isWide: true, value: ({ inputs }) => inputs.join(" "), cell: ({ inputs }) => names(inputs) },
    {
      title: t("outputs"),
      isWide: true,
      value: ({ outputs }) => outputs.join(" "),
      cell: ({ outputs }) => names(outputs),
    },
    { title: t("where"), value: (subnet) => subnet.line, cell: (subnet) => line(subnet.line, subnet.listingLine) },
  ];
  return table(t("Subnets"), columns, subnets);
}

function weightTable(weights: readonly ModelWeight[]): HTMLElement[] {
  const columns: Column<ModelWeight>[] = [
    nameColumn(weights, ({ name }, label) => view(`weight(${JSON.stringify(name)})`, label, name)),
    typeColumn(),
    addressColumn(),
    sizeColumn(t("size"), ({ size }) => size),
    {
      title: t("where"),
      value: (weight) => weight.line,
      cell: (weight) => (weight.line > 0 ? line(weight.line, 1) : ""),
    },
  ];
  return table(t("Weights"), columns, weights);
}

/** The program that was run, the models that it loaded, and its launches. */
function recorded(recording: ModelRecording, launches: readonly ModelLaunch[]): HTMLElement[] {
  const { arguments: program, time, exit, remark, models } = recording;
  const rows: [string, string][] = [
    [t("command line"), program.join(" ")],
    [t("recorded"), time === "" ? "" : new Date(time).toLocaleString()],
    [t("exit code"), exit === null ? "" : String(exit)],
  ];
  const listed = models.map((path, index) => ({ path, index }));
  return [
    ...(remark === "" ? [] : [html("p", { class: "note" }, t("The recording is not complete: {0}.", remark))]),
    ...facts(
      t("Program"),
      rows.filter(([, text]) => text !== ""),
    ),
    ...table(
      t("Models"),
      [
        { title: t("model"), isNumber: true, value: ({ index }) => index },
        { title: t("file"), isElastic: true, value: ({ path }) => path },
      ],
      listed,
    ),
    ...launchTable(launches),
  ];
}

function show(contents: ModelContents): void {
  const { file, size, chip, cores, compiler, hasSource, commands, subnets, ops, weights, recording } = contents;
  const stage = contents.nets.find(({ name }) => name === contents.net)?.stages[contents.stage];
  const about = [
    chip,
    cores === 1 ? t("1 core") : t("{0} cores", cores),
    // Of several nets only the chosen one is loaded.
    ...(contents.nets.length > 1 && recording === null ? [] : [t("{0} commands", count(commands))]),
    bytes(size),
    compiler,
  ];
  document.body.replaceChildren(
    html("h1", {}, file.split(/[\\/]/).at(-1) ?? file),
    html("p", { class: "about" }, about.join(" · ")),
    actions(contents),
    ...(recording === null ? [] : recorded(recording, contents.launches)),
    ...(hasSource || recording !== null
      ? []
      : [
          html(
            "p",
            { class: "note" },
            t(
              "There is no final.mlir beside this file, so it has commands and no ops. Compile with model_deploy --debug, and open the directory that it leaves, to get both.",
            ),
          ),
        ]),
    // With several nets, the choice of one comes before what it has.
    ...(contents.nets.length > 1 ? netTable(contents) : []),
    ...opTable(ops),
    // Where tensors are, and which subnets there are, is told by the launches of a run.
    ...(stage === undefined || recording !== null ? [] : borders(stage)),
    ...(recording === null ? subnetTable(subnets) : []),
    ...weightTable(weights),
    ...(contents.nets.length > 1 ? [] : netTable(contents)),
  );
}

function failed(why: string, canSetUp: boolean): void {
  const setUp = button(
    t("Set Up the Debugger..."),
    () => {
      send({ type: "setUp" } satisfies FromEditorPage);
    },
    { class: "primary" },
  );
  document.body.replaceChildren(html("p", { role: "alert" }, why), ...(canSetUp ? [setUp] : []));
}

listen((message: ToEditorPage) => {
  if (message.type === "contents") show(message.contents);
  else if (message.type === "failed") failed(message.why, message.canSetUp);
  else if (document.body.querySelector("h1") === null)
    document.body.replaceChildren(html("p", { role: "status" }, t("Reading the model …")));
});
