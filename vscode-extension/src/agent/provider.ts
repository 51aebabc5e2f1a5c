/** Agents in the editor: it learns which servers there are, and the user lets an agent look at a session. */
import * as vscode from "vscode";
import type { Installation } from "../adapter/installation";
import { AGENT_PROVIDER, COMMANDS, DEBUG_TYPE } from "../contributions";
import type { Invitation } from "../protocol/generated";
import { request } from "../sessions/requests";
import { configurationOf, serverOfFolders, serverOfSession, type AgentServer } from "./servers";

/** What newer editors have; older ones still debug. */
interface Newer {
  readonly lm?: {
    readonly registerMcpServerDefinitionProvider?: (
      id: string,
      provider: {
        onDidChangeMcpServerDefinitions: vscode.Event<void>;
        provideMcpServerDefinitions: () => Promise<object[]>;
      },
    ) => vscode.Disposable;
  };
  readonly McpStdioServerDefinition?: new (
    label: string,
    command: string,
    args: string[],
    env: Record<string, string>,
    version: string,
  ) => object;
}

export function registerAgent(installation: Installation): { dispose(): unknown }[] {
  const servers = new AgentServers(installation);
  const provider = register(servers, installation);
  return [
    servers,
    ...(provider ? [provider] : []),
    vscode.commands.registerCommand(COMMANDS.letAgentLook, () => letAgentLook(servers, provider !== undefined)),
  ];
}

/** Tells the editor of the servers; undefined where it cannot be told: the API is missing, or was not open yet. */
function register(servers: AgentServers, installation: Installation): vscode.Disposable | undefined {
  try {
    const { lm, McpStdioServerDefinition: Definition } = vscode as Newer;
    return (
      Definition &&
      lm?.registerMcpServerDefinitionProvider?.(AGENT_PROVIDER, {
        onDidChangeMcpServerDefinitions: servers.onDidChange,
        provideMcpServerDefinitions: async () =>
          (await servers.all()).map(
            (server) =>
              new Definition(nameOf(server), server.command, [...server.args], { ...server.env }, installation.version),
          ),
      })
    );
  } catch {
    // VS Code 1.100 has the functions and throws when an extension without its proposal calls them; 1.101 opened them:
    // https://code.visualstudio.com/updates/v1_101
    return undefined;
  }
}

/** The servers of the open folders, and of the sessions that an agent may look at. */
export class AgentServers implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;

  private readonly invited = new Map<vscode.DebugSession, Invitation>();
  private readonly disposables: { dispose(): unknown }[];

  constructor(private readonly installation: Installation) {
    const change = () => {
      this.changed.fire();
    };
    this.disposables = [
      this.changed,
      installation.onDidChange(change),
      vscode.workspace.onDidChangeWorkspaceFolders(change),
      vscode.debug.onDidTerminateDebugSession((session) => {
        if (this.invited.delete(session)) change();
      }),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  async all(): Promise<AgentServer[]> {
    const folders = vscode.workspace.workspaceFolders ?? [];
    // Nothing of an untrusted workspace is shown to an agent.
    if (!vscode.workspace.isTrusted) return [];
    const { found } = await this.installation.search(folders[0]?.uri);
    if (found === undefined) return [];
    const paths = folders.filter(({ uri }) => uri.scheme === "file").map(({ uri }) => uri.fsPath);
    const sessions = [...this.invited].map(([session, one]) => serverOfSession(found.command, session.name, one));
    return [serverOfFolders(found.command, paths), ...sessions].filter((server) => server !== undefined);
  }

  /** The server through which an agent looks at a session; undefined where no adapter is known that could be it. */
  async invite(session: vscode.DebugSession): Promise<AgentServer | undefined> {
    const invitation = await request(session, "tdb/inviteAgent");
    this.invited.set(session, invitation);
    this.changed.fire();
    const { found } = await this.installation.search(session.workspaceFolder?.uri);
    return found && serverOfSession(found.command, session.name, invitation);
  }
}

/** As the editor lists it. */
function nameOf({ session }: AgentServer): string {
  return session === undefined ? vscode.l10n.t("TDB: compiled models") : vscode.l10n.t("TDB: {0}", session);
}

async function letAgentLook(servers: AgentServers, isRegistered: boolean): Promise<void> {
  const session = vscode.debug.activeDebugSession;
  if (session?.type !== DEBUG_TYPE) {
    void vscode.window.showInformationMessage(vscode.l10n.t("TDB: debug a model first; then an agent can look at it."));
    return;
  }
  const server = await servers.invite(session);
  if (server === undefined) {
    void vscode.window.showErrorMessage(
      vscode.l10n.t("TDB: no server for agents can be started with the command line in tdb.adapter.command."),
    );
    return;
  }
  const copy = vscode.l10n.t("Copy Configuration");
  const text = isRegistered
    ? vscode.l10n.t(
        "TDB: agents find this session as the server '{0}'. They look without moving you; the Debug Console shows where.",
        nameOf(server),
      )
    : vscode.l10n.t("TDB: an agent that is given this configuration looks at this session without moving you.");
  if ((await vscode.window.showInformationMessage(text, copy)) === copy)
    await vscode.env.clipboard.writeText(configurationOf(server));
}
