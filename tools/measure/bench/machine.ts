/** What a run was made on. */
import { cpus, totalmem } from "node:os";
import type { Results } from "./markdown.ts";
import type { PostgresServer } from "./postgres_server.ts";
import postgres from "postgres";

/** The machine and the versions that matter. */
export async function describeMachine(
  server: PostgresServer,
  quick: boolean,
): Promise<Results["machine"]> {
  const sql = postgres(server.url("postgres"), { max: 1 });
  try {
    const [row] = await sql<{ server_version: string }[]>`show server_version`;
    return {
      date: new Date().toISOString().slice(0, 10),
      kind: quick ? "quick run" : "full run",
      processor: cpus()[0]?.model ?? "unknown",
      cores: navigator.hardwareConcurrency,
      memory_mb: Math.round(totalmem() / 2 ** 20),
      system: `${Deno.build.os} ${Deno.osRelease()}`,
      deno: Deno.version.deno,
      postgresql: row!.server_version,
    };
  } finally {
    await sql.end();
  }
}
