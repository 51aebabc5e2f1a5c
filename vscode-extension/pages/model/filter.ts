/** Which launches of a recorded run a text means. */
import type { ModelLaunch } from "../../src/protocol/generated";

/**
 * Does each word of a text belong to a launch? A number is the beginning of the launch's, another word a part of the
 * net's name or of the shapes.
 */
export function isMeant({ number, net, shapes }: ModelLaunch, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) =>
    /^\d+$/.test(word)
      ? String(number).startsWith(word)
      : net.toLowerCase().includes(word) || shapes.includes(word.replaceAll("x", "×")),
  );
}
