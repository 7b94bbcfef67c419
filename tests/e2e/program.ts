import { fileURLToPath } from "node:url";
import { pause } from "../../lib/base/delay.ts";
import { NO_CI } from "../no_ci.ts";
import { type Ending, follow } from "./child.ts";

export type { Ending };

const MAIN = fileURLToPath(new URL("../../main.ts", import.meta.url));

/** How the program is started: a file, what stands before its own arguments, and where. */
export interface ProgramLine {
  file: string;
  args: string[];
  cwd?: string;
}

const FROM_SOURCE: ProgramLine = { file: Deno.execPath(), args: ["run", "-A", MAIN] };

/** The real program, in a process of its own: from source, or as it is told. */
export function command(
  args: string[],
  { environment, program = FROM_SOURCE }: {
    environment: Record<string, string>;
    program?: ProgramLine | undefined;
  },
): Deno.Command {
  return new Deno.Command(program.file, {
    args: [...program.args, ...args],
    ...program.cwd === undefined ? {} : { cwd: program.cwd },
    // Not the tester's own database, address or port.
    env: { ...NO_CI, DATABASE_URL: "", HOST: "", PORT: "", ...environment },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

/** Runs a command to its end. */
export async function run(
  args: string[],
  environment: Record<string, string>,
  program?: ProgramLine,
): Promise<Ending> {
  const { code, stdout, stderr } = await command(args, { environment, program }).output();
  return { code, stdout: decode(stdout), stderr: decode(stderr) };
}

/** A `serve` or `demo` that answers requests. */
export interface Running {
  /** Base address, such as `http://127.0.0.1:43703`. */
  url: string;
  pid: number;
  /** What it has written to standard output so far. */
  stdout(): string;
  /**
   * Sends a signal, unless it has ended, and returns what the program left behind.
   *
   * @throws {Error} at the deadline, in milliseconds, 60 s unless given; see `Child.end`
   */
  stop(signal: Deno.Signal, deadlineMs?: number): Promise<Ending>;
}

/** Starts `serve` or `demo`, and waits until it says that it listens; `demo`, what it has to say. */
export async function start(
  args: string[],
  environment: Record<string, string>,
  program?: ProgramLine,
): Promise<Running> {
  let url: string | undefined;
  const { promise: ready, resolve: onReady } = Promise.withResolvers<void>();
  const child = follow(command(args, { environment, program }).spawn(), (stderr) => {
    url ??= /^listening on (http:\/\/\S+)$/m.exec(stderr)?.[1];
    if (url !== undefined) onReady();
  });
  await Promise.race([ready, child.ending]);
  if (url === undefined) throw new Error(`it ended: ${JSON.stringify(await child.ending)}`);
  // It tells the address first, the token and the rest after it.
  while (args[0] === "demo" && !child.stdout().endsWith("\n") && !child.isOver()) await pause(5);
  return { url, pid: child.pid, stdout: child.stdout, stop: child.end };
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
