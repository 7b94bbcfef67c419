import { fileURLToPath } from "node:url";
import { PERMISSIONS } from "../../tools/permissions.ts";
import { NO_CI } from "../no_ci.ts";
import { type Ending, follow } from "./child.ts";
import { waitUntil } from "../wait_until.ts";

export type { Ending };

const MAIN = fileURLToPath(new URL("../../main.ts", import.meta.url));

/** How the program is started: a file, the arguments before its own, and the working directory. */
export interface ProgramLine {
  file: string;
  args: string[];
  cwd?: string;
}

/** From source, with the permissions of the compiled program. */
export const FROM_SOURCE: ProgramLine = {
  file: Deno.execPath(),
  args: ["run", ...PERMISSIONS, MAIN],
};

/** The real program as a process, from source by default. */
export function command(
  args: string[],
  { environment, program = FROM_SOURCE, stdin = "null" }: {
    environment: Record<string, string>;
    program?: ProgramLine | undefined;
    stdin?: "null" | "piped";
  },
): Deno.Command {
  return new Deno.Command(program.file, {
    args: [...program.args, ...args],
    ...program.cwd === undefined ? {} : { cwd: program.cwd },
    // Not the database, address or port of the caller's environment.
    env: { ...NO_CI, DATABASE_URL: "", HOST: "", PORT: "", ...environment },
    stdin,
    stdout: "piped",
    stderr: "piped",
  });
}

/** Runs a command and waits for its end. */
export async function run(
  args: string[],
  environment: Record<string, string>,
  program?: ProgramLine,
): Promise<Ending> {
  const { code, stdout, stderr } = await command(args, { environment, program }).output();
  return { code, stdout: decode(stdout), stderr: decode(stderr) };
}

/** A running `serve`, `receive`, `up` or `demo`. */
export interface Running {
  /** Base address, such as `http://127.0.0.1:43703`. */
  url: string;
  /** That for uploads, of `up`. */
  uploadUrl: string;
  pid: number;
  /** Standard output so far. */
  stdout(): string;
  /**
   * Sends a signal unless it has ended, and waits for its end.
   *
   * @throws {Error} at the deadline, in milliseconds, 60 s unless given; see `Child.end`
   */
  stop(signal: Deno.Signal, deadlineMs?: number): Promise<Ending>;
}

/** Starts `serve`, `receive`, `up` or `demo`, and waits until it listens; for `demo` also for its output. */
export async function start(
  args: string[],
  environment: Record<string, string>,
  program?: ProgramLine,
): Promise<Running> {
  let url: string | undefined;
  let uploadUrl = "";
  const { promise: ready, resolve: onReady } = Promise.withResolvers<void>();
  const child = follow(command(args, { environment, program }).spawn(), (stderr) => {
    uploadUrl ||= /^receiving uploads on (http:\/\/\S+)$/m.exec(stderr)?.[1] ?? "";
    url ??= /^listening on (http:\/\/\S+)$/m.exec(stderr)?.[1];
    if (url !== undefined) onReady();
  });
  await Promise.race([ready, child.ending]);
  if (url === undefined) {
    throw new Error(`the program ended: ${JSON.stringify(await child.ending)}`);
  }
  // The address comes first, the token and the rest after it.
  const isShown = () => args[0] !== "demo" || child.stdout().endsWith("\n") || child.isOver();
  await waitUntil("the demo prints what to try", isShown);
  return { url, uploadUrl, pid: child.pid, stdout: child.stdout, stop: child.end };
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
