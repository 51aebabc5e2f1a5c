import * as vscode from "vscode";

/** A message of the protocol, as far as it is looked into on its way. */
export interface Message {
  readonly seq: number;
  readonly type: string;
  readonly command?: string;
  readonly request_seq?: number;
}

/** The requests that an adapter has not answered yet: nothing waits for ever. */
export class Unanswered {
  private readonly commands = new Map<number, string>();

  /** Note a request on its way to the adapter. */
  sent({ seq, type, command }: Message): void {
    if (type === "request" && command !== undefined) this.commands.set(seq, command);
  }

  /** Note a response, of the adapter or of us. */
  answered({ request_seq }: Pick<Message, "request_seq">): void {
    if (request_seq !== undefined) this.commands.delete(request_seq);
  }

  /** Responses in the place of an adapter that has ended: whoever wants to end the session may, all else is refused. */
  close(): object[] {
    // Said once, by us: VS Code shall not say it again.
    const error = { id: 1, format: vscode.l10n.t("The debug adapter has ended."), showUser: false };
    const responses = [...this.commands].map(([request_seq, command]) => {
      const ends = command === "disconnect" || command === "terminate";
      return { type: "response", request_seq, command, success: ends, message: "ended", body: ends ? {} : { error } };
    });
    this.commands.clear();
    return responses;
  }
}
