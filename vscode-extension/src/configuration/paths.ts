import { isAbsolute, join } from "node:path";

/** Launch arguments that hold one path, or a list of them. */
const PATHS = ["program", "inputs", "reference"] as const;

/**
 * The same configuration with paths relative to `base` made absolute.
 *
 * The adapter's working directory is no place of the user's, so it could not resolve them.
 */
export function withAbsolutePaths<C extends Record<string, unknown>>(configuration: C, base: string | undefined): C {
  if (base === undefined) return configuration;
  const absolute = (value: unknown): unknown =>
    typeof value === "string" && value !== "" && !isAbsolute(value) ? join(base, value) : value;
  const changed: Record<string, unknown> = { ...configuration };
  for (const key of PATHS) {
    const value = changed[key];
    if (value !== undefined) changed[key] = Array.isArray(value) ? value.map(absolute) : absolute(value);
  }
  return changed as C;
}
