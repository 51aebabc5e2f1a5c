/** From what a user types to a program with arguments, and to the name of its recording. */
import { basename, extname } from "node:path";

/** A command line in words, as a shell divides it: quotes hold a word together, a backslash takes the next character. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [whole] of text.matchAll(/(?:\\.|"(?:\\.|[^"\\])*"|'[^']*'|[^\s"'\\])+/gs))
    words.push(
      whole.replace(
        /\\(.)|"((?:\\.|[^"\\])*)"|'([^']*)'/gs,
        (_all, escaped: string | undefined, double: string | undefined, single: string | undefined) =>
          escaped ?? double?.replace(/\\(["\\])/g, "$1") ?? single ?? "",
      ),
    );
  return words;
}

/** A word as it has to be typed for `wordsOf` to give it back. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `"${word.replace(/["\\]/g, "\\$&")}"`;
}

/** `app.tdbrec` of `python3 -u app.py 7`: the script's name where the program only runs it. */
export function recordingOf(program: string, args: readonly string[]): string {
  const isInterpreter = /^(python|pypy)[\d.]*(\.exe)?$/.test(basename(program));
  const script = isInterpreter ? args.find((word) => word.endsWith(".py")) : undefined;
  const name = basename(script ?? program);
  return `${basename(name, extname(name))}.tdbrec`;
}
