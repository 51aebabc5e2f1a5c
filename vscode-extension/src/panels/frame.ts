import * as vscode from "vscode";

/** The folders of pages/, and their files in dist/. */
export type PageName = "tensor" | "time" | "compare" | "model" | "memory" | "graph" | "timeline" | "answer" | "trace";

/**
 * The HTML around one of the pages of pages/: its script and style, nothing from elsewhere, no script in the page itself.
 *
 * `nonce`: of its script, another one each time. `title`: of the page, in the language of the editor. The page's other texts come with it as data, where they are
 * translated.
 */
export function frame(
  webview: vscode.Webview,
  root: vscode.Uri,
  name: PageName,
  title: string,
  nonce: string = crypto.randomUUID(),
): string {
  const file = (kind: string) => webview.asWebviewUri(vscode.Uri.joinPath(root, "dist", `${name}.${kind}`)).toString();
  const policy = `default-src 'none'; img-src data: blob:; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="${vscode.env.language}">
<head>
  <meta charset="UTF-8">
  <meta http-equiv="Content-Security-Policy" content="${policy}">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <link rel="stylesheet" href="${file("css")}">
  <title>${title}</title>
</head>
<body>
${texts(vscode.l10n.bundle)}  <script nonce="${nonce}" src="${file("js")}"></script>
</body>
</html>`;
}

/** Translations by their English text, for pages/shared/l10n.ts; nothing in English. */
function texts(bundle: Readonly<Record<string, string>> | undefined): string {
  if (bundle === undefined) return "";
  const data = JSON.stringify(bundle).replaceAll("<", "\\u003c"); // no text can end the element
  return `  <script type="application/json" id="l10n">${data}</script>\n`;
}
