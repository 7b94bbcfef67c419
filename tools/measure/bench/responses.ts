/** The program's responses: stored for contestants that serve the same bytes, and compared. */
import { openDatabase } from "../../../db/connection/connect.ts";
import type { Measured, Target } from "./load.ts";
import type { Contestant } from "./processes.ts";
import type { Scenario } from "./scenario.ts";

/** The request of a path to a contestant, with the token of the scenario. */
export function target(scenario: Scenario, contestant: Contestant, path: string): Target {
  return {
    url: `${contestant.url}${path}`,
    headers: { authorization: `Bearer ${scenario.token}` },
  };
}

/** Sends one request. @throws {Error} when it is not a success */
export async function ask({ url, headers, body }: Target): Promise<Response> {
  const response = await fetch(
    url,
    body === undefined ? { headers } : {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body,
    },
  );
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response;
}

/** Stores the program's current responses to these paths, for contestants that only serve bytes. */
export async function storeResponses(
  scenario: Scenario,
  program: Contestant,
  paths: readonly string[],
): Promise<void> {
  const database = await openDatabase({ databaseUrl: scenario.databaseUrl, dataDir: "" });
  try {
    await database.sql`
      create table if not exists bench_answer
        (path text primary key, media_type text not null, body text not null)`;
    for (const path of paths) {
      const response = await ask(target(scenario, program, path));
      await database.sql`
        insert into bench_answer
        values (${path}, ${response.headers.get("content-type")}, ${await response.text()})
        on conflict (path) do update set body = excluded.body`;
    }
    await database.sql`analyze bench_answer`;
  } finally {
    await database.close();
  }
}

/** @throws {Error} when two contestants respond with different bytes, or with none */
export async function checkSameBytes(
  scenario: Scenario,
  { one, other, path }: { one: Contestant; other: Contestant; path: string },
): Promise<void> {
  const bodies: string[] = [];
  for (const contestant of [one, other]) {
    bodies.push(await (await ask(target(scenario, contestant, path))).text());
  }
  if (bodies[0] !== bodies[1] || !bodies[0]) throw new Error(`${path}: the answers differ`);
}

// The head of a response, and what the end of a slice cut off.
const HEAD_BYTES = 2_000;

/** @throws {Error} when slices delivered less than the body that was checked, or much more */
export async function checkSizes(target: Target, slices: readonly Measured[]): Promise<void> {
  const { byteLength } = await (await ask(target)).arrayBuffer();
  for (const { bytes } of slices) {
    if (bytes < byteLength * 0.98 || bytes > byteLength + HEAD_BYTES) {
      throw new Error(`${target.url}: responses of ${bytes} bytes, the body has ${byteLength}`);
    }
  }
}
