import { fileURLToPath } from "node:url";
import { NO_CI } from "../no_ci.ts";

const MAIN = fileURLToPath(new URL("../../main.ts", import.meta.url));

/** What a command left behind. */
export interface Ending {
  code: number;
  stdout: string;
  stderr: string;
}

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
  /** Sends a signal and returns what the program left behind. */
  stop(signal: Deno.Signal): Promise<Ending>;
}

/** Starts `serve` or `demo`, and waits until it says that it listens. */
export async function start(
  args: string[],
  environment: Record<string, string>,
  program?: ProgramLine,
): Promise<Running> {
  const process = command(args, { environment, program }).spawn();
  let url: string | undefined;
  const { promise: ready, resolve: onReady } = Promise.withResolvers<void>();
  const stdout = collect(process.stdout);
  const stderr = collect(process.stderr, (text) => {
    url ??= /^listening on (http:\/\/\S+)$/m.exec(text)?.[1];
    if (url !== undefined) onReady();
  });
  const ending = Promise.all([process.status, stdout.done, stderr.done])
    .then(([{ code }]) => ({ code, stdout: stdout.text(), stderr: stderr.text() }));
  await Promise.race([ready, ending]);
  if (url === undefined) throw new Error(`it ended: ${JSON.stringify(await ending)}`);
  return {
    url,
    pid: process.pid,
    stdout: stdout.text,
    stop(signal) {
      process.kill(signal);
      return ending;
    },
  };
}

function collect(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  onText: (all: string) => void = () => {},
): { text: () => string; done: Promise<void> } {
  let all = "";
  const done = (async () => {
    for await (const part of stream.pipeThrough(new TextDecoderStream())) {
      all += part;
      onText(all);
    }
  })();
  return { text: () => all, done };
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
