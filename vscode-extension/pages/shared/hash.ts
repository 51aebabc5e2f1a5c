/** A number from 0 to 65520 that a text keeps, to choose a colour by. */
export function hash(text: string): number {
  const [factor, prime] = [31, 65521];
  let sum = 0;
  for (const character of text) sum = (sum * factor + character.charCodeAt(0)) % prime;
  return sum;
}
