/** The rows of a table about a model: which are meant by a text, and in which order they stand. */
import type { ModelLaunch } from "../../src/protocol/generated";
import type { Order } from "../shared/order";

/** What a table is sorted by: the values of a column, numbers or texts. */
export interface Field<Item> {
  readonly title: string;
  readonly isNumber?: boolean;
  readonly value: (item: Item) => string | number;
}

/** In the order of a column, else as they came. Texts with numbers are in the order of these: `conv2`, `conv10`. */
export function sorted<Item>(
  fields: readonly Field<Item>[],
  items: readonly Item[],
  order: Order<string> | undefined,
): readonly Item[] {
  const field = fields.find(({ title }) => title === order?.column);
  if (order === undefined || field === undefined) return items;
  const sign = order.isDescending ? -1 : 1;
  return [...items].sort((one, other) => sign * compared(field.value(one), field.value(other)));
}

function compared(one: string | number, other: string | number): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other), "en", { numeric: true });
}

/** Whether each word of a text is in one of the values of an item. */
export function hasWords<Item>(fields: readonly Field<Item>[], item: Item, text: string): boolean {
  const values = fields.map(({ value }) => String(value(item)).toLowerCase());
  return wordsOf(text).every((word) => values.some((value) => value.includes(word)));
}

/**
 * Does each word of a text belong to a launch? A number is the beginning of the launch's, another word a part of the
 * net's name or of the shapes.
 */
export function isMeant({ number, net, shapes }: ModelLaunch, text: string): boolean {
  return wordsOf(text).every((word) =>
    /^\d+$/.test(word)
      ? String(number).startsWith(word)
      : net.toLowerCase().includes(word) || shapes.includes(word.replaceAll("x", "×")),
  );
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}
