/** Which events reach the outbox of a webhook, and how many messages come of them. */
import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { findTest } from "../../../db/admin/quarantine.ts";
import { lockTest, removeQuarantineByToken } from "../../../db/admin/quarantine_by_token.ts";
import { findRepository, type Repository } from "../../../db/admin/repositories.ts";
import { insertToken } from "../../../db/admin/tokens.ts";
import { parseTestId, testHash, testId } from "../../../lib/base/identity.ts";
import { makeToken } from "../../../lib/base/token.ts";
import { describeWithDatabase } from "../../database.ts";
import { quarantine, release } from "../../routes/fixture.ts";
import { REFUSED, WebhookFixture } from "../../webhooks.ts";

const NOW = 1_790_000_000;
const HOUR = 3_600;
const DAY = 24 * HOUR;

describeWithDatabase("the events of a webhook", (database) => {
  let count = 0;
  const create = () => WebhookFixture.create(database(), { name: `org ${++count}`, now: NOW });

  async function repositoryOf(fixture: WebhookFixture, name = "shop"): Promise<Repository> {
    const { organizationId } = fixture.organization;
    return (await findRepository(database().sql, { organizationId, owner: "acme", name }))!;
  }

  async function idOf(fixture: WebhookFixture, name: string): Promise<string> {
    const { idPrefix } = await repositoryOf(fixture);
    return testId(idPrefix, testHash({ suite: "", class: "", name, file: "" }));
  }

  it("are not recorded without a webhook", async () => {
    const fixture = await create();
    await fixture.makeFlaky(["a"]);
    assert.deepEqual(await fixture.sent(), []);
    await fixture.addWebhook();
    assert.deepEqual(await fixture.sent(), [], "what was before it is no news");
  });

  it("say at the third code version that a test is flaky, with all that an issue needs", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    await fixture.upload("1111111", { a: "-+ Timeout after 5 s", b: "+" }, {
      tags: ["owner:@pay"],
    });
    await fixture.upload("1111111", { a: "-+ Timeout after 6 s" });
    await fixture.upload("2222222", { a: "-+ Timeout after 7 s" });
    assert.deepEqual(await fixture.sent(), []);
    const { outcome } = await fixture.upload("3333333", { a: "-+ Timeout after 8 s" });
    const [message, ...more] = await fixture.send("https://tests.example.com");
    assert.deepEqual(more, []);
    const id = await idOf(fixture, "a");
    const submission = outcome.key!.split("/").at(-1);
    assert.deepEqual(message!.body, {
      type: "test.flaky",
      timestamp: "2026-09-21T14:13:20Z",
      data: {
        organization: fixture.organization.name,
        repository: "acme/shop",
        message: "Timeout after 8 s",
        submission_id: submission,
        build_url: "https://ci.example.com/1",
        web_url: `https://tests.example.com/repos/acme/shop/builds/${submission}`,
        tests: [{
          id,
          suite: "",
          class: "",
          name: "a",
          file: "",
          owners: ["@pay"],
          disruptions: 4,
          web_url: `https://tests.example.com/tests/${id}`,
        }],
      },
    });
    assert.match(message!.id, /^msg_[0-9a-f]{32}$/);
  });

  it("name the build that failed, even if another one passed later", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    const failed = [];
    for (const version of ["1111111", "2222222", "3333333"]) {
      fixture.now += 60;
      failed.push(await fixture.upload(version, { a: "-" }, { buildUrl: `https://ci/${version}` }));
    }
    for (const version of ["1111111", "2222222", "3333333"]) {
      fixture.now += 60;
      await fixture.upload(version, { a: "+" }, { buildUrl: "https://ci/rerun" });
    }
    const [message, ...more] = await fixture.send();
    assert.deepEqual(more, []);
    const { build_url, submission_id } = message!.body.data;
    assert.equal(build_url, "https://ci/3333333");
    assert.equal(submission_id, failed[2]!.outcome.key!.split("/").at(-1));
  });

  it("say it once, however often the test fails, until it was calm for 14 days", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    await fixture.makeFlaky(["a"]);
    assert.deepEqual(await fixture.sent(), ["test.flaky a"]);
    for (let day = 1; day <= 20; day++) {
      fixture.now += DAY;
      await fixture.upload(`abcdef${day.toString(16).padStart(2, "0")}`, { a: "-+" });
      assert.deepEqual(await fixture.sent(), []);
    }
    // Silence is not a pass.
    fixture.now += 30 * DAY;
    assert.deepEqual(await fixture.sent(), []);
    for (let no = 0; no < 10; no++) {
      assert.deepEqual(await fixture.sent(), [], `${no} passes`);
      await fixture.upload(`fffffff${no}`, { a: "+" });
    }
    assert.deepEqual(await fixture.sent(), ["test.calm a"]);
    await fixture.makeFlaky(["a"], { from: 4 });
    assert.deepEqual(await fixture.sent(), ["test.flaky a"]);
    fixture.now += 13 * DAY;
    assert.deepEqual(await fixture.sent(), []);
  });

  it("do not call a test calm that failed within 14 days, wherever that was and however often it passed", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    await fixture.makeFlaky(["a", "half"], { message: "connection refused" });
    assert.deepEqual(await fixture.sent(), ["test.flaky a half"]);
    fixture.now += 10 * DAY;
    // Once, without a rerun: no disruption.
    await fixture.upload("bbbbbbb", { a: "-" }, { branch: "other", environment: "arm" });
    fixture.now += 5 * DAY;
    for (let no = 0; no < 10; no++) {
      await fixture.upload(`ccccccc${no}`, { a: "+", half: "+" });
      await fixture.upload(`ddddddd${no}`, { half: "-" });
    }
    assert.deepEqual(await fixture.sent(), []);
    fixture.now += 9 * DAY;
    assert.deepEqual(await fixture.sent(), []);
    fixture.now += 1;
    const [message, ...more] = await fixture.send();
    assert.deepEqual(more, []);
    assert.equal(message!.body.type, "test.calm");
    const { tests } = message!.body.data;
    assert.deepEqual(
      tests.map(({ name, passes }: { name: string; passes: number }) => [name, passes]),
      [
        ["a", 10],
      ],
    );
  });

  it("make one message of the tests that one cause makes flaky, within the hour too", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    const message = "connection to db-7 refused";
    await fixture.makeFlaky(["a", "b", "c"], { message });
    await fixture.makeFlaky(["x"], { message: "x is slow" });
    assert.deepEqual((await fixture.sent()).sort(), ["test.flaky a b c", "test.flaky x"]);
    fixture.now += 60;
    await fixture.makeFlaky(["d"], { message });
    fixture.now += 60;
    await fixture.makeFlaky(["e"], { message });
    assert.deepEqual(await fixture.sent(), []);
    fixture.now += HOUR - 121;
    assert.deepEqual(await fixture.sent(), []);
    fixture.now += 1;
    assert.deepEqual(await fixture.sent(), ["test.flaky d e"]);
  });

  /** The same tests fail on two other branches: what fails like that within two hours is an outage. */
  const witness = async (fixture: WebhookFixture, tests: readonly string[]) => {
    const failed = Object.fromEntries(tests.map((name) => [name, "-"]));
    for (const branch of ["other", "third"]) {
      await fixture.upload("0000000", failed, { branch, job: "witness" });
    }
  };

  it("do not begin an outage if only one branch fails", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    const names = Array.from({ length: 20 }, (_, no) => `t${no}`);
    const failed = Object.fromEntries(names.map((name) => [name, "-"]));
    await fixture.upload("1111111", failed);
    await fixture.upload("2222222", failed);
    assert.deepEqual(await fixture.sent(), []);
    await fixture.upload("3333333", failed, {
      branch: "other",
      buildUrl: "https://ci.example.com/2",
    });
    assert.deepEqual(await fixture.sent(), ["outage.started unit"]);
  });

  it("leave out what happened in an outage, and say when it begins and ends", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    const names = Array.from({ length: 20 }, (_, no) => `t${no}`);
    const run = (failed: number) =>
      Object.fromEntries(names.map((name, no) => [name, no < failed ? "-+" : "+"]));
    await witness(fixture, names);
    for (let no = 1; no <= 3; no++) await fixture.upload(String(no).repeat(7), run(5));
    const [message, ...more] = await fixture.send();
    assert.deepEqual(more, []);
    assert.equal(message!.body.type, "outage.started");
    const { organization: _, submission_id: __, ...data } = message!.body.data;
    assert.deepEqual(data, {
      repository: "acme/shop",
      job: "unit",
      environment: "",
      branch: "main",
      build_url: "https://ci.example.com/1",
      ran_test_count: 20,
      failed_test_count: 5,
    });
    fixture.now += HOUR;
    // Another job knows nothing of it, and ends nothing.
    for (let no = 4; no <= 6; no++) {
      await fixture.upload(String(no).repeat(7), run(0), { job: "lint" });
    }
    const build = (version: string) => ({ buildUrl: `https://ci.example.com/${version}` });
    await fixture.upload("aaaaaaa", run(0), build("a"));
    await fixture.upload("bbbbbbb", run(0), build("b"));
    assert.deepEqual(await fixture.sent(), []);
    fixture.now += 1;
    await fixture.upload("ccccccc", run(0), build("c"));
    assert.deepEqual(await fixture.sent(), ["outage.ended unit"]);
  });

  it("do not end the outage of a shard when other shards of its build pass", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    const run = (shard: number, outcome: string) =>
      Object.fromEntries(Array.from({ length: 20 }, (_, no) => [`t${shard}.${no}`, outcome]));
    const build = async (version: string, failed: number | null) => {
      for (const shard of [1, 2, 3, 4]) {
        fixture.now += 5;
        await fixture.upload(version, run(shard, shard === failed ? "-" : "+"), {
          buildUrl: `https://ci.example.com/${version}`,
        });
      }
      fixture.now += 2 * HOUR;
    };
    const sent: string[] = [];
    for (const version of ["1111111", "2222222", "3333333"]) {
      await witness(fixture, Object.keys(run(1, "-")));
      await build(version, 1);
      sent.push(...await fixture.sent());
    }
    assert.deepEqual(sent, ["outage.started unit"]);
    await build("4444444", null);
    await build("5555555", null);
    assert.deepEqual(await fixture.sent(), []);
    await build("6666666", null);
    assert.deepEqual(await fixture.sent(), ["outage.ended unit"]);
  });

  it("leave out an outage that began and ended within the hour of the last message", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    const names = Array.from({ length: 20 }, (_, no) => `t${no}`);
    const run = (outcome: string) => Object.fromEntries(names.map((name) => [name, outcome]));
    const flap = async (version: string) => {
      await fixture.upload(`${version}00000a`, run("-"));
      for (const no of "123") {
        fixture.now += 10;
        const buildUrl = `https://ci.example.com/${version}${no}`;
        await fixture.upload(`${version}00000${no}`, run("+"), { buildUrl });
      }
      fixture.now += 60;
    };
    await witness(fixture, names);
    await flap("a");
    assert.deepEqual(await fixture.sent(), ["outage.started unit", "outage.ended unit"]);
    for (const version of "bcdef") await flap(version);
    fixture.now += 2 * HOUR;
    assert.deepEqual(await fixture.sent(), []);
    await witness(fixture, names);
    await flap("9");
    assert.deepEqual(await fixture.sent(), ["outage.started unit", "outage.ended unit"]);
  });

  it("are those of the quarantine, with author, reason, owner, end and environments", async () => {
    const fixture = await create();
    await fixture.upload("1111111", { a: "+", b: "+" });
    await fixture.addWebhook();
    const [a, b] = [await idOf(fixture, "a"), await idOf(fixture, "b")];
    const entry = {
      quarantinedAt: NOW,
      quarantinedBy: "ada",
      quarantineReason: "slow mail",
      quarantineOwner: "@mail",
      quarantineExpiresAt: NOW + 30 * DAY,
      quarantineEnvironment: "Windows*",
    };
    await quarantine(database(), a, entry);
    const [added, ...more] = await fixture.send();
    assert.deepEqual(more, []);
    assert.equal(added!.body.type, "quarantine.added");
    assert.deepEqual(added!.body.data.tests, [{
      id: a,
      suite: "",
      class: "",
      name: "a",
      file: "",
      by: "ada",
      type: "manual",
      reason: "slow mail",
      owner: "@mail",
      expires_at: "2026-10-21T14:13:20Z",
      environment: "Windows*",
      owners: [],
    }]);
    // One message of one author in an hour.
    await quarantine(database(), b, { ...entry, quarantinedAt: NOW + 60 });
    fixture.now = NOW + 60;
    assert.deepEqual(await fixture.sent(), []);
    fixture.now = NOW + HOUR;
    assert.deepEqual(await fixture.sent(), ["quarantine.added b"]);
    fixture.now += DAY;
    await release(database(), b, { at: fixture.now });
    assert.deepEqual(await fixture.sent(), ["quarantine.removed b"]);

    fixture.now = NOW + 23 * DAY - 1;
    assert.deepEqual(await fixture.sent(), []);
    fixture.now += 1;
    const [ending] = await fixture.send();
    assert.deepEqual(
      [ending!.body.type, ending!.body.data.tests[0].environment],
      ["quarantine.ending", "Windows*"],
    );
    fixture.now += DAY;
    assert.deepEqual(await fixture.sent(), []);
    fixture.now = NOW + 30 * DAY;
    const ended = await fixture.send();
    assert.deepEqual(
      ended.map(({ body: { type, data: { tests: [test] } } }) => [
        type,
        test.reason,
        test.environment,
      ]),
      [["quarantine.removed", "expired", "Windows*"]],
    );
    fixture.now += HOUR;
    assert.deepEqual(await fixture.sent(), []);
  });

  it("of removals with a token do not wait for those of other tests", async () => {
    const fixture = await create();
    await fixture.upload("1111111", { a: "+", b: "+" });
    await fixture.addWebhook();
    const { organizationId } = fixture.organization;
    const { type, prefix: tokenPrefix, hash } = makeToken("quarantine");
    await insertToken(database().sql, {
      organizationId,
      type,
      tokenPrefix,
      hash,
      label: null,
      createdAt: NOW,
      expiresAt: null,
    });
    const removal = { removedAt: NOW, removedBy: null, reason: null };
    for (const name of ["a", "b"]) {
      const id = await idOf(fixture, name);
      await quarantine(database(), id, { quarantinedAt: NOW });
      await database().sql.begin(async (tx) => {
        const by = { hash, now: NOW, ...parseTestId(id)! };
        const test = (await lockTest(tx, by))!;
        const origin = { author: "token 1", command: "quarantine remove" };
        assert.ok(await removeQuarantineByToken(tx, by, { test, removal, origin }));
      });
    }
    const sent = await fixture.sent();
    assert.deepEqual(sent.filter((one) => one.startsWith("quarantine.removed")).sort(), [
      "quarantine.removed a",
      "quarantine.removed b",
    ]);
  });

  it("are part of the transaction: what is rolled back is not sent", async () => {
    const fixture = await create();
    await fixture.upload("1111111", { a: "+" });
    await fixture.addWebhook();
    const { sql } = database();
    const test = await findTest(sql, parseTestId(await idOf(fixture, "a"))!);
    assert.ok(test);
    const { addQuarantine } = await import("../../../db/admin/quarantine.ts");
    await assert.rejects(
      sql.begin(async (tx) => {
        await addQuarantine(tx, test, {
          quarantinedAt: NOW,
          quarantinedBy: null,
          quarantineType: "manual",
          quarantineReason: null,
          quarantineOwner: null,
          quarantineExpiresAt: null,
          quarantineEnvironment: null,
        }, { author: "", command: "" });
        throw new Error("lost");
      }),
      /lost/,
    );
    assert.deepEqual(await fixture.sent(), []);
  });

  it("go only to webhooks that are for them", async () => {
    const fixture = await create();
    const other = await create();
    await other.addWebhook();
    await fixture.upload("1111111", { a: "+" }, { repository: "acme/web" });
    const web = await repositoryOf(fixture, "web");
    const hooks = [
      await fixture.addWebhook({ url: "https://all.example/" }),
      await fixture.addWebhook({ url: "https://web.example/", repositoryId: web.repositoryId }),
      await fixture.addWebhook({ url: "https://pay.example/", owner: "@pay" }),
      await fixture.addWebhook({ url: "https://outages.example/", events: ["outage.started"] }),
    ];
    assert.equal(hooks[1]!.repository, "acme/web");
    await fixture.makeFlaky(["a"], { message: "m", tags: ["owner:@pay"] });
    await fixture.makeFlaky(["b"], { message: "n" });
    await fixture.makeFlaky(["c"], { message: "o", repository: "acme/web" });
    const posted = await fixture.send();
    const byUrl = Map.groupBy(posted, ({ url }) => url);
    const names = (url: string) =>
      byUrl.get(url)?.map(({ body }) => body.data.tests[0].name).sort() ?? [];
    assert.deepEqual(names("https://all.example/"), ["a", "b", "c"]);
    assert.deepEqual(names("https://web.example/"), ["c"]);
    assert.deepEqual(names("https://pay.example/"), ["a"]);
    assert.equal(byUrl.size, 3);
  });

  it("say nothing about runs that are uploaded weeks later", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    await fixture.makeFlaky(["a"], { recordedAt: NOW - 15 * DAY });
    assert.deepEqual(await fixture.sent(), []);
  });

  it("are kept in order for each test while a receiver fails", async () => {
    const fixture = await create();
    await fixture.upload("1111111", { a: "+", b: "+" });
    await fixture.addWebhook();
    const [a, b] = [await idOf(fixture, "a"), await idOf(fixture, "b")];
    fixture.respond = () => REFUSED;
    const by = (quarantinedBy: string) => ({ quarantinedBy, quarantinedAt: fixture.now });
    await quarantine(database(), a, by("ada"));
    assert.deepEqual(await fixture.sent(), ["quarantine.added a"]);
    await release(database(), a, { at: fixture.now });
    await quarantine(database(), b, by("bob"));
    assert.deepEqual(await fixture.sent(), ["quarantine.added b"]);
    fixture.respond = () => ({ isDelivered: true, outcome: "HTTP 200", retryAfter: 0 });
    fixture.now += 6;
    await fixture.send();
    const about = fixture.posted.filter(({ body }) => body.data.tests[0].name === "a");
    assert.deepEqual(about.map(({ body }) => body.type), [
      "quarantine.added",
      "quarantine.added",
      "quarantine.removed",
    ]);
    assert.equal(about[0]!.id, about[1]!.id);
    assert.notEqual(about[1]!.id, about[2]!.id);
  });
});
