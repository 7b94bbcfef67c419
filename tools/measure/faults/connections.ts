/** Clients that say nothing, are slow, or go away in the middle. */
import { fileURLToPath } from "node:url";
import { Random } from "../bench/random.ts";
import { type ProgramLine, type Running, start } from "../../../tests/e2e/program.ts";
import type { FaultOptions } from "./main.ts";
import { latencies, latencyText, type Usage, usageOf, usageText } from "./measure.ts";
import { createRunDatabase, type RunDatabase } from "./run_database.ts";
import { startProber } from "./prober.ts";
import { type Row, seconds, spread, tallyText } from "./row.ts";
import { SystemUnderTest } from "./system_under_test.ts";
import { pause } from "../../../lib/base/delay.ts";

const IDLE_CONNECTIONS = 5_000;

/** Clients of each slow kind. */
const SLOW_CLIENTS = 300;
const SLOW_SECONDS = 30;

/** Those that read slowly: what waits for each of them in the system's buffers is some megabytes. */
const SLOW_READERS = 50;

/** Requests that a slow reader sends at once: what comes back is more than those buffers hold. */
const PIPELINED = 40;

const CUT_REQUESTS = 10_000;
const CUT_AT_ONCE = 40;

/** Memory that grows from round to round would be lost. */
const CUT_ROUNDS = 4;

/** Handles of a service that has too few of them. */
const FEW_HANDLES = 256;

const LATENCY_REQUESTS = 500;

/** Connections that may be kept for later. */
const KEPT_HANDLES = 8;

/** How long the system takes to notice what was closed. */
const SETTLE_MS = 2_000;

const MAIN = fileURLToPath(new URL("../../../main.ts", import.meta.url));

/** The service under load, and the request that all clients send. */
interface Target {
  running: Running;
  runDatabase: RunDatabase;
  /** Address of a page of tests. */
  page: string;
}

/** Idle connections, slow clients, cut requests, and more connections than handles. */
export async function connectionFaults({ say, databases }: FaultOptions): Promise<Row[]> {
  if (Deno.build.os !== "linux" || databases.length === 0) {
    say("connections: left out, expected Linux and a database");
    return [];
  }
  const [kind = "embedded"] = databases.toReversed();
  const system = await SystemUnderTest.on(await createRunDatabase(kind), new Random(1));
  try {
    await system.newRepository(2_000);
    const rows: Row[] = [];
    for (const fault of [idle, slowHeaders, slowReaders, cut, tooMany]) {
      const few: ProgramLine = {
        file: "sh",
        args: [
          "-c",
          `ulimit -n ${FEW_HANDLES}; exec "$0" "$@"`,
          ...[Deno.execPath(), "run", "-A", MAIN],
        ],
      };
      const running = await start(
        ["serve", "--port", "0", "--log-level", "warn"],
        system.runDatabase.environment,
        ...fault === tooMany ? [few] : [],
      );
      try {
        const page = `${running.url}/api/repos/${system.repository}/tests`;
        rows.push(await fault({ running, runDatabase: system.runDatabase, page }));
        say(JSON.stringify(rows.at(-1)));
      } finally {
        await running.stop("SIGTERM");
      }
    }
    return rows;
  } finally {
    await system.remove();
  }
}

async function idle(target: Target): Promise<Row> {
  const { page, running, runDatabase: { token } } = target;
  const measure = () => latencies(page, { token, count: LATENCY_REQUESTS });
  await measure();
  const usages = [await usageOf(running.pid)];
  const taken = [await measure()];
  const connections: Deno.Conn[] = [];
  try {
    for (let count = 0; count < IDLE_CONNECTIONS; count++) {
      const connection = await connect(running);
      connections.push(connection);
      // Some have said nothing yet, others are in the middle of a word.
      if (count % 2 === 0) await connection.write(encode("GET /api HTTP/1.1\r\nHost: x\r\nX-A: "));
    }
    await pause(SETTLE_MS);
    usages.push(await usageOf(running.pid));
    taken.push(await measure());
  } finally {
    for (const connection of connections) connection.close();
  }
  const closedAt = performance.now();
  const recoveryMs = await untilHandles(running, usages[0]!, closedAt);
  usages.push(await usageOf(running.pid));
  taken.push(await measure());
  return row(target, "5,000 idle connections, half of them in a header", {
    tries: IDLE_CONNECTIONS,
    seen: `all requests answered, in ${taken.map(latencyText).join(", ")} ` +
      `(median/99th, before, during, after); ${usageText(usages)}`,
    recovery: `handles ${seconds(recoveryMs)}`,
  });
}

async function slowHeaders(target: Target): Promise<Row> {
  const { page, running, runDatabase: { token } } = target;
  const measure = () => latencies(page, { token, count: LATENCY_REQUESTS });
  await measure();
  const usages = [await usageOf(running.pid)];
  const taken = [await measure()];
  const connections = await Promise.all(
    Array.from({ length: SLOW_CLIENTS }, () => connect(running)),
  );
  let answered = 0;
  try {
    await Promise.all(
      connections.map((one) => one.write(encode("GET /api HTTP/1.1\r\nHost: x\r\nX-A: "))),
    );
    for (let second = 0; second < SLOW_SECONDS; second++) {
      await Promise.all(connections.map((one) => one.write(encode("x"))));
      await pause(1_000);
    }
    usages.push(await usageOf(running.pid));
    taken.push(await measure());
    // They are answered in the end.
    await Promise.all(connections.map(async (one) => {
      await one.write(encode(`\r\nAuthorization: Bearer ${token}\r\n\r\n`));
      if (/^HTTP\/1\.1 204/.test(await readSome(one))) answered++;
    }));
  } finally {
    for (const connection of connections) connection.close();
  }
  const recoveryMs = await untilHandles(running, usages[0]!, performance.now());
  usages.push(await usageOf(running.pid));
  return row(target, `a header byte per second, for ${SLOW_SECONDS} s`, {
    tries: SLOW_CLIENTS,
    seen: `${answered} slow clients answered in the end; others in ` +
      `${taken.map(latencyText).join(", ")} (before, during); ${usageText(usages)}`,
    recovery: `handles ${seconds(recoveryMs)}`,
  });
}

async function slowReaders(target: Target): Promise<Row> {
  const { page, running, runDatabase: { token } } = target;
  const measure = () => latencies(page, { token, count: LATENCY_REQUESTS });
  await measure();
  const usages = [await usageOf(running.pid)];
  const taken = [await measure()];
  const connections = await Promise.all(
    Array.from({ length: SLOW_READERS }, () => connect(running)),
  );
  try {
    const { pathname } = new URL(page);
    const request = `GET /docs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    const last = `GET ${pathname} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    // A client that does not read responses is not read from either.
    const sending = connections.map((one) =>
      one.write(encode(request.repeat(PIPELINED) + last)).catch(() => 0)
    );
    for (let second = 0; second < SLOW_SECONDS / 2; second++) {
      await Promise.all(connections.map((one) => readSome(one, 1_000)));
      await pause(1_000);
    }
    usages.push(await usageOf(running.pid));
    taken.push(await measure());
    for (const connection of connections) connection.close();
    await Promise.all(sending);
  } catch (error) {
    for (const connection of connections) connection.close();
    throw error;
  }
  const recoveryMs = await untilHandles(running, usages[0]!, performance.now());
  usages.push(await usageOf(running.pid));
  taken.push(await measure());
  return row(target, `${PIPELINED} large answers each to clients that read 1 kB per second`, {
    tries: SLOW_READERS,
    seen: `others answered in ${taken.map(latencyText).join(", ")} (before, during, after); ` +
      usageText(usages),
    recovery: `handles ${seconds(recoveryMs)}`,
  });
}

async function cut(target: Target): Promise<Row> {
  const { page, running, runDatabase: { token } } = target;
  await latencies(page, { token, count: LATENCY_REQUESTS });
  const usages = [await usageOf(running.pid)];
  const { pathname } = new URL(page);
  const prober = startProber(() => ({ url: running.url, token }), { target: pathname });
  const head = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`;
  /** Ways to go away; closing with an unread response resets the connection. */
  const ways: ((connection: Deno.Conn) => Promise<unknown>)[] = [
    // In the middle of a header, with an orderly end, then with a reset.
    (one) => one.write(encode(head("/api"))),
    async (one) => {
      await one.write(encode(`${head("/health")}\r\n`));
      await pause(5);
      await one.write(encode(head("/api")));
    },
    // While the answer is made.
    (one) => one.write(encode(`${head(pathname)}\r\n`)),
    // In the middle of a large answer: what is left of it cannot be sent.
    async (one) => {
      await one.write(encode(`${head("/docs")}\r\n`.repeat(PIPELINED)));
      await readSome(one, 100);
    },
  ];
  for (let round = 0; round < CUT_ROUNDS; round++) {
    let number = 0;
    await Promise.all(Array.from({ length: CUT_AT_ONCE }, async () => {
      while (number < CUT_REQUESTS) {
        const way = ways[number++ % ways.length]!;
        const connection = await connect(running);
        try {
          await way(connection);
        } finally {
          connection.close();
        }
      }
    }));
    await pause(SETTLE_MS);
    usages.push(await usageOf(running.pid));
  }
  const { tally, longestGapMs } = await prober.stop();
  await latencies(page, { token, count: LATENCY_REQUESTS });
  return row(
    target,
    "requests cut in headers, while answered, in an answer; half of them with a reset",
    {
      tries: CUT_ROUNDS * CUT_REQUESTS,
      seen: `others: ${tallyText(tally)}, longest without an answer ${seconds(longestGapMs)}; ` +
        `${usageText(usages)} (before, after each 10,000)`,
      recovery: "none needed",
    },
  );
}

async function tooMany(target: Target): Promise<Row> {
  const { page, running, runDatabase: { token } } = target;
  const { pathname } = new URL(page);
  const address = () => ({ url: running.url, token });
  const prober = startProber(address, { target: pathname, keepsConnections: false });
  const recoveryMs: number[] = [];
  const rounds = 10;
  await prober.untilRight();
  for (let round = 0; round < rounds; round++) {
    const connections: Deno.Conn[] = [];
    try {
      // Refused from the moment on at which it has no more handles.
      while (connections.length < 4 * FEW_HANDLES) connections.push(await connect(running));
    } catch {
      // As it should be.
    }
    const cutAt = await untilCut(connections[0]!);
    await prober.untilRight();
    recoveryMs.push(performance.now() - cutAt);
    for (const connection of connections) connection.close();
  }
  const { tally, longestGapMs } = await prober.stop();
  return row(target, `more connections than handles (${FEW_HANDLES}), which stay open`, {
    tries: rounds,
    seen: `${tallyText(tally)}; longest without an answer ${seconds(longestGapMs)}`,
    recovery: spread(recoveryMs),
  });
}

/** Waits until the service ends a connection on which nothing was said; returns the moment. */
async function untilCut(connection: Deno.Conn): Promise<number> {
  const timer = setTimeout(() => connection.close(), 30_000);
  await connection.read(new Uint8Array(1)).catch(() => null);
  clearTimeout(timer);
  return performance.now();
}

/** Waits until the service has let go of what clients have closed; returns how long it took. */
async function untilHandles(running: Running, before: Usage, since: number): Promise<number> {
  for (;;) {
    const { handles } = await usageOf(running.pid);
    // Kept-alive connections of ours and of the pool to the database come and go.
    if (handles <= before.handles + KEPT_HANDLES) return performance.now() - since;
    if (performance.now() - since > 60_000) {
      throw new Error(`${handles} handles are left open, of ${before.handles} before`);
    }
    await pause(20);
  }
}

function row(
  { runDatabase }: Target,
  fault: string,
  { tries, seen, recovery }: { tries: number; seen: string; recovery: string },
): Row {
  return { fault, database: runDatabase.kind, tries, seen, lost: "nothing", recovery };
}

function connect(running: Running): Promise<Deno.TcpConn> {
  const { hostname, port } = new URL(running.url);
  return Deno.connect({ hostname, port: Number(port) });
}

async function readSome(connection: Deno.Conn, bytes = 4_096): Promise<string> {
  const buffer = new Uint8Array(bytes);
  const count = await connection.read(buffer).catch(() => null);
  return new TextDecoder().decode(buffer.subarray(0, count ?? 0));
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
