import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { describeWithDatabase } from "../../../database.ts";
import { createShop, DAY, flaky, idOf, NOW } from "../../../routes/fixture.ts";
import { StatementRecorder } from "../../../db/statements/recorder.ts";
import { commandLine, type Ending } from "../run_in_process.ts";

const recorder = new StatementRecorder();

describeWithDatabase("digest", (database) => {
  const run = commandLine(() => database(), { now: () => NOW });

  before(async () => {
    const { fixture, shop } = await createShop(database());
    const upload = (name: string, days: number, build: string) =>
      fixture.upload(shop, flaky(name), {
        commitOid: `abcdef${days}`,
        recordedAt: NOW - days * DAY,
        buildUrl: `https://ci.example.org/${build}`,
      });
    await upload("new", 1, "1");
    await upload("new", 2, "2");
    await upload("old", 10, "3");
    await upload("calm", 20, "4");
    await upload("often", 16, "4");
    await upload("often", 10, "3");
    await upload("often", 1, "1");
    await fixture.upload(shop, [{ name: "good" }], {
      recordedAt: NOW - 3 * DAY,
      commitOid: "fedcba9",
      buildUrl: "https://ci.example.org/5",
    });
    for (const [name, options] of [["new", "--expires 3d"], ["old", "--expires 30d"]] as const) {
      const id = idOf(shop, { name });
      const { code } = await run(`quarantine add ${id} --reason timing ${options}`);
      assert.equal(code, 0);
    }
    const released = idOf(shop, { name: "often" });
    for (const action of ["add", "remove"]) {
      assert.equal((await run(`quarantine ${action} ${released} --reason timing`)).code, 0);
    }
  });

  it("compares the window with the one before, and names tests and quarantine entries", async () => {
    const { code, stdout, stderr }: Ending = await run("digest --org acme --json");
    assert.equal(code, 0, stderr);
    const { since, until, totals, repositories, groups: [group] } = JSON.parse(stdout);
    assert.deepEqual([since, until], ["2026-09-14T14:13:20Z", "2026-09-21T14:13:20Z"]);
    assert.deepEqual(repositories, [
      {
        repository: "acme/shop",
        flakiness: "75%",
        flakiness_before: "100%",
        builds: 4,
        outages: 0,
        failed_without_test: 0,
        flaky_seconds: 0,
        flaky_seconds_before: 0,
        red_jobs: { outage: 0, together: 0, flaky: 2, failed: 0, without_test: 0 },
      },
    ]);
    // As the list of flaky tests and that of quarantined ones have them.
    assert.deepEqual([totals.flaky_tests, totals.flaky_quarantined], [3, 2]);
    const names = (list: string) => group[list].map(({ name }: { name: string }) => name);
    assert.deepEqual(names("became_flaky"), ["new"]);
    assert.deepEqual(names("calmed_down"), ["calm"]);
    assert.deepEqual(
      group.cost_most_builds.map(({ name, builds, ...test }: Record<string, unknown>) => [
        name,
        builds,
        test.disruptions,
        test.disruptions_in_period,
      ]),
      [["new", 2, 2, 2], ["often", 1, 2, 1]],
    );
    assert.deepEqual(names("quarantine_began").sort(), ["new", "often", "old"]);
    assert.deepEqual(
      group.quarantine_began.filter((entry: { ended_at: string | null }) => entry.ended_at !== null)
        .map((entry: { name: string }) => entry.name),
      ["often"],
    );
    assert.deepEqual(names("quarantine_ends"), ["new"]);
    assert.deepEqual(names("quarantine_may_be_released"), []);
  });

  it("is as wide as the terminal, with the same words", async () => {
    const { stdout } = await run("digest --org acme");
    const narrow = await run("digest --org acme", { columns: 40 });
    assert.deepEqual(narrow.stdout.split(/\s+/), stdout.split(/\s+/));
    const lines = narrow.stdout.split("\n").filter((line) => !line.startsWith("#"));
    for (const line of lines) assert.ok(line.length <= 40 || !line.trim().includes(" "), line);
    assert.match(narrow.stdout, /^- .*\n {2}\S/m);
  });

  it("counts the builds of the period that were outages", async () => {
    const { fixture, shop } = await createShop(database(), "outages");
    const failed = Array.from({ length: 20 }, (_, index) => ({
      name: `${index}`,
      conclusion: index < 5 ? "failure" as const : "passing" as const,
      message: index < 5 ? "connection refused" : "",
    }));
    for (const [days, build] of [[1, "a"], [1, "a"], [2, "b"], [9, "c"]] as const) {
      const at = NOW - days * DAY;
      // Without two other branches that fail alike, with other code, it is no outage.
      for (const branch of ["other", "third"]) {
        await fixture.upload(shop, failed, {
          recordedAt: at - 60,
          commitOid: "0ddba11",
          branch,
          buildUrl: "https://ci/other",
        });
      }
      const buildUrl = `https://ci.example.org/${build}`;
      await fixture.upload(shop, failed, { recordedAt: at, branch: "main", buildUrl });
    }
    const { stdout } = await run("digest --org outages --json");
    assert.equal(JSON.parse(stdout).repositories[0].outages, 2);
    assert.match((await run("digest --org outages")).stdout, /; 2 builds in an outage/);
  });

  it("counts the builds of the period that ended red without a failed test", async () => {
    const { fixture, shop } = await createShop(database(), "crashes");
    for (const [days, exitCode] of [[1, 134], [2, 0], [3, null], [9, 1]] as const) {
      const recordedAt = NOW - days * DAY;
      await fixture.upload(shop, [{ name: "a" }], { recordedAt, exitCode });
    }
    const { stdout } = await run("digest --org crashes --json");
    assert.equal(JSON.parse(stdout).repositories[0].failed_without_test, 1);
    const { stdout: text } = await run("digest --org crashes");
    assert.match(text, /; 1 build ended red without a failed test/);
  });

  it("counts a red job once, however many uploads it has, by what most probably needs work", async () => {
    const { fixture, shop } = await createShop(database(), "jobs");
    const build = (job: string, more = {}) => ({
      job,
      commitOid: "0ddba12",
      recordedAt: NOW - DAY,
      buildUrl: "https://ci/jobs",
      ...more,
    });
    const failed = (name: string) => [{ name, conclusion: "failure" as const, message: "boom" }];
    // Its flaky tests, its failed tests, and the exit code of its command.
    await fixture.upload(shop, flaky("f"), build("unit"));
    await fixture.upload(shop, failed("a"), build("unit"));
    await fixture.upload(shop, failed("b"), build("unit"));
    await fixture.upload(shop, [{ name: "c" }], build("unit", { exitCode: 1 }));
    await fixture.upload(shop, failed("a"), build("unit", { attempt: "2" }));
    await fixture.upload(shop, flaky("f"), build("e2e"));
    await fixture.upload(shop, [{ name: "c" }], build("lint", { exitCode: 1 }));
    // Without a build, nothing says which uploads are of one job.
    for (const commitOid of ["0ddba13", "0ddba14"]) {
      await fixture.upload(shop, failed("a"), build("unit", { buildUrl: "", commitOid }));
    }
    const { stdout } = await run("digest --org jobs --json");
    assert.deepEqual(JSON.parse(stdout).totals.red_jobs, {
      outage: 0,
      together: 0,
      flaky: 1,
      failed: 4,
      without_test: 1,
    });
    assert.match((await run("digest --org jobs")).stdout, /^6 jobs ended red: 4 with/m);
  });

  it("has tests as one fault that are flaky together, not those that are broken together", async () => {
    const { fixture, shop } = await createShop(database(), "faults");
    const upload = async (minute: number, results: Parameters<typeof fixture.upload>[1]) =>
      await fixture.upload(shop, results, {
        commitOid: `abcdef${minute}`,
        recordedAt: NOW - DAY + minute,
        buildUrl: `https://ci.example.org/${minute}`,
      });
    for (const minute of [1, 2, 3]) await upload(minute, [...flaky("a"), ...flaky("b")]);
    for (const [minute, name] of [[4, "c"], [5, "d"], [6, "d"]] as const) {
      await upload(minute, flaky(name));
    }
    const broken = (name: string) => ({ name, conclusion: "failure" as const, message: name });
    for (const minute of [7, 8, 9]) await upload(minute, ["a", "c", "d"].map(broken));
    const { stdout } = await run("digest --org faults --json");
    const { groups: [{ faults, cost_most_builds: tests }] } = JSON.parse(stdout);
    const nameOf = new Map(tests.map(({ id, name }: Record<string, string>) => [id, name]));
    assert.deepEqual(
      faults.map(({ builds, tests }: { builds: number; tests: string[] }) => [
        builds,
        tests.map((id) => nameOf.get(id)).sort().join(),
      ]),
      [[3, "a,b"], [2, "d"], [1, "c"]],
    );
    assert.deepEqual(
      faults.map(({ grouped_by }: Record<string, unknown>) => grouped_by),
      ["runs", null, null],
    );
  });

  it("names the same tests after old submissions were pruned", async () => {
    const namesOf = async () => {
      const { groups: [group] } = JSON.parse((await run("digest --org acme --json")).stdout);
      return [group.became_flaky, group.calmed_down, group.cost_most_builds]
        .map((tests) => tests.map(({ name }: { name: string }) => name));
    };
    const before = await namesOf();
    assert.deepEqual(before, [["new"], ["calm"], ["new", "often"]]);
    assert.equal((await run("prune --keep 14d --org acme")).code, 0);
    assert.deepEqual(await namesOf(), before);
  });

  it("has formats for people, and a shorter time", async () => {
    const markdown = await run("digest --org acme --repo acme/shop --since 36h");
    assert.match(markdown.stdout, /^# Flaky tests of `acme`, 2026-09-20 to 2026-09-21\n/);
    assert.match(markdown.stdout, /`suite > Class > new \(test.ts\)` in `acme\/shop`: 1 build/);
    const slack = await run("digest --org acme --group-by owner --format slack");
    assert.match(JSON.parse(slack.stdout).text, /\n\*No owner\*\n/);
  });

  it("rejects unknown names and invalid options", async () => {
    for (const wrong of ["--org none", "--org acme --repo acme/none"]) {
      assert.equal((await run(`digest ${wrong}`)).code, 1);
    }
    for (const wrong of ["--org acme --format html", "--org acme --since x"]) {
      assert.equal((await run(`digest ${wrong}`.trim())).code, 2);
    }
    const environment = { PUBLIC_URL: "flaky.example" };
    const { code, stdout, stderr } = await run("digest --org acme", { environment });
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /PUBLIC_URL is not an address.*\nTry: .* digest --help/);
  });

  it("reads each repository in one snapshot", async () => {
    recorder.take();
    assert.equal((await run("digest --org acme --repo acme/shop")).code, 0);
    let open = 0;
    let snapshots = 0;
    const alone: string[] = [];
    for (const { text } of recorder.take()) {
      if (text.startsWith("begin isolation level repeatable read")) {
        open++;
        snapshots++;
      } else if (text === "commit") open--;
      else if (
        open === 0 && /\b(?:submission|negative_result|disruptive_test|quarantine)\b/.test(text)
      ) {
        alone.push(text);
      }
    }
    assert.deepEqual(alone, []);
    // Of the repository, and of the quarantine of the organization.
    assert.equal(snapshots, 2);
  });
}, { onStatement: recorder.onStatement });
