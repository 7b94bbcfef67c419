import type { Database } from "../../../db/connection/connect.ts";
import type { CliIo } from "../../../lib/cli/io.ts";
import { runCli } from "../../../lib/cli/program.ts";

/** What a command left behind. */
export interface Ending {
  code: number;
  stdout: string;
  stderr: string;
}

/** 2026-02-01T12:00:00Z, in seconds since 1970: the moment of every test unless it says another. */
export const NOON = 1_769_947_200;

/** Runs commands in this process, on an open database that they do not close. */
export function commandLine(database: () => Database, changes: Partial<CliIo> = {}) {
  return async (argv: string[] | string, more: Partial<CliIo> = {}): Promise<Ending> => {
    let stdout = "";
    let stderr = "";
    const io: CliIo = {
      stdout: (text) => Promise.resolve(void (stdout += text)),
      stderr: (text) => void (stderr += text),
      queueStderr: () => ({ add: (line) => io.stderr(line) }),
      environment: {},
      // Not the checkout of the project, which may have uncommitted changes.
      git: () => Promise.resolve(""),
      now: () => NOON,
      stderrIsTerminal: false,
      stop: new AbortController().signal,
      stopAtOnce: new AbortController().signal,
      openDatabase: () => Promise.resolve({ ...database(), close: () => Promise.resolve() }),
      ...changes,
      ...more,
    };
    const code = await runCli(typeof argv === "string" ? argv.split(" ") : argv, io);
    return { code, stdout, stderr };
  };
}

/** For commands that must end before they open anything. */
export const withoutDatabase = commandLine(() => {
  throw new Error("the database was opened");
});
