/** `quarantine apply`, of `quarantine.ts`; `quarantine policy` is in `fixtures/transcripts/policy.txt`. */
import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import type { Repository } from "../../../../db/admin/repositories.ts";
import { describeWithDatabase } from "../../../database.ts";
import {
  createFixture,
  createShop,
  DAY,
  type Fixture,
  flaky,
  idOf,
  NOW,
} from "../../../routes/fixture.ts";
import { commandLine } from "../run_in_process.ts";

describeWithDatabase("quarantine apply", (database) => {
  const cli = commandLine(database, { now: () => NOW });
  let fixture: Fixture;
  let shop: Repository;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    for (const day of [3, 2, 1]) {
      const results = [...flaky("bad"), ...flaky("worse"), ...flaky("worse"), { name: "good" }];
      await fixture.upload(shop, results, {
        commitOid: `c0ffee${day}`,
        recordedAt: NOW - day * DAY,
        testTags: { groups: [["owner:@acme/web", "owner:@acme/mail"]], groupOf: [1, 1, 1] },
      });
    }
    await fixture.upload(shop, [{ name: "good" }], { recordedAt: NOW - 3_600 });
  });

  const actions = (stdout: string) =>
    stdout.trim().split("\n").filter(Boolean).map((line) => {
      const [action, id, repository, , , name, , reason] = line.split("\t");
      assert.deepEqual([id, repository], [idOf(shop, { name: name! }), "acme/shop"]);
      return `${action} ${name}: ${reason}`;
    }).sort();
  const quarantined = async () =>
    JSON.parse((await cli("quarantine list --org acme --json")).stdout) as Record<string, string>[];

  it("with --dry-run shows the decisions of the defaults, and changes nothing", async () => {
    const { stdout, stderr } = await cli("quarantine apply --org acme --dry-run");
    assert.match(stderr, /^the policy is off; these are its defaults: turn it on with /);
    assert.deepEqual(
      actions(stdout),
      [
        "skip bad: 3 disruptions at 3 code versions, 3 of its last 6 results passed: needs 10 results",
        "enter worse: 6 disruptions at 3 code versions, 6 of its last 12 results passed",
      ].sort(),
    );
    assert.deepEqual(await quarantined(), []);
  });

  it("does not quarantine a test that fails only with its subtests", async () => {
    const other = await createFixture(database(), { name: "gophers" });
    const go = await other.addRepository("acme", "go");
    const suite = { suite: "acme/p", class: "acme/p", file: "" };
    const body = "=== RUN   TestP\n--- FAIL: TestP (0.00s)";
    for (const day of [3, 2, 1]) {
      await other.upload(go, [
        ...flaky("TestP/sub", suite),
        ...flaky("TestP/sub", suite),
        ...["TestP", "TestOwn", "TestOwn/sub"].flatMap((name) => [
          { ...suite, name },
          { ...suite, name },
          { ...suite, name, conclusion: "failure" as const, message: "Failed", body },
        ]),
        { ...suite, name: "TestOwn" },
        { ...suite, name: "TestOwn", conclusion: "failure" as const, message: "panic" },
        // Of another tool, which says nothing about subtests.
        ...flaky("Cart/adds", { ...suite, suite: "other" }),
        ...flaky("Cart/adds", { ...suite, suite: "other" }),
        ...["", "Failed"].flatMap((message) => [
          { ...suite, suite: "other", name: "Cart", conclusion: "failure" as const, message },
          { ...suite, suite: "other", name: "Cart" },
        ]),
      ], { commitOid: `90ffee${day}`, recordedAt: NOW - day * DAY });
    }
    for (let run = 0; run < 4; run++) {
      const names = ["TestP", "TestP/sub", "TestOwn", "TestOwn/sub"];
      const passes = names.map((name) => ({ ...suite, name }));
      await other.upload(go, passes, { commitOid: `90ffee9${run}`, recordedAt: NOW - run });
    }
    const { stdout } = await cli("quarantine apply --org gophers --dry-run --json");
    const decisions: { name: string; action: string; reason: string }[] = JSON.parse(stdout);
    assert.deepEqual(
      decisions.map(({ name, action }) => `${name}: ${action}`).sort(),
      ["Cart/adds", "Cart", "TestOwn/sub", "TestOwn", "TestP/sub"].map((name) => `${name}: enter`)
        .concat("TestP: skip"),
    );
    const { reason } = decisions.find(({ name }) => name === "TestP")!;
    assert.match(reason, /: it fails only with its subtests, which count$/);
  });

  it("does not quarantine what is broken on the base branch of the repository", async () => {
    const other = await createFixture(database(), { name: "bases" });
    const project = await other.addRepository("acme", "project");
    const failsAtLast = [
      { name: "broken" },
      { name: "broken", conclusion: "failure" as const, message: "refused" },
    ];
    for (const [day, branch] of [[6, "main"], ...[5, 4, 3, 2, 1].map((day) => [day, "next"])]) {
      await other.upload(project, branch === "main" ? [{ name: "broken" }] : failsAtLast, {
        commitOid: `ba5e00${day}`,
        recordedAt: NOW - Number(day) * DAY,
        branch: String(branch),
      });
    }
    const apply = async () => (await cli("quarantine apply --org bases --dry-run")).stdout;
    assert.match(await apply(), /^skip\t.*\t5 disruptions of 1 change, .*: needs 3 code versions/);
    await cli("repo set acme/project --org bases --base next");
    assert.match(await apply(), /^skip\t.*failed in each of its last 5 runs on next: broken/);
  });

  it("does not quarantine what one change alone has broken now and then", async () => {
    const other = await createFixture(database(), { name: "racers" });
    const race = await other.addRepository("acme", "race");
    const passes = Array.from({ length: 9 }, () => ({ name: "pays" }));
    const push = (version: number, more: { branch?: string; pullNumber?: number }) =>
      other.upload(race, flaky("pays"), {
        commitOid: `9ace000${version}`,
        recordedAt: NOW - DAY + version,
        job: "unit",
        ...more,
      });
    const apply = async () => (await cli("quarantine apply --org racers --dry-run")).stdout;
    await other.upload(race, passes, { branch: "main", recordedAt: NOW - 2 * DAY });
    await push(1, { branch: "pay" });
    await push(2, { branch: "pay", pullNumber: 7 });
    await push(3, { branch: "", pullNumber: 7 });
    await push(4, { branch: "gh-readonly-queue/main/pr-7-9ace0004", pullNumber: 7 });
    assert.match(
      await apply(),
      /^skip\t.*\t4 disruptions of 1 change, .*: needs 3 code versions or changes$/m,
    );
    await push(5, { branch: "main" });
    await push(6, { branch: "search" });
    assert.match(await apply(), /^enter\t.*\t6 disruptions at 1 code version and of 2 changes, /);
  });

  it("takes a branch for a change that is the base branch only because it has most builds", async () => {
    const other = await createFixture(database(), { name: "guess" });
    const race = await other.addRepository("acme", "race");
    for (const version of [1, 2, 3]) {
      const results = [...flaky("pays"), ...Array.from({ length: 9 }, () => ({ name: "pays" }))];
      const commit = { commitOid: `9ace000${version}`, recordedAt: NOW - DAY + version };
      await other.upload(race, results, { ...commit, branch: "pay" });
    }
    const apply = async () => (await cli("quarantine apply --org guess --dry-run")).stdout;
    assert.match(await apply(), /^skip\t.*\t3 disruptions of 1 change, .*: needs 3 code versions/);
    await cli("repo set acme/race --org guess --base pay");
    assert.match(await apply(), /^enter\t.*\t3 disruptions at 3 code versions, /);
  });

  it("does not count disruptions of a broken environment", async () => {
    const { organization: { name } } = fixture;
    const down = await fixture.addRepository("acme", "down");
    const results = Array.from({ length: 20 }, (_, index) => flaky(`down ${index}`)).flat();
    await fixture.upload(down, [...results, ...results, ...results], { recordedAt: NOW - DAY });
    const { stdout } = await cli(`quarantine apply --org ${name} --dry-run`);
    assert.ok(stdout.includes("acme/shop") && !stdout.includes("acme/down"));
    assert.equal((await cli(`repo delete acme/down --org ${name} --yes`)).code, 0);
  });

  it("does nothing while the policy is off", async () => {
    const { code, stdout, stderr } = await cli("quarantine apply --org acme");
    assert.deepEqual([code, stdout], [0, ""]);
    assert.match(stderr, /^the policy is off: turn it on with /);
  });

  it("quarantines with reason, owners and end, once", async () => {
    await cli("quarantine policy set --org acme --min-results 6 --max-tests 1 --expires 10d");
    const first = await cli("quarantine apply --org acme");
    assert.deepEqual(actions(first.stdout).map((line) => line.split(":")[0]), [
      "enter worse",
      "skip bad",
    ]);
    const [entry, ...others] = await quarantined();
    assert.equal(others.length, 0);
    assert.deepEqual(
      [
        entry!.name,
        entry!.quarantined_by,
        entry!.quarantine_type,
        entry!.quarantine_reason,
        entry!.quarantine_owner,
        entry!.quarantine_expires_at,
      ],
      [
        "worse",
        "policy",
        "automatic",
        "6 disruptions at 3 code versions, 6 of its last 12 results passed",
        "@acme/mail, @acme/web",
        "2026-10-01T14:13:20Z",
      ],
    );
    assert.deepEqual(actions((await cli("quarantine apply --org acme")).stdout), [
      "skip bad: 3 disruptions at 3 code versions, 3 of its last 6 results passed, " +
      "but the limit of automatic entries is 1",
      "stay worse: passed 0 times since its last failure 1 day ago",
    ]);
  });

  it("does not quarantine a test again for disruptions before its release", async () => {
    const id = idOf(shop, { name: "worse" });
    await cli(`quarantine remove ${id} --by ada --reason fixed`, { now: () => NOW + 60 });
    const { stdout } = await cli("quarantine apply --org acme", { now: () => NOW + 120 });
    assert.match(actions(stdout).join("\n"), /^enter bad: .*\nskip worse: 0 disruptions at 0 /);
  });

  it("releases a test that passed often enough, and logs both", async () => {
    const fixed = Array.from({ length: 50 }, () => ({ name: "bad" }));
    await fixture.upload(shop, fixed, { recordedAt: NOW + DAY, commitOid: "c0ffee9" });
    const at = (days: number) => ({ now: () => NOW + days * DAY });
    const early = await cli("quarantine apply --org acme", at(5));
    assert.match(actions(early.stdout).join("\n"), /^stay bad: passed 50 times .* 6 days ago$/m);
    const { stdout } = await cli("quarantine apply --org acme", at(6));
    const reason = "passed 50 times since its last failure 7 days ago";
    assert.match(actions(stdout).join("\n"), new RegExp(`^leave bad: ${reason}$`, "m"));
    const id = idOf(shop, { name: "bad" });
    const log = JSON.parse((await cli(`quarantine log --org acme --test ${id} --json`)).stdout);
    assert.deepEqual(
      log.map((event: Record<string, string>) => [event.action, event.author]),
      [["added", "policy"], ["removed", "policy"]],
    );
    assert.equal(log[1].quarantine_reason, reason);
  });

  it("quarantines a released test again at its first disruption within 60 days", async () => {
    const at = (days: number) => ({ now: () => NOW + days * DAY });
    const show = async () => (await cli("quarantine policy show --org acme", at(9))).stderr;
    const said = (count: number, pending = "") =>
      new RegExp(
        `^of 1 test that the policy released, ${count} failed again within 60 days${pending} \\(on`,
        "m",
      );
    const pending = ", 1 is still within them";
    assert.match(await show(), said(0, pending));
    const show60 = async (days: number) =>
      (await cli("quarantine policy show --org acme", at(6 + days))).stderr;
    assert.match(await show60(59.9), said(0, pending));
    assert.match(await show60(60), said(0));
    await fixture.upload(shop, flaky("bad"), { recordedAt: NOW + 8 * DAY, commitOid: "c0ffee8" });
    const { stdout } = await cli("quarantine apply --org acme", at(8.5));
    assert.match(
      actions(stdout).join("\n"),
      /^enter bad: 1 disruption at 1 code version, 1 of its last 2 results passed: it failed again 2 days after its release$/m,
    );
    assert.match(await show(), said(1));
    const shown = async (repo = "") =>
      JSON.parse((await cli(`quarantine policy show --org acme --json${repo}`, at(9))).stdout)
        .map(({ repository, released, failed_again, undecided }: Record<string, unknown>) => [
          repository,
          released,
          failed_again,
          undecided,
        ]);
    assert.deepEqual(await shown(), [[null, 1, 1, 0]]);
    assert.deepEqual(await shown(" --repo acme/shop"), [[null, 1, 1, 0]]);
    const { stderr } = await cli("quarantine policy show --org acme --repo acme/shop", at(9));
    assert.match(stderr, /no policy of its own: the organization.s applies/);
    await fixture.addRepository("acme", "own");
    await cli("quarantine policy set --org acme --repo acme/own --max-tests 1", at(9));
    assert.deepEqual(await shown(), [[null, 1, 1, 0], ["acme/own", 0, 0, 0]]);
    assert.deepEqual(await shown(" --repo ACME/own"), [["acme/own", 0, 0, 0]]);
    const unknown = await cli("quarantine policy show --org acme --repo acme/none", at(9));
    assert.notEqual(unknown.code, 0);
    await cli(`quarantine remove ${idOf(shop, { name: "bad" })} --by ada`, at(8.6));
  });

  it("quarantines it again by the time of its failure, even if the policy is applied later", async () => {
    const { fixture, shop } = await createShop(database(), "later");
    const releasedAt = NOW - 62 * DAY;
    const upload = async (days: number, results: Parameters<typeof fixture.upload>[1]) =>
      await fixture.upload(shop, results, {
        commitOid: `c0ffee${days}`,
        recordedAt: releasedAt + days * DAY,
      });
    const names = ["early", "late"];
    const apply = async (days: number) => {
      const now = () => releasedAt + days * DAY;
      const { stdout } = await cli("quarantine apply --org later --json", { now });
      return JSON.parse(stdout).map((one: Record<string, string>) => `${one.action} ${one.name}`)
        .sort();
    };
    await cli("quarantine policy set --org later --min-results 6 --release-passes 10");
    for (const days of [-13, -12, -11]) await upload(days, names.flatMap((name) => flaky(name)));
    assert.deepEqual(await apply(-10.5), ["enter early", "enter late"]);
    await upload(-9, names.flatMap((name) => Array.from({ length: 10 }, () => ({ name }))));
    assert.deepEqual(await apply(0), ["leave early", "leave late"]);
    await upload(59, flaky("early"));
    await upload(61, flaky("late"));
    assert.deepEqual(await apply(62), ["enter early"]);
  });

  it("keeps manual entries", async () => {
    const id = idOf(shop, { name: "good" });
    await cli(`quarantine add ${id} --by ada`);
    const { stdout } = await cli("quarantine apply --org acme", { now: () => NOW + 9 * DAY });
    assert.ok(!stdout.includes(id));
  });

  it("quarantines a test again when its entry has ended while it was still flaky", async () => {
    for (const day of [10, 11, 12, 20]) {
      const results = [...flaky("again"), ...flaky("again")];
      const options = { commitOid: `c0ffee${day}`, recordedAt: NOW + day * DAY };
      await fixture.upload(shop, results, options);
    }
    const applied = async (days: number) =>
      actions(
        (await cli("quarantine apply --org acme", { now: () => NOW + days * DAY })).stdout,
      ).join("\n");
    assert.match(await applied(12.5), /^enter again: 8 disruptions at 4 code versions/m);
    assert.match(await applied(22.4), /^stay again: /m);
    assert.match(await applied(22.5), /^enter again: 8 disruptions at 4 code versions/m);
  });
});
