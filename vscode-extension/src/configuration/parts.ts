/** Which net and stage of a file with several is meant where nothing else says so. */
export interface Part {
  readonly net?: string | undefined;
  readonly stage?: number | undefined;
}

const chosen = new Map<string, Part>();

/** Let this be the part of a program that a session starts with; undefined: its first. */
export function choosePart(program: string, part: Part | undefined): void {
  if (part === undefined) chosen.delete(program);
  else chosen.set(program, part);
}

/** What was chosen, as a launch configuration has it. */
export function chosenPart(program: string): Part {
  const { net, stage } = chosen.get(program) ?? {};
  return { ...(net !== undefined && { net }), ...(stage !== undefined && { stage }) };
}
