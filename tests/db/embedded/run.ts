import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("program.ts", import.meta.url));

function command(name: string, dataDir: string): string[] {
  return ["run", "-A", "--quiet", PROGRAM, name, dataDir];
}

/** Runs `program.ts` to its end. */
export async function run(name: string, dataDir: string): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: command(name, dataDir),
    stderr: "inherit",
  }).output();
  return new TextDecoder().decode(stdout);
}

/** A running `program.ts` that is controlled by lines of text. */
export interface Running {
  /** The next line of its standard output; `undefined` at the end. */
  read(): Promise<string | undefined>;
  write(line: string): Promise<void>;
  /** Kills it (`SIGKILL`). */
  kill(): Promise<void>;
  /** Waits for its end. */
  end(): Promise<void>;
}

/** Starts `program.ts`. */
export function start(name: string, dataDir: string): Running {
  const child = new Deno.Command(Deno.execPath(), {
    args: command(name, dataDir),
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const input = child.stdin.getWriter();
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const end = async () => {
    await input.close().catch(() => {});
    await output.cancel();
    await child.status;
  };
  return {
    read: async () => {
      for (;;) {
        const newline = text.indexOf("\n");
        if (newline >= 0) {
          const line = text.slice(0, newline);
          text = text.slice(newline + 1);
          return line;
        }
        const { value, done } = await output.read();
        if (done) return undefined;
        text += value;
      }
    },
    write: (line) => input.write(new TextEncoder().encode(`${line}\n`)),
    kill: async () => {
      child.kill("SIGKILL");
      await end();
    },
    end,
  };
}
