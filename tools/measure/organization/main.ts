/**
 * Looks at every page of an organization with 60 repositories, 40 owners, 500 flaky tests and 5,000
 * builds, and at all guides: size, time, axe-core in both schemes at two widths, and pictures.
 *
 *     deno task measure organization --database postgres://.../empty --pictures /tmp/pictures
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import axe from "axe-core";
import type { Browser } from "playwright-core";
import postgres from "postgres";
import { openDatabase } from "../../../db/connection/connect.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { DOCUMENT_PATHS } from "../../../lib/http/documentation/documents.ts";
import { launch } from "../../../tests/e2e/browser.ts";
import { taskOptions } from "../../../tests/task_options.ts";
import { cpuMilliseconds } from "../bench/cpu.ts";
import { startProgram } from "../bench/processes.ts";
import { median } from "../bench/slices.ts";
import { generateOrganization } from "./generate.ts";

const USAGE = `
Usage: deno task measure organization --database URL [--token TOKEN] [--pictures FOLDER] [--quick]

  --database URL     an empty database of a PostgreSQL server on this machine
  --token TOKEN      of an earlier run, whose database is used again
  --pictures FOLDER  pictures of all pages, in both schemes, at 390 and 1280 pixels
  --quick            sizes and times only
`;

const EXAMPLE =
  "deno task measure organization --database postgres://postgres:secret@127.0.0.1/organization";

const COLD_PROCESSES = 3;
const REPEATS = 15;
/** Chromium draws no longer pictures, such as of the whole reference on a phone. */
const MAX_PICTURE_HEIGHT = 12_000;
const VIEWS = (["light", "dark"] as const).flatMap((colorScheme) =>
  [390, 1280].map((width) => ({ colorScheme, width }))
);

interface Row {
  page: string;
  /** Compressed, style sheet included. */
  kB: number;
  /** The first request of a process, after one that opens the connection. */
  coldMs: number;
  /** Processor time of that request: of the program, and of the server for its connections. */
  coldCpuMs: number;
  coldServerMs: number;
  againMs: number;
  /** What axe-core finds, pixels beyond the width, and rows of more than one line, in each view. */
  problems: string[];
}

const options = taskOptions((args) => {
  const { values } = parseArgs({
    args,
    options: {
      database: { type: "string" },
      token: { type: "string" },
      pictures: { type: "string" },
      quick: { type: "boolean", default: false },
    },
  });
  if (!values.database) throw new Error("--database is missing");
  return { ...values, database: values.database };
}, { usage: USAGE, example: EXAMPLE });

const note = (line: string) => void process.stderr.write(`${line}\n`);

async function filled(databaseUrl: string): Promise<string> {
  const database = await openDatabase({ databaseUrl, dataDir: "" });
  try {
    await migrate(database.sql);
    const now = Math.floor(Date.now() / 1000);
    const { token, ...counts } = await generateOrganization(database, { now, report: note });
    note(`${JSON.stringify(counts)}; again with --token ${token}`);
    return token;
  } finally {
    await database.close();
  }
}

function authorization(token: string) {
  return { authorization: `Bearer ${token}` };
}

async function get(url: string, token: string): Promise<string> {
  const response = await fetch(url, { headers: authorization(token) });
  const body = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${body}`);
  return body;
}

/** One address of every kind of page, by name. */
async function paths(url: string, token: string): Promise<Record<string, string>> {
  const read = async (path: string) => JSON.parse(await get(url + path, token));
  const repository = "/repos/acme/checkout-service";
  const { tests } = await read(`/api${repository}/tests?limit=100`);
  const long = tests.find(({ name }: { name: string }) => name.length > 300);
  const { submissions } = await read(`/api${repository}/submissions?limit=100`);
  const failed = await get(`${url}${repository}/builds.ndjson?days=90&outcome=failed`, token);
  const [outage] = failed.trim().split("\n").map((line) => JSON.parse(line))
    .filter((build) => build.failed_test_count > 20);
  return {
    repositories: "/repos",
    large: "/repos/acme/cart-service",
    repository,
    branches: "/flaky-tests?repository=acme/cart-service&quarantine=false&branch=main",
    slow: `${repository}/slow-tests`,
    builds: `${repository}/builds`,
    build: `${repository}/builds/${submissions[0].id}`,
    outage: `${repository}/builds/${outage.id}`,
    flaky: "/flaky-tests?quarantine=false",
    quarantined: "/flaky-tests",
    tests: "/tests?q=cart",
    nothing: "/tests?q=nothing-of-this-name",
    test: `/tests/${tests[0].id}`,
    ...long && { long: `/tests/${long.id}` },
    owners: "/owners",
    owner: "/owners/@acme/team-1",
    guides: "/docs/guides",
    guide: "/docs/guides/ci",
    docs: "/docs",
  };
}

/** The addresses of all guides and of the reference, by name. */
const GUIDES = Object.fromEntries(
  DOCUMENT_PATHS.map((path) => [path.replace("/", "_"), `/docs/${path}`]),
);

async function timed(url: string, token: string): Promise<{ ms: number; body: string }> {
  const started = performance.now();
  const body = await get(url, token);
  return { ms: performance.now() - started, body };
}

async function measure(
  found: Record<string, string>,
  { database, token }: { database: string; token: string },
): Promise<Row[]> {
  const rows: Row[] = [];
  const sql = postgres(database, { max: 1 });
  /** Milliseconds of processor time of all other connections to the database. */
  const serverMs = async () => {
    const connections = await sql<{ pid: number }[]>`
      select pid from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`;
    const times = await Promise.all(connections.map(({ pid }) => cpuMilliseconds(pid)));
    return times.reduce((sum, ms) => sum + ms, 0);
  };
  for (const [page, path] of Object.entries(found)) {
    const cold: { ms: number; cpuMs: number; serverMs: number }[] = [];
    const again: number[] = [];
    let bytes = 0;
    for (let no = 0; no < COLD_PROCESSES; no++) {
      const program = await startProgram(database);
      try {
        // As many requests as there are connections.
        await Promise.all(Array.from({ length: 8 }, () => get(`${program.url}/api`, token)));
        const before = [await cpuMilliseconds(program.pid), await serverMs()] as const;
        const first = await timed(program.url + path, token);
        cold.push({
          ms: first.ms,
          cpuMs: await cpuMilliseconds(program.pid) - before[0],
          serverMs: await serverMs() - before[1],
        });
        bytes = gzipSync(first.body).length;
        for (let repeat = 0; repeat < REPEATS; repeat++) {
          again.push((await timed(program.url + path, token)).ms);
        }
      } finally {
        await program.stop();
      }
    }
    const middle = (name: "ms" | "cpuMs" | "serverMs") => median(cold.map((one) => one[name]));
    rows.push({
      page,
      kB: bytes / 1000,
      coldMs: middle("ms"),
      coldCpuMs: middle("cpuMs"),
      coldServerMs: middle("serverMs"),
      againMs: median(again),
      problems: [],
    });
  }
  await sql.end();
  return rows;
}

/** The number of rows with more than one line in tables that have one line a row on a wide screen. */
const TALL_ROWS =
  "[...document.querySelectorAll('.dense tbody tr')].filter((row) => row.clientHeight > 40).length";

/** Opens a page in every view. */
async function look(
  browser: Browser,
  { url, path, token, picture }: { url: string; path: string; token: string; picture?: string },
): Promise<string[]> {
  const problems: string[] = [];
  for (const { colorScheme, width } of VIEWS) {
    const context = await browser.newContext({
      httpCredentials: { username: "any", password: token },
      colorScheme,
      viewport: { width, height: 900 },
      bypassCSP: true,
    });
    const page = await context.newPage();
    await page.goto(url + path);
    const view = `${colorScheme} ${width}`;
    const beyond = await page.evaluate<number>(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );
    if (beyond > 0) problems.push(`${view}: ${beyond} px beyond the width`);
    const tall = await page.evaluate<number>(TALL_ROWS);
    if (width === 1280 && tall > 0) problems.push(`${view}: ${tall} rows of several lines`);
    if (picture) {
      const file = `${picture}_${colorScheme}_${width}.png`;
      const length = await page.evaluate<number>("document.documentElement.scrollHeight");
      const clip = { x: 0, y: 0, width, height: Math.min(length, MAX_PICTURE_HEIGHT) };
      await page.screenshot({ path: file, fullPage: true, clip });
    }
    await page.evaluate(axe.source);
    const violations = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
      "axe.run().then(({ violations }) => violations)",
    );
    problems.push(...violations.map(({ id, nodes }) => `${view}: ${id}: ${nodes[0]?.html}`));
    await context.close();
  }
  return problems;
}

/** Prints of each guide its size, and what is wrong with it in any view. */
async function lookAtGuides(
  browser: Browser,
  { url, token, pictures }: { url: string; token: string; pictures: string | undefined },
): Promise<void> {
  for (const [page, path] of Object.entries(GUIDES)) {
    const kB = gzipSync(await get(url + path, token)).length / 1000;
    const picture = pictures && join(pictures, page);
    const problems = await look(browser, { url, path, token, ...picture && { picture } });
    process.stdout.write(
      `${page.padEnd(30)} ${kB.toFixed(1).padStart(5)} kB  ${problems.join("; ") || "ok"}\n`,
    );
  }
}

async function main({ database, pictures, quick, token: known }: typeof options): Promise<void> {
  const token = known ?? await filled(database);
  const program = await startProgram(database);
  const browser = quick ? null : await launch();
  try {
    const found = await paths(program.url, token);
    if (pictures) await Deno.mkdir(pictures, { recursive: true });
    const rows = await measure(found, { database, token });
    if (browser) await lookAtGuides(browser, { url: program.url, token, pictures });
    for (const row of browser ? rows : []) {
      const picture = pictures && join(pictures, row.page);
      row.problems = await look(browser!, {
        url: program.url,
        path: found[row.page]!,
        token,
        ...picture && { picture },
      });
    }
    for (const { page, kB, coldMs, coldCpuMs, coldServerMs, againMs, problems } of rows) {
      process.stdout.write(
        `${page.padEnd(13)} ${kB.toFixed(1).padStart(5)} kB  cold ${
          coldMs.toFixed(0).padStart(4)
        } ms (CPU ${coldCpuMs.toFixed(0)} + ${coldServerMs.toFixed(0)})` +
          `  again ${againMs.toFixed(1).padStart(5)} ms  ${problems.join("; ") || "ok"}\n`,
      );
    }
  } finally {
    await browser?.close();
    await program.stop();
  }
}

await main(options);
