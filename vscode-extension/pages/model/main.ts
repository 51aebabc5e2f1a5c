/** The editor of a compiled model: what it consists of, with links to its sources, its tensors and its views. */
import "../shared/theme.css";
import "./model.css";
import type { ModelContents, ModelStage } from "../../src/protocol/generated";
import type { FromEditorPage, Link, ToEditorPage } from "../../src/protocol/messages";
import { button, html } from "../shared/dom";
import { listen, send } from "../shared/host";
import { t } from "../shared/l10n";
import { bytes, count, type } from "../shared/text";

type Cell = Node | string;

function follow(link: Link): void {
  send({ type: "follow", link } satisfies FromEditorPage);
}

function link(text: string, to: Link, title: string): HTMLButtonElement {
  return button(
    text,
    () => {
      follow(to);
    },
    { class: "link", title },
  );
}

/** A table with a heading; nothing where there are no rows. Columns in `numbers` are aligned right. */
function table(
  title: string,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  numbers: readonly number[] = [],
): HTMLElement[] {
  if (rows.length === 0) return [];
  const kind = (index: number) => (numbers.includes(index) ? "number" : "");
  const cells = (row: readonly Cell[]) => row.map((cell, index) => html("td", { class: kind(index) }, cell));
  return [
    html(
      "section",
      {},
      html("h2", {}, title),
      html(
        "table",
        { "aria-label": title },
        html("thead", {}, html("tr", {}, ...head.map((text, i) => html("th", { scope: "col", class: kind(i) }, text)))),
        html("tbody", {}, ...rows.map((row) => html("tr", {}, ...cells(row)))),
      ),
    ),
  ];
}

function line(number: number, listing: number): Cell {
  return number > 0
    ? link(t("line {0}", number), { to: "line", line: number }, t("Show in final.mlir"))
    : link(t("listing"), { to: "listing", line: listing }, t("Show in the disassembly"));
}

function borders(contents: ModelContents, stage: ModelStage): HTMLElement[] {
  const head = [t("name"), t("type"), t("address"), t("size"), t("scale"), t("zero point")];
  const rows = (kind: "input" | "output") =>
    stage[`${kind}s`].map(({ name, dtype, shape, address, size, scale, zeroPoint }) => [
      kind === "input"
        ? link(name, { to: "tensor", expression: `${kind}(${JSON.stringify(name)})` }, t("View the tensor"))
        : name,
      type(dtype, shape),
      html("span", { class: "address" }, address),
      bytes(size),
      String(Number(scale.toPrecision(6))),
      String(zeroPoint),
    ]);
  return [
    ...table(t("Inputs"), head, rows("input"), [3, 4, 5]),
    ...table(t("Outputs"), head, rows("output"), [3, 4, 5]),
  ];
}

function parts(contents: ModelContents): HTMLElement[] {
  const rows = contents.nets.flatMap(({ name, stages }) =>
    stages.map((stage, index) => {
      const isShown = name === contents.net && index === contents.stage;
      const title = stages.length > 1 ? t("{0}, stage {1}", name, index) : name;
      const choose = button(
        title,
        () => {
          send({ type: "choose", net: name, stage: index } satisfies FromEditorPage);
        },
        { class: "link", title: t("Show this one") },
      );
      return [
        isShown ? html("strong", {}, title) : choose,
        stage.inputs.map(({ dtype, shape }) => type(dtype, shape)).join(", "),
        count(stage.cores),
        count(stage.subnets),
        bytes(stage.commandBytes),
        bytes(stage.weightBytes),
        bytes(stage.activationBytes + stage.ioBytes),
      ];
    }),
  );
  const head = [t("net"), t("inputs"), t("cores"), t("subnets"), t("commands"), t("weights"), t("activations")];
  return table(t("Nets"), head, rows, [2, 3, 4, 5, 6]);
}

function show(contents: ModelContents): void {
  const { file, size, chip, cores, compiler, hasSource, commands, subnets, ops, weights } = contents;
  const stage = contents.nets.find(({ name }) => name === contents.net)?.stages[contents.stage];
  const engines = (found: readonly (readonly [string, number])[]) =>
    found.map(([name, number]) => `${count(number)} ${name.toUpperCase()}`).join(", ");
  const about = [
    chip,
    cores === 1 ? t("1 core") : t("{0} cores", cores),
    t("{0} commands", count(commands)),
    bytes(size),
    compiler,
  ];
  const view = (text: string, to: Link, title: string) =>
    button(
      text,
      () => {
        follow(to);
      },
      { title },
    );
  document.body.replaceChildren(
    html("h1", {}, file.split(/[\\/]/).at(-1) ?? file),
    html("p", { class: "about" }, about.join(" · ")),
    html(
      "div",
      { class: "actions", role: "toolbar", "aria-label": t("Views of this model") },
      button(
        t("Start Debugging"),
        () => {
          follow({ to: "debug" });
        },
        { class: "primary", title: t("Debug this model") },
      ),
      view(t("Graph"), { to: "view", view: "graph" }, t("Ops and what flows between them")),
      view(t("Timeline"), { to: "view", view: "timeline" }, t("Estimated time of each command")),
      view(t("Chip Memory"), { to: "view", view: "memory" }, t("Which tensor lies where, and when")),
      view(t("Disassembly"), { to: "listing", line: 1 }, t("Every command, one in a line")),
    ),
    ...(hasSource
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
    ...parts(contents),
    ...(stage === undefined ? [] : borders(contents, stage)),
    ...table(
      t("Subnets"),
      [t("subnet"), t("kind"), t("commands"), t("engines"), t("inputs"), t("outputs"), t("where")],
      subnets.map((subnet) => [
        String(subnet.id),
        subnet.kind,
        count(subnet.commands),
        engines(subnet.engines),
        subnet.inputs.join(", "),
        subnet.outputs.join(", "),
        line(subnet.line, subnet.listingLine),
      ]),
      [0, 2],
    ),
    ...table(
      t("Weights"),
      [t("name"), t("type"), t("address"), t("size"), t("where")],
      weights.map(({ name, dtype, shape, address, size: all, line: number }) => [
        link(name, { to: "tensor", expression: `weight(${JSON.stringify(name)})` }, t("View the tensor")),
        type(dtype, shape),
        html("span", { class: "address" }, address),
        bytes(all),
        number > 0 ? line(number, 1) : "",
      ]),
      [3],
    ),
    ...table(
      t("Ops"),
      [t("op"), t("name"), t("type"), t("commands"), t("where"), t("disassembly")],
      ops.map((op) => [
        op.opcode,
        op.name,
        op.dtype === "" ? "" : type(op.dtype, op.shape),
        count(op.commands),
        line(op.line, op.listingLine),
        link(t("command {0}", count(op.first)), { to: "listing", line: op.listingLine }, t("Show in the disassembly")),
      ]),
      [3],
    ),
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
