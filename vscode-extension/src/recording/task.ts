/** Tasks that record a program: `tdb-dap record` in the terminal. */
import { statSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import { subcommand } from "../adapter/find";
import type { Installation } from "../adapter/installation";
import { TASK_TYPE } from "../contributions";
import { recordingOf } from "./words";

/** The program to record, in launch.json and in tasks.json. */
export interface RecordedProgram {
  readonly program: string;
  readonly args?: readonly string[] | undefined;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** A task of tasks.json. `output`: the recording; by default it is called after the program. */
interface Definition extends vscode.TaskDefinition {
  readonly record?: RecordedProgram;
  readonly output?: string;
}

export function registerRecordTasks(installation: Installation): vscode.Disposable[] {
  return [
    vscode.tasks.registerTaskProvider(TASK_TYPE, {
      // Which programs are to be recorded is known only from tasks.json.
      provideTasks: () => [],
      async resolveTask(task) {
        const { definition, scope } = task;
        const { record, output } = definition as Definition;
        if (record === undefined) return undefined;
        const folder = typeof scope === "object" ? scope : undefined;
        const made = await execution(record, output, folder, installation);
        if (made === undefined) return undefined;
        return new vscode.Task(definition, scope ?? vscode.TaskScope.Workspace, task.name, TASK_TYPE, made);
      },
    }),
  ];
}

/** What the task runs; undefined where there is no debugger, which has been said. */
async function execution(
  { program, args = [], cwd, env }: RecordedProgram,
  output: string | undefined,
  folder: vscode.WorkspaceFolder | undefined,
  installation: Installation,
): Promise<vscode.ProcessExecution | undefined> {
  const found = await installation.locate(folder?.uri);
  if (found === undefined) return undefined;
  const command = subcommand(found, "record");
  if (command === undefined) {
    void vscode.window.showErrorMessage(
      vscode.l10n.t(
        "TDB: nothing can be recorded with the command line in tdb.adapter.command; run 'tdb-dap record' where that adapter runs, and open the recording.",
      ),
    );
    return undefined;
  }
  const directory = cwd ?? folder?.uri.fsPath;
  const file = output ?? join(directory ?? "", recordingOf(program, args));
  const words = [...command.args, "-o", file, "--", program, ...args];
  return new vscode.ProcessExecution(command.executable, words, {
    ...(directory !== undefined && { cwd: directory }),
    ...(env && { env: { ...env } }),
  });
}

/** Record a program in the terminal, and wait for its end. True if there is a recording of it now. */
export async function record(
  recorded: RecordedProgram,
  output: string,
  folder: vscode.WorkspaceFolder | undefined,
  installation: Installation,
): Promise<boolean> {
  const made = await execution(recorded, output, folder, installation);
  if (made === undefined) return false;
  const definition: Definition = { type: TASK_TYPE, record: recorded, output };
  const name = vscode.l10n.t("record {0}", [recorded.program, ...(recorded.args ?? [])].join(" "));
  const task = new vscode.Task(definition, folder ?? vscode.TaskScope.Workspace, name, TASK_TYPE, made);
  task.presentationOptions = { clear: true, reveal: vscode.TaskRevealKind.Always };
  const before = stamp(output);
  const code = await ended(task);
  // The user has ended it, and knows.
  if (code === undefined) return false;
  if (stamp(output) === before) {
    void vscode.window.showErrorMessage(
      vscode.l10n.t("TDB: nothing was recorded of {0}; the terminal says why.", recorded.program),
    );
    return false;
  }
  if (code !== 0)
    void vscode.window.showWarningMessage(
      vscode.l10n.t("TDB: the program ended with exit code {0}; the recording goes up to there.", code),
    );
  return true;
}

/** When a file was last written; undefined if there is none. */
function stamp(file: string): string | undefined {
  try {
    const { mtimeMs, size, ino } = statSync(file);
    return [mtimeMs, size, ino].join();
  } catch {
    return undefined;
  }
}

/** The exit code of a task, once it has ended; undefined of one that was ended, or could not be started. */
async function ended(task: vscode.Task): Promise<number | undefined> {
  let started: vscode.TaskExecution | undefined;
  const over = new Map<vscode.TaskExecution, number | undefined>();
  let look: () => void = () => undefined;
  const listening = [
    vscode.tasks.onDidEndTaskProcess(({ execution, exitCode }) => {
      over.set(execution, exitCode);
      look();
    }),
    // It comes after the one above, or alone.
    vscode.tasks.onDidEndTask(({ execution }) => {
      if (!over.has(execution)) over.set(execution, undefined);
      look();
    }),
  ];
  try {
    started = await vscode.tasks.executeTask(task);
    const own = started;
    await new Promise<void>((resolve) => {
      look = () => {
        if (over.has(own)) resolve();
      };
      look();
    });
    return over.get(own);
  } finally {
    for (const one of listening) one.dispose();
  }
}
