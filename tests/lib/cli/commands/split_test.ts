import { after, afterEach, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FAKE_TOKEN, type FakeApi, startFakeApi } from "../../api_client/fake_api.ts";
import { withoutDatabase } from "../run_in_process.ts";

/** The median of each file in seconds. */
const SECONDS: Record<string, number> = { "a.ts": 60, "b.ts": 30, "c.ts": 20, "d.ts": 10 };

const FILES = Object.keys(SECONDS);

function page(seconds: Record<string, number>, after: string | null = null): Response {
  const durations = Object.entries(seconds).map(([key, median]) => (
    { key, median_us: median * 1_000_000, p90_us: 0, runs: 20, overhead_us: 0, test: null }
  ));
  return Response.json({ count: 4, durations, metadata: { after, limit: 2 } });
}

describe("split", () => {
  let folder: string;
  const services: FakeApi[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "split-"));
    for (const [file, seconds] of Object.entries(SECONDS)) {
      // By size the other way round.
      await writeFile(join(folder, file), "x".repeat(100 - seconds));
    }
  });
  after(() => rm(folder, { recursive: true }));
  afterEach(async () => {
    for (const service of services.splice(0)) await service.close();
  });

  function serve(handler: (request: Request, index: number) => Response): FakeApi {
    const service = startFakeApi(handler);
    services.push(service);
    return service;
  }

  async function split(
    args: string[],
    { url = "http://127.0.0.1:9", stdin, committed = "1769846400", ...environment }: {
      url?: string;
      stdin?: string;
      committed?: string;
      [variable: string]: string | undefined;
    } = {},
  ) {
    return await withoutDatabase(["split", "--repo", "acme/shop", ...args], {
      environment: { PLATFORM_API_URL: url, PLATFORM_API_TOKEN: FAKE_TOKEN, ...environment },
      git: (args) => Promise.resolve(args[0] === "show" ? committed : ""),
      ...stdin === undefined ? {} : { stdin: new Response(stdin).body! },
    });
  }

  it("prints shares of equal time, and says what it expects", async () => {
    const { url } = serve(() => page(SECONDS));
    const first = await split(["--nodes", "2", "--index", "0", ...FILES], { url });
    assert.equal(first.stdout, "a.ts\n");
    assert.equal(
      first.stderr,
      "split: 4 files for 2 nodes by their durations as of 2026-01-31T08:00:00Z: 1 m a node; split by " +
        "number: 40 s to 1 m 20 s\n" +
        "split: not faster with more than 2 nodes: a.ts alone takes 1 m\n" +
        "split: node 0 (from 0): 1 file, 1 m\n",
    );
    const second = await split(["--nodes", "2", "--index", "1", ...FILES], { url });
    assert.equal(second.stdout, "b.ts\nc.ts\nd.ts\n");
  });

  it("asks for the durations before the commit, on all pages", async () => {
    const service = serve((request) => {
      const isFirst = !new URL(request.url).searchParams.has("after");
      return isFirst
        ? page({ "a.ts": 60, "b.ts": 30 }, "bmV4dA==")
        : page({ "c.ts": 20, "d.ts": 10 });
    });
    const options = ["--branch", "main", "--job", "unit", "--environment", "Linux*"];
    const args = ["--nodes", "1", "--index", "0", ...options, ...FILES];
    assert.equal((await split(args, { url: service.url })).code, 0);
    const [first, second] = service.received.map(({ url }) => new URL(url, service.url));
    assert.equal(first!.pathname, "/api/repos/acme/shop/durations");
    assert.deepEqual(Object.fromEntries(first!.searchParams), {
      by: "file",
      as_of: "2026-01-31T08:00:00Z",
      branch: "main",
      environment: "Linux*",
      job: "unit",
      limit: "10000",
    });
    assert.equal(second!.searchParams.get("after"), "bmV4dA==");
  });

  it("takes the median for new files, and leaves out those that no longer exist", async () => {
    const { url } = serve(() => page(SECONDS));
    const args = ["--nodes", "2", "--index", "1", "--json", "new.ts", "a.ts", "b.ts"];
    const { stdout, stderr } = await split(args, { url });
    const { items, new_items, totals } = JSON.parse(stdout);
    assert.deepEqual({ items, new_items, totals }, {
      items: ["b.ts", "new.ts"],
      new_items: ["new.ts"],
      totals: [60_000_000, 60_000_000],
    });
    assert.match(stderr, /1 file without a duration: assumed is the median, 30 s/);
  });

  it("finds the files by classes where reports name none", async () => {
    const { url } = serve((request) =>
      page(request.url.includes("by=class") ? { "tests.test_a": 50, "tests.test_b": 1 } : {})
    );
    const args = ["--nodes", "2", "--index", "0", "tests/test_b.py", "tests/test_a.py"];
    assert.equal((await split(args, { url })).stdout, "tests/test_a.py\n");
  });

  it("reads names from standard input, and the node from the CI job", async () => {
    const { url } = serve(() => page(SECONDS));
    const { stdout } = await split(["--format", "jest"], {
      url,
      stdin: `${FILES.join("\n")}\n\n`,
      GITLAB_CI: "true",
      CI_NODE_TOTAL: "2",
      CI_NODE_INDEX: "2",
    });
    assert.equal(stdout, "--runTestsByPath b.ts c.ts d.ts\n");
  });

  it("splits by size when the service cannot be reached, knows nothing or has no token", async () => {
    const paths = FILES.map((file) => join(folder, file));
    const args = ["--nodes", "2", "--index", "0", ...paths];
    const unknown = serve(() => Response.json({ message: "Not Found" }, { status: 404 }));
    const empty = serve(() => page({}));
    const cases: [Parameters<typeof split>[1], RegExp][] = [
      [{}, /cannot be reached/],
      [{ url: unknown.url }, /acme\/shop is unknown/],
      [
        { url: empty.url },
        /acme\/shop has no durations of these 4 names until 2026-01-31T08:00:00Z/,
      ],
      [{ url: empty.url, PLATFORM_API_TOKEN: "" }, /PLATFORM_API_TOKEN is missing/],
    ];
    for (const [environment, problem] of cases) {
      const { code, stdout, stderr } = await split(args, environment);
      assert.equal(code, 0);
      assert.equal(stdout, [paths[0], paths[3]].map((path) => `${path}\n`).join(""));
      const [line, ...rest] = stderr.trim().split("\n");
      assert.match(line!, /^split: by size, without durations: .*see --plan\)$/);
      assert.match(line!, problem);
      assert.deepEqual(rest, [
        "split: 4 files for 2 nodes by their size",
        "split: node 0 (from 0): 2 files",
      ]);
    }
  });

  it("takes spellings of one path for one file", async () => {
    const { url } = serve(() => page(SECONDS));
    const args = ["--nodes", "2", "--index", "0", "a.ts", "./a.ts", ".//b.ts", "b.ts", "./b.ts"];
    const { stdout, stderr } = await split(args, { url });
    assert.equal(stdout, "./a.ts\n");
    assert.match(stderr, /^split: 2 files for 2 nodes /);

    const empty = serve(() => page({}));
    const one = await split(["--nodes", "1", "--index", "0", "a.ts", "./a.ts"], {
      url: empty.url,
    });
    assert.match(one.stderr, /no durations of this name until/);
    // Names of classes are no paths.
    const classes = await split(["--nodes", "1", "--index", "0", "--by", "class", "a", "./a"]);
    assert.equal(classes.stdout, "./a\na\n");
  });

  it("splits by number when there are no files either", async () => {
    const args = ["--nodes", "2", "--index", "0", "--by", "class", "a.A", "a.B", "a.C"];
    const { code, stdout, stderr } = await split(args);
    assert.deepEqual({ code, stdout }, { code: 0, stdout: "a.A\na.C\n" });
    assert.match(stderr, /^split: by number, without durations: /);
  });

  it("writes a plan, and takes shares from it without the service", async () => {
    const { url } = serve(() => page(SECONDS));
    const plan = join(folder, "plan.json");
    const made = await split(["--nodes", "2", "--plan-out", plan, ...FILES], { url });
    assert.deepEqual({ code: made.code, stdout: made.stdout }, { code: 0, stdout: "" });
    assert.match(await readFile(plan, "utf8"), /"repository": "acme\/shop"/);

    const first = await split(["--plan", plan, "--index", "0", "--format", "vitest"]);
    assert.equal(first.stdout, "a.ts\n");
    assert.match(first.stderr, /1 m a node/);
    const second = await split(["--plan", plan, "--index", "1", "a.ts", "b.ts", "new.ts"]);
    assert.equal(second.stdout, "b.ts\nnew.ts\n");
    const other = await split(["--plan", plan, "--nodes", "3", "--index", "1"]);
    assert.equal(other.code, 2);
    assert.match(other.stderr, /the plan is for 2 nodes, but this job has 3/);
  });

  it("gives files of one selector to one node, once", async () => {
    const { url } = serve(() => page({}));
    const files = ["a/FooTest.java", "b/FooTest.java", "c/BarTest.java"];
    const format = ["--format", "maven"];
    const shareOf = async (index: string, ...args: string[]) =>
      (await split([...args, ...format, "--index", index, ...files], { url })).stdout;
    assert.equal(await shareOf("0", "--nodes", "2"), "-Dtest=BarTest\n");
    assert.equal(await shareOf("1", "--nodes", "2"), "-Dtest=FooTest\n");
    const plan = join(folder, "maven.json");
    await split(["--nodes", "2", "--plan-out", plan, ...format, ...files], { url });
    assert.equal(await shareOf("1", "--plan", plan), "-Dtest=FooTest\n");
    // Without the format it is not known which files are one selector.
    await split(["--nodes", "3", "--plan-out", plan, ...files], { url });
    const { code, stdout, stderr } = await split(["--plan", plan, "--index", "0", ...format]);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /two nodes files of "-Dtest=FooTest": make the plan with --format maven/);
  });

  it("splits by size without a commit, whose time would be the same on every node", async () => {
    const args = ["--nodes", "2", "--index", "0", ...FILES];
    const { code, stdout, stderr } = await split(args, { committed: "" });
    assert.equal(code, 0, stderr);
    assert.notEqual(stdout, "");
    assert.match(stderr, /without durations: found no commit here: expected --as-of/);
  });

  it("refuses what would not be the same on every node", async () => {
    const node = ["--nodes", "2", "--index", "0"];
    const refused: [string[], RegExp, number?][] = [
      [[...FILES], /unknown node: expected --nodes N --index I, counted from 0/],
      [["--nodes", "2", "--index", "2", ...FILES], /node 2 of 2 does not exist/],
      [[...node, "--format", "go", "--by", "class", "a.A"], /--format go cannot select by class/],
      [[...node, "--format", "pytest", "a b.py"], /has white space/],
      [[...node, "--plan", join(folder, "a.ts")], /a\.ts is not JSON/, 1],
      [[...node, "--plan", join(folder, "none")], /none cannot be read/, 1],
    ];
    for (const [args, message, expected = 2] of refused) {
      const { code, stdout, stderr } = await split(args, { committed: "" });
      assert.deepEqual({ code, stdout }, { code: expected, stdout: "" }, stderr);
      assert.match(stderr, message);
    }
    const { code, stderr } = await split(node, { stdin: "\n" });
    assert.equal(code, 2);
    assert.match(stderr, /found no FILES/);
  });
});
