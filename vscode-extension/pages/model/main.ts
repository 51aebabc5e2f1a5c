/** The editor of a compiled model: what it consists of, with links to its sources, its tensors and its views. */
import "../shared/theme.css";
import "./model.css";
import type { ModelContents, ModelLaunch, ModelRecording, ModelStage } from "../../src/protocol/generated";
import type { FromEditorPage, Link, ToEditorPage } from "../../src/protocol/messages";
import { button, html } from "../shared/dom";
import { listen, send } from "../shared/host";
import { t } from "../shared/l10n";
import { bytes, count, type } from "../shared/text";
import { launchTable } from "./launches";
import { follow, line, link, table } from "./parts";

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
        contents.recording !== null ? title : isShown ? html("strong", {}, title) : choose,
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

/** The program that was run, the models that it loaded, and its launches. */
function recorded(recording: ModelRecording, launches: readonly ModelLaunch[]): HTMLElement[] {
  const { arguments: program, time, exit, remark, models } = recording;
  const facts: [string, string][] = [
    [t("command line"), program.join(" ")],
    [t("recorded"), time === "" ? "" : new Date(time).toLocaleString()],
    [t("exit code"), exit === null ? "" : String(exit)],
  ];
  return [
    ...(remark === "" ? [] : [html("p", { class: "note" }, t("The recording is not complete: {0}.", remark))]),
    ...table(
      t("Program"),
      [],
      facts.filter(([, text]) => text !== ""),
    ),
    ...table(
      t("Models"),
      [t("model"), t("file")],
      models.map((path, index) => [String(index), path]),
    ),
    ...launchTable(launches),
  ];
}

function show(contents: ModelContents): void {
  const { file, size, chip, cores, compiler, hasSource, commands, subnets, ops, weights, recording } = contents;
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
        { class: "primary", title: recording === null ? t("Debug this model") : t("Debug this recording") },
      ),
      view(t("Graph"), { to: "view", view: "graph" }, t("Ops and what flows between them")),
      view(t("Timeline"), { to: "view", view: "timeline" }, t("Estimated time of each command")),
      view(t("Chip Memory"), { to: "view", view: "memory" }, t("Which tensor lies where, and when")),
      view(t("Disassembly"), { to: "listing", line: 1 }, t("Every command, one in a line")),
    ),
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
    ...parts(contents),
    // Where tensors are, and which subnets there are, is told by the launches of a run.
    ...(stage === undefined || recording !== null ? [] : borders(contents, stage)),
    ...table(
      t("Subnets"),
      [t("subnet"), t("kind"), t("commands"), t("engines"), t("inputs"), t("outputs"), t("where")],
      (recording === null ? subnets : []).map((subnet) => [
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
