import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import process from "node:process";
import { copyTemplate, openTestServer, withDatabase } from "../database.ts";
import { run, type Running, start } from "./program.ts";
import { keepAsking } from "./steady_load.ts";

const SECONDS = 3;
const CONNECTIONS = 16;
const LIST = "/api/repos/acme/shop/tests";

/** Answers of 200 and 204 in the log of a process. */
function answerCount(stderr: string): number {
  return [...stderr.matchAll(/"status":20[04]/g)].length;
}

/** Processes that have ended are not signalled again. */
function endedOnce(service: Running): Running {
  let ending: ReturnType<Running["stop"]> | undefined;
  return { ...service, stop: (signal) => ending ??= service.stop(signal) };
}

/** Two services on one port, of which `body` ends as it likes. */
async function withTwo(
  environment: Record<string, string>,
  body: (services: [Running, Running], token: string) => Promise<void>,
): Promise<void> {
  const done = async (...argv: string[]) => {
    const { code, stdout, stderr } = await run(argv, environment);
    assert.equal(code, 0, stderr);
    return stdout.trim();
  };
  await done("org", "create", "acme");
  const token = await done("token", "create", "--org", "acme");
  const report = await Deno.makeTempFile({ suffix: ".xml" });
  await Deno.writeTextFile(
    report,
    `<testsuite name="unit"><testcase name="a"><failure message="no"/></testcase>` +
      `<testcase name="a"/></testsuite>`,
  );
  await done(..."ingest --org acme --repo acme/shop --commit abc0000".split(" "), report);
  await Deno.remove(report);
  const first = endedOnce(await start(["serve", "--reuse-port", "--port", "0"], environment));
  const { port } = new URL(first.url);
  const second = endedOnce(
    await start(["serve", "--port", port], { ...environment, REUSE_PORT: "true" }),
  );
  assert.equal(second.url, first.url);
  try {
    await body([first, second], token);
  } finally {
    await Promise.all([first.stop("SIGTERM"), second.stop("SIGTERM")]);
  }
}

/** Tags of answers to requests that come on connections of their own. */
async function tags(url: string, token: string): Promise<Set<string | null>> {
  const headers = { authorization: `Bearer ${token}`, connection: "close" };
  const found = new Set<string | null>();
  for (let i = 0; i < 40; i++) {
    using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const response = await fetch(`${url}${LIST}`, { headers, client });
    assert.equal(response.status, 200);
    await response.body?.cancel();
    found.add(response.headers.get("etag"));
  }
  return found;
}

describe("several services on one port", { skip: Deno.build.os !== "linux" }, () => {
  it("share connections, give the same answers, and stop one by one, on the embedded database", async () => {
    const dataDir = await copyTemplate();
    try {
      await withTwo({ DATA_DIR: dataDir }, async ([first, second], token) => {
        assert.equal((await tags(first.url, token)).size, 1);
        // It has the database open: the other one takes over.
        const { code, stderr } = await first.stop("SIGTERM");
        assert.equal(code, 0, stderr);
        assert.ok(answerCount(stderr) > 0);
        const [tag] = await tags(second.url, token);
        assert.match(tag ?? "", /^(W\/)?"/);
        const last = await second.stop("SIGTERM");
        assert.ok(answerCount(last.stderr) > 40);
      });
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  });

  const server = process.env.TEST_DATABASE_URL ?? "";
  it("lose no request when one ends under load, on a server", { skip: server === "" }, async () => {
    const database = await openTestServer(server);
    try {
      const [row] = await database.sql<{ name: string }[]>`select current_database() as name`;
      const environment = { DATABASE_URL: withDatabase(server, row!.name) };
      await withTwo(environment, async ([first, second], token) => {
        assert.equal((await tags(first.url, token)).size, 1);
        const load = keepAsking(first.url, {
          path: LIST,
          token,
          connections: CONNECTIONS,
          seconds: SECONDS,
        });
        await new Promise((resolve) => setTimeout(resolve, SECONDS * 400));
        const { code, stderr } = await first.stop("SIGTERM");
        const { lost, statuses, moved } = await load;
        assert.equal(code, 0, stderr);
        assert.deepEqual([lost, Object.keys(statuses)], [0, ["200"]]);
        assert.ok(moved > 0, "connections of the first were told to close");
        assert.ok(answerCount(stderr) > 100, "it took its share");
        const last = await second.stop("SIGTERM");
        assert.ok(answerCount(last.stderr) > 100);
      });
    } finally {
      await database.close();
    }
  });

  it("are not possible next to one that does not share", async () => {
    const dataDir = await copyTemplate();
    const environment = { DATA_DIR: dataDir };
    const alone = await start(["serve", "--port", "0"], environment);
    try {
      const { port } = new URL(alone.url);
      for (const more of [[], ["--reuse-port"]]) {
        const { code, stderr } = await run(["serve", "--port", port, ...more], environment);
        assert.equal(code, 1);
        assert.match(stderr, new RegExp(`port ${port} of 127\\.0\\.0\\.1 is already in use`));
      }
    } finally {
      await alone.stop("SIGTERM");
      await Deno.remove(dataDir, { recursive: true });
    }
  });
});
