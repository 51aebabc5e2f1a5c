/** Texts of the pages in the language of the editor. Where one is not translated, it stays in English. */

type Bundle = Readonly<Partial<Record<string, string>>>;

/** What is used of the page; unit tests have none. */
interface Page {
  readonly document?: { getElementById(id: string): { readonly textContent: string | null } | null };
}

let bundle: Bundle | undefined;

/** The translation of a message, with arguments in place of `{0}`, `{1}` and so on. */
export function t(message: string, ...args: readonly (string | number)[]): string {
  return inserted(message, ...args).join("");
}

/** The same in pieces, for arguments that are elements: the text between them, and they. */
export function inserted<Piece>(message: string, ...args: readonly Piece[]): (Piece | string)[] {
  bundle ??= load();
  // Every second piece is the number of an argument.
  return (bundle[message] ?? message)
    .split(/\{(\d+)\}/)
    .map((piece, i) => (i % 2 === 0 ? piece : (args[Number(piece)] ?? `{${piece}}`)))
    .filter((piece) => piece !== "");
}

/** The translations by their English text that the extension has put into the page (src/panels/frame.ts). */
function load(): Bundle {
  const text = (globalThis as Page).document?.getElementById("l10n")?.textContent;
  return typeof text === "string" ? (JSON.parse(text) as Bundle) : {};
}
