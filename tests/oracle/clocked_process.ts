/** A process that serves the API at a given time. */
import { fileURLToPath } from "node:url";
import type { Place } from "../database.ts";

const PROGRAM = fileURLToPath(new URL("./clocked_server.ts", import.meta.url));

/** A running one. */
interface ClockedProcess {
  setClock(now: number): Promise<void>;
  send(windowSeconds: number, path: string, headers: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

/** Starts a process that serves a database with each of these windows. */
export async function startClocked(
  place: Place,
  windows: readonly number[],
): Promise<ClockedProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", PROGRAM, place.databaseUrl ?? "", place.dataDir, windows.join(",")],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const input = child.stdin.getWriter();
  const lines = linesOf(child.stdout);
  const nextLine = async () => {
    const { value } = await lines.next();
    if (value === undefined) throw new Error("the process that serves ended");
    return value;
  };
  const urls = (await nextLine()).split(" ");
  const client = Deno.createHttpClient({});
  return {
    async setClock(now) {
      await input.write(new TextEncoder().encode(`${now}\n`));
      await nextLine();
    },
    send(windowSeconds, path, headers) {
      const url = new URL(path, urls[windows.indexOf(windowSeconds)]);
      return fetch(url, { headers, client });
    },
    async close() {
      client.close();
      await input.close();
      await lines.return(undefined);
      await child.status;
    },
  };
}

async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}
