/** The command `mcp` in a process of its own, spoken to line by line. */
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../main.ts", import.meta.url));

/** How a client starts the agent tool server. */
export const TOOL_SERVER = { command: Deno.execPath(), args: ["run", "-A", MAIN, "mcp"] };

/** An answer of the protocol. */
interface Answer {
  id?: number;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
}

/** A running agent tool server. */
interface ToolProcess {
  /** Sends a message; requests get the numbers 1, 2, 3... */
  send(method: string, params?: object): Promise<void>;
  /** The next line of standard output, which must be JSON. */
  receive(): Promise<Answer>;
  closeInput(): Promise<void>;
  kill(signal: Deno.Signal): void;
  /** Waits for its end: what it left behind. */
  end(): Promise<{ code: number; rest: string; stderr: string }>;
}

/** Starts it with these variables and none of the tester's own. */
export function startToolProcess(environment: Record<string, string>): ToolProcess {
  const process = new Deno.Command(TOOL_SERVER.command, {
    args: TOOL_SERVER.args,
    env: { PLATFORM_API_TOKEN: "", PLATFORM_API_URL: "", ...environment },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = process.stdin.getWriter();
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const stderr = new Response(process.stderr).text();
  let buffer = "";
  let sent = 0;

  async function readMore(): Promise<boolean> {
    const { done, value = "" } = await reader.read();
    buffer += value;
    return !done;
  }
  return {
    async send(method, params) {
      const id = method.startsWith("notifications/") ? {} : { id: ++sent };
      const line = JSON.stringify({ jsonrpc: "2.0", ...id, method, params });
      await writer.write(new TextEncoder().encode(`${line}\n`));
    },
    async receive() {
      while (!buffer.includes("\n")) {
        if (!await readMore()) throw new Error(`it ended after ${JSON.stringify(buffer)}`);
      }
      const end = buffer.indexOf("\n");
      const line = buffer.slice(0, end);
      buffer = buffer.slice(end + 1);
      return JSON.parse(line);
    },
    closeInput: () => writer.close(),
    kill: (signal) => process.kill(signal),
    async end() {
      while (await readMore());
      await writer.close().catch(() => {});
      const { code } = await process.status;
      return { code, rest: buffer, stderr: await stderr };
    },
  };
}
