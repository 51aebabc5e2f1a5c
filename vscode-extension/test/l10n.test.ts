// First, so that the sources find it under the name vscode.
import "./vscode";
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import ts from "typescript";
import { inserted, t } from "../pages/shared/l10n";

const LANGUAGE = "zh-cn";
const json = (path: string) => JSON.parse(readFileSync(path, "utf8")) as Record<string, string>;
const bundle = json(`l10n/bundle.l10n.${LANGUAGE}.json`);

/** Calls that translate their first argument. */
const TRANSLATING = /^(vscode\.l10n\.t|t|inserted)$/;
/** The definitions of these, which pass a message on. */
const PASSING = "pages/shared/l10n.ts";

const sources = ["src", "pages"].flatMap((root) =>
  readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(root, name))
    .map((path) => ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true)),
);

function* within(node: ts.Node): Generator<ts.Node> {
  yield node;
  for (const child of node.getChildren()) yield* within(child);
}

function* translations(source: ts.SourceFile): Generator<ts.CallExpression> {
  for (const node of within(source))
    if (ts.isCallExpression(node) && TRANSLATING.test(node.expression.getText())) yield node;
}

const where = (node: ts.Node) => {
  const source = node.getSourceFile();
  return `${source.fileName}:${String(source.getLineAndCharacterOfPosition(node.getStart()).line + 1)}: ${node.getText()}`;
};

/** The numbers of a message's placeholders, each once. */
const placeholders = (text: string) => [...new Set(text.match(/\{\d+\}/g))].sort();

const messages = new Map<string, ts.CallExpression>();
const unreadable: string[] = [];
for (const source of sources) {
  for (const call of translations(source)) {
    const [message] = call.arguments;
    if (message !== undefined && ts.isStringLiteralLike(message)) messages.set(message.text, call);
    else if (source.fileName !== PASSING) unreadable.push(where(call));
  }
}

describe("texts in the editor's language", () => {
  it("are literals where they are used, so that translators find them", () => {
    assert.deepEqual(unreadable, []);
    assert.ok(messages.size > 200, `${String(messages.size)} messages`);
  });

  it("are all translated, and nothing else is", () => {
    assert.deepEqual(Object.keys(bundle).sort(), [...messages.keys()].sort());
    assert.deepEqual(
      Object.values(bundle).filter((text) => text.trim() === ""),
      [],
    );
  });

  it("have the same placeholders in each language, and as many arguments", () => {
    for (const [message, text] of Object.entries(bundle)) assert.deepEqual(placeholders(text), placeholders(message));
    for (const call of [...sources].flatMap((source) => [...translations(source)])) {
      const [message, ...args] = call.arguments;
      if (message === undefined || !ts.isStringLiteralLike(message) || args.some(ts.isSpreadElement)) continue;
      const wanted = args.map((_, i) => `{${String(i)}}`);
      assert.deepEqual(placeholders(message.text), wanted.sort(), where(call));
    }
  });

  it("are written with the punctuation of Chinese", () => {
    const chinese = /[\u4e00-\u9fff]/;
    for (const [message, text] of Object.entries(bundle)) {
      assert.doesNotMatch(text, /[\u4e00-\u9fff] ?[,;:?!()](?!\d)|[,;:?!()] ?[\u4e00-\u9fff]/, message);
      assert.doesNotMatch(text, /[\u4e00-\u9fff]\.(?!\.\.)/, message);
      if (chinese.test(text)) assert.doesNotMatch(text, /\.$(?<!\.\.\.)/, message);
    }
  });
});

describe("texts of package.json", () => {
  const [english, translated] = [json("package.nls.json"), json(`package.nls.${LANGUAGE}.json`)];

  it("are translated, all of them and nothing else", () => {
    assert.deepEqual(Object.keys(translated).sort(), Object.keys(english).sort());
  });

  it("are used, and no key is missing", () => {
    const used = [...readFileSync("package.json", "utf8").matchAll(/"%([\w.]+)%"/g)].map(([, key]) => key);
    assert.deepEqual([...new Set(used)].sort(), Object.keys(english).sort());
  });

  it("come with each page of the walkthrough in the same language", () => {
    const pages = readdirSync("walkthrough").filter((name) => /^[^.]+\.md$/.test(name));
    assert.ok(pages.length > 0);
    for (const page of pages) assert.ok(existsSync(`walkthrough/${page.replace(".md", `.nls.${LANGUAGE}.md`)}`), page);
  });
});

describe("texts of the sources", () => {
  /** Two words, one with a capital, or the name that messages begin with. */
  const isProse = (text: string) => /[A-Za-z]{2,}[,:;]? +[A-Za-z]{2,}|^\s*[A-Z][a-z]{2,}|^TDB:/.test(text);
  const hasWord = (text: string) => /[A-Za-z]{2,}/.test(text);
  /** Programs, policies and markup. */
  const isCode = (text: string) => /\n|^\s*<|^default-src /.test(text);
  /** Names, numbers and codes, which are the same in every language. */
  const NAMES = new Set(["Python", "Inf", "Scripts", "ended", ".npy", "old python", "first picture", "11px monospace"]);
  /** Text of a literal without its icons, commands and placeholders. */
  const words = (text: string) => text.replace(/\$\{[^}]*\}|\$\(\w+\)|\(command:/g, "").trim();

  /** Calls whose arguments only developers read: the log, and what goes into an issue or is not shown at all. */
  const UNSEEN = /^(log\(\)\.\w+|document\.getElementById|new Set|Buffer\.from)$/;
  /** Files of texts for something else than people: a report to be copied into issues, a program, file formats. */
  const NOT_FOR_PEOPLE: readonly string[] = ["src/adapter/diagnosis.ts", "src/protocol/generated.ts"];
  /** Attributes of elements that are shown or read aloud. */
  const SHOWN_ATTRIBUTES = /^(title|placeholder|aria-(label|valuetext|description))$/;
  /** Properties of the editor's interface that are shown. */
  const SHOWN_PROPERTIES =
    /^(title|placeHolder|prompt|label|detail|tooltip|message|description|openLabel|text|textContent|name|caption)$/;

  /** Literals under a node that are no message of a translation, and in no other call or comparison in between. */
  function* bare(node: ts.Node): Generator<string> {
    if (ts.isCallExpression(node) && /\.(filter|join|trim)$/.test(node.expression.getText())) {
      yield* bare((node.expression as ts.PropertyAccessExpression).expression);
      return;
    }
    if (ts.isCallExpression(node) || ts.isNewExpression(node) || ts.isFunctionLike(node)) return;
    if (ts.isStringLiteralLike(node)) yield node.text;
    else if (ts.isTemplateExpression(node))
      yield [node.head.text, ...node.templateSpans.map((s) => s.literal.text)].join(" ");
    else if (ts.isConditionalExpression(node)) for (const part of [node.whenTrue, node.whenFalse]) yield* bare(part);
    else if (ts.isBinaryExpression(node)) {
      if (/^(\+|\?\?|\|\||&&)$/.test(node.operatorToken.getText()))
        for (const part of [node.left, node.right]) yield* bare(part);
    } else if (ts.isArrayLiteralExpression(node)) for (const part of node.elements) yield* bare(part);
    else if (ts.isParenthesizedExpression(node)) yield* bare(node.expression);
    else if (ts.isSpreadElement(node)) yield* bare(node.expression);
  }

  /** What stands where a user sees it: children and attributes of elements, messages, properties of the interface. */
  function* shown(source: ts.SourceFile): Generator<[ts.Node, string]> {
    const isPage = source.fileName.startsWith("pages");
    for (const node of within(source)) {
      const parts: ts.Node[] = [];
      if (ts.isCallExpression(node)) {
        const name = node.expression.getText();
        if (name === "html" || name === "svg") parts.push(...node.arguments.slice(2));
        if (name === "button") parts.push(...node.arguments.slice(0, 1));
        if (/\.(append|replaceChildren|fillText)$/.test(name) && isPage) parts.push(...node.arguments);
        if (/\.show(Error|Warning|Information)Message$|appendMarkdown$/.test(name)) parts.push(...node.arguments);
        if (name.endsWith(".setAttribute") && SHOWN_ATTRIBUTES.test(node.arguments[0]?.getText().slice(1, -1) ?? ""))
          parts.push(...node.arguments.slice(1));
      }
      if (ts.isPropertyAssignment(node)) {
        const name = ts.isStringLiteral(node.name) ? node.name.text : node.name.getText();
        if ((isPage ? SHOWN_ATTRIBUTES : SHOWN_PROPERTIES).test(name)) parts.push(node.initializer);
      }
      if (
        ts.isBinaryExpression(node) &&
        node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
        ts.isPropertyAccessExpression(node.left) &&
        SHOWN_PROPERTIES.test(node.left.name.text)
      )
        parts.push(node.right);
      for (const part of parts) for (const text of bare(part)) yield [part, text];
    }
  }

  /** Every literal, but those of types, imports, names, messages of translations and calls that users do not see. */
  function* literals(node: ts.Node): Generator<ts.Node> {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return;
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const name = (ts.isNewExpression(node) ? "new " : "") + node.expression.getText();
      if (UNSEEN.test(name)) return;
      const isTranslated = TRANSLATING.test(name);
      yield* literals(node.expression);
      for (const argument of node.arguments?.slice(isTranslated ? 1 : 0) ?? []) yield* literals(argument);
      return;
    }
    if (ts.isBinaryExpression(node) && /^[!=]==$/.test(node.operatorToken.getText())) return;
    if (ts.isPropertyAssignment(node)) {
      // Classes of elements are several words.
      if (node.name.getText() !== "class") yield* literals(node.initializer);
      return;
    }
    if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) yield node;
    for (const child of node.getChildren()) yield* literals(child);
  }

  /** Reports and shared pages are written by the command line, which speaks English. */
  const isReport = (fileName: string) => /^pages\/(report|share)\//.test(fileName);
  const looked = sources.filter(({ fileName }) => !NOT_FOR_PEOPLE.includes(fileName) && !isReport(fileName));

  it("are translated wherever a user sees them", () => {
    const found = looked.flatMap((source) =>
      [...shown(source)]
        .filter(([, text]) => hasWord(words(text)) && !NAMES.has(words(text)))
        .map(([node, text]) => `${where(node)}: ${text}`),
    );
    assert.deepEqual(found, []);
  });

  it("are translated wherever they look like a sentence or a title", () => {
    const found = looked.flatMap((source) =>
      [...literals(source)]
        .map((node) => [node, words(node.getText().slice(1, -1))] as const)
        .filter(([, text]) => isProse(text) && !isCode(text) && !NAMES.has(text))
        .map(([node]) => where(node)),
    );
    assert.deepEqual(found, []);
  });
});

describe("a page's translations", () => {
  // As src/panels/frame.ts puts them into the page, which this process is not: before the first text is asked for.
  const data = { "{0} of {1} commands": "共 {1} 条命令中的 {0} 条", End: "结束" };
  Object.assign(globalThis, {
    document: { getElementById: (id: string) => (id === "l10n" ? { textContent: JSON.stringify(data) } : null) },
  });

  it("take arguments in the order of the language", () => {
    assert.equal(t("{0} of {1} commands", 3, "58"), "共 58 条命令中的 3 条");
    assert.equal(t("End"), "结束");
  });

  it("leave in English what is not translated", () => {
    assert.equal(t("{0} ops, {0} and {1}", 3), "3 ops, 3 and {1}");
  });

  it("keep elements as they are, with the text around them", () => {
    const [one, other] = [{ id: 1 }, { id: 2 }];
    assert.deepEqual(inserted("{0} of {1} commands", one, other), ["共 ", other, " 条命令中的 ", one, " 条"]);
  });
});
