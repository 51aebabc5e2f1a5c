import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import {
  AGENT_PROVIDER,
  COMMANDS,
  CONTAINER,
  DEBUG_TYPE,
  LANGUAGES,
  MODEL_EDITOR,
  RECORDING_EDITOR,
  RECORDING_LANGUAGE,
  SETTINGS,
  TASK_TYPE,
  VIEWS,
} from "../src/contributions";

interface Manifest {
  publisher: string;
  name: string;
  contributes: {
    languages: { id: string; icon?: Record<string, string> }[];
    grammars: { language: string; scopeName: string }[];
    breakpoints: { language: string }[];
    debuggers: { type: string; languages: string[]; configurationAttributes: Record<string, { properties: object }> }[];
    commands: { command: string }[];
    viewsContainers: { activitybar: { id: string; icon: string }[] };
    views: Record<string, { id: string; when?: string }[]>;
    viewsWelcome: { view: string; contents: string }[];
    taskDefinitions: { type: string }[];
    customEditors: { viewType: string }[];
    mcpServerDefinitionProviders: { id: string; label: string }[];
    configuration: { properties: Record<string, unknown> };
  };
}
const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;

describe("package.json", () => {
  const { contributes } = manifest;

  it("declares the names that the code uses", () => {
    assert.deepEqual(
      contributes.debuggers.map(({ type }) => type),
      [DEBUG_TYPE],
    );
    const languages = Object.values(LANGUAGES);
    assert.deepEqual(
      contributes.languages.map(({ id }) => id),
      [...languages, RECORDING_LANGUAGE],
    );
    assert.deepEqual(
      contributes.breakpoints.map(({ language }) => language),
      languages,
    );
    assert.deepEqual(contributes.debuggers[0]?.languages, languages);
    assert.deepEqual(
      contributes.commands.map(({ command }) => command),
      Object.values(COMMANDS),
    );
    assert.deepEqual(
      contributes.mcpServerDefinitionProviders.map(({ id }) => id),
      [AGENT_PROVIDER],
    );
    assert.deepEqual(
      contributes.viewsContainers.activitybar.map(({ id }) => id),
      [CONTAINER],
    );
    assert.deepEqual(Object.keys(contributes.views), [CONTAINER]);
    assert.deepEqual(
      contributes.views[CONTAINER]?.map(({ id }) => id),
      Object.values(VIEWS),
    );
    assert.deepEqual(
      contributes.customEditors.map(({ viewType }) => viewType),
      [MODEL_EDITOR, RECORDING_EDITOR],
    );
    assert.deepEqual(
      contributes.taskDefinitions.map(({ type }) => type),
      [TASK_TYPE],
    );
    assert.deepEqual(Object.keys(contributes.configuration.properties), [
      `${SETTINGS.section}.${SETTINGS.command}`,
      `${SETTINGS.section}.${SETTINGS.interpreter}`,
      `${SETTINGS.section}.${SETTINGS.logDirectory}`,
      `${SETTINGS.language}.${SETTINGS.enabled}`,
      `${SETTINGS.compare}.${SETTINGS.open}`,
    ]);
  });

  it("says in each view that can be empty what to do, with a button", () => {
    const texts = JSON.parse(readFileSync("package.nls.json", "utf8")) as Record<string, string>;
    for (const { id, when } of contributes.views[CONTAINER] ?? []) {
      const welcomes = contributes.viewsWelcome.filter(({ view }) => view === id);
      assert.ok(welcomes.length > 0 || when !== undefined, id);
      for (const { contents } of welcomes) assert.match(texts[contents.slice(1, -1)] ?? "", /\(command:[\w.]+\)/, id);
    }
  });

  it("ships the pictures that it names", () => {
    const shipped = readFileSync(".vscodeignore", "utf8").split("\n");
    for (const { icon } of contributes.viewsContainers.activitybar) assert.ok(shipped.includes(`!${icon}`), icon);
    for (const icon of contributes.languages.flatMap(({ icon }) => Object.values(icon ?? {})))
      assert.ok(shipped.includes(icon.replace("./", "!")), icon);
  });

  // VS Code gives a language the grammar of the extension that comes last in the order of folder names
  // (publisher.name-version). LLVM's MLIR extension covers more dialects, so it shall come after this one.
  it("leaves the colours of .mlir files to LLVM's extension where that is installed", () => {
    assert.ok(`${manifest.publisher}.${manifest.name}` < "llvm-vs-code-extensions.vscode-mlir");
    assert.notEqual(contributes.grammars.find(({ language }) => language === LANGUAGES.mlir)?.scopeName, "source.mlir");
  });

  it("describes every launch argument", () => {
    for (const { properties } of Object.values(contributes.debuggers[0]?.configurationAttributes ?? {})) {
      for (const [name, schema] of Object.entries(properties)) assert.ok("description" in schema, name);
    }
  });
});
