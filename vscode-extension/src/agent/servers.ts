/** Servers for agents, as the editor starts them: without the editor's API, so that they can be tested. */
import { subcommand, type AdapterCommand } from "../adapter/find";
import type { Invitation } from "../protocol/generated";

export interface AgentServer {
  /** Name of the session that it looks at, if it does. */
  readonly session?: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const TOKEN = "TDB_DAP_AGENT_TOKEN";

/** The server that opens models below the open folders; undefined where the adapter's package is not known. */
export function serverOfFolders(adapter: AdapterCommand, folders: readonly string[]): AgentServer | undefined {
  const command = subcommand(adapter, "mcp");
  if (command === undefined || folders.length === 0) return undefined;
  return { command: command.executable, args: [...command.args, "--root", ...folders], env: {} };
}

/** The server that looks at a running session. The token is not among the arguments: lists of processes show those. */
export function serverOfSession(
  adapter: AdapterCommand,
  name: string,
  { address, token }: Invitation,
): AgentServer | undefined {
  const command = subcommand(adapter, "mcp");
  if (command === undefined) return undefined;
  const args = [...command.args, "--join", address];
  return { session: name, command: command.executable, args, env: { [TOKEN]: token } };
}

/** The configuration that most hosts of agents take. */
export function configurationOf({ command, args, env }: AgentServer): string {
  return JSON.stringify({ mcpServers: { "tdb-dap": { command, args, env } } }, undefined, 2);
}
