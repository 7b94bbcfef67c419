/**
 * Measures what a statement leaves behind for long garbage collections:
 * `deno run -A --v8-flags=--expose-gc garbage_program.ts URL light|library` prints how many bytes a
 * statement's garbage takes that a short collection does not find.
 *
 * In a process of its own, because only there the garbage can be collected on demand.
 */
import { openDatabase } from "../../db/connection/connect.ts";
import { piece, send } from "../../db/connection/pieces.ts";

const STATEMENTS = 2_000;

const [databaseUrl = "", kind = ""] = Deno.args;
const collectGarbage = Reflect.get(globalThis, "gc") as (options?: { type: "minor" }) => void;
if (typeof collectGarbage !== "function") throw new Error("expected --v8-flags=--expose-gc");

const { sql, close } = await openDatabase({ databaseUrl, dataDir: "" });

async function ask(times: number): Promise<void> {
  for (let number = 0; number < times; number++) {
    if (kind === "light") await send(sql, piece`select ${number}::int as number`);
    else await sql`select ${number}::int as number`;
  }
}

function inUse(): number {
  // What survives twice is taken for old.
  collectGarbage({ type: "minor" });
  collectGarbage({ type: "minor" });
  return Deno.memoryUsage().heapUsed;
}

// Until then functions are compiled.
await ask(STATEMENTS);
collectGarbage();
const before = inUse();
await ask(STATEMENTS);
const bytes = (inUse() - before) / STATEMENTS;
await Deno.stdout.write(new TextEncoder().encode(`${Math.round(bytes)}\n`));
await close();
