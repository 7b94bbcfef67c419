/** A long-running process; only the end of its output is kept. */
import { command } from "../../../tests/e2e/program.ts";

/** A running process. */
interface LongRunning {
  pid: number;
  /** Its base address. @throws {Error} when it does not listen */
  url(): string;
  /** Stops it. @throws {Error} when the exit code is not 0 */
  stop(): Promise<void>;
}

const KEPT_CHARACTERS = 4_000;

/**
 * Starts a command; for `serve` waits until it listens.
 *
 * @param onLine called with each line of standard output
 */
export async function startLongRunning(
  args: string[],
  environment: Record<string, string>,
  onLine: (line: string) => void = () => {},
): Promise<LongRunning> {
  const child = command(args, { environment }).spawn();
  const { promise: begun, resolve: onBegin } = Promise.withResolvers<void>();
  let url: string | undefined;
  let last = "";
  const read = async (
    stream: ReadableStream<Uint8Array<ArrayBuffer>>,
    onLine: (line: string) => void,
  ) => {
    let rest = "";
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      last = (last + text).slice(-KEPT_CHARACTERS);
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      lines.forEach(onLine);
      url ??= /^listening on (http:\/\/\S+)$/m.exec(last)?.[1];
      if (url !== undefined) onBegin();
    }
    onBegin();
  };
  const ended = Promise.all([
    child.status,
    read(child.stdout, onLine),
    read(child.stderr, () => {}),
  ]);
  if (args[0] === "serve") await begun;
  return {
    pid: child.pid,
    url() {
      if (url === undefined) throw new Error(`${args[0]} does not listen: ${last}`);
      return url;
    },
    async stop() {
      child.kill("SIGTERM");
      const [{ code }] = await ended;
      if (code !== 0) throw new Error(`${args[0]} ended with ${code}: ${last}`);
    },
  };
}
