import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import { describeWithDatabase } from "../database.ts";
import { commandLine } from "../lib/cli/run_in_process.ts";
import { createFixture, DAY, type Fixture, flaky, idOf, NOW, quarantine } from "./fixture.ts";

const NAMES = ["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op", "qr", "st"];

interface Organization {
  fixture: Fixture;
  web: Repository;
  shop: Repository;
  /** The first build of the shop with failures. */
  build: string;
}

/** What lists several tests, or groups of them. */
const PATHS = [
  "/repos",
  "/repos/acme/shop",
  "/repos/acme/shop/builds/BUILD",
  "/tests/TEST",
  "/repos/acme/shop/slow-tests",
  "/flaky-tests",
  "/flaky-tests?quarantine=true",
  "/flaky-tests?sort=recency",
  "/tests",
  "/tests?format=csv",
  "/search?q=a",
  "/owners",
  "/owners/%40web",
  "/api/repos/acme/shop/groups",
  "/api/repos/acme/shop/failures",
  "/api/repos/acme/shop/states",
  "/api/repos/acme/shop/slow-tests",
  "/api/repos/acme/shop/durations?by=test",
  "/api/repos/acme/shop/conclusions",
  "/api/repos/acme/shop/tests",
  "/api/v1/flaky/tests",
  "/api/tests/TEST/failures",
  "/api/repos/acme/shop/submissions/BUILD/tests",
];

const COMMANDS = ["digest --format json", "digest", "flaky", "flaky --states", "quarantine list"];

describeWithDatabase("equal rows", (database) => {
  const cli = commandLine(database, { now: () => NOW });
  /** Two organizations with equal runs, whose repositories and tests came in another order. */
  const organizations: Organization[] = [];

  before(async () => {
    for (const [name, names] of [["equal-1", NAMES], ["equal-2", NAMES.toReversed()]] as const) {
      const fixture = await createFixture(database(), { name });
      const added = new Map<string, Repository>();
      for (const name of names === NAMES ? ["web", "shop"] : ["shop", "web"]) {
        added.set(name, await fixture.addRepository("acme", name));
      }
      const [web, shop] = [added.get("web")!, added.get("shop")!];
      organizations.push({ fixture, web, shop, build: "" });
      for (const repository of [web, shop]) {
        for (const name of names) {
          const recordedAt = NOW - 20 * DAY + NAMES.indexOf(name);
          await fixture.upload(repository, [{ name }], { branch: "main", recordedAt });
        }
      }
      // Failures in one repository: which of two ids of repositories is the smaller one is chance.
      organizations.at(-1)!.build = await uploadFailures(fixture, shop);
      for (const name of NAMES.slice(3, 6)) {
        await quarantine(database(), idOf(shop, { name }));
      }
    }
  });

  async function uploadFailures(fixture: Fixture, repository: Repository) {
    const upload = async (minute: number, results: Parameters<Fixture["upload"]>[1]) => {
      const commitOid = `c${String(minute).padStart(39, "0")}`;
      const buildUrl = `https://ci.example.com/${minute}`;
      const more = { branch: "main", commitOid, buildUrl, tags: ["owner:@web"] };
      const recordedAt = NOW - DAY + 60 * minute;
      const { submissionId } = await fixture.upload(repository, results, { ...more, recordedAt });
      return submissionId;
    };
    // Groups of one build, of three builds, and one with an outage's cause.
    const first = await upload(1, NAMES.flatMap((name) => flaky(name)));
    for (const minute of [2, 3, 4]) {
      await upload(
        minute,
        NAMES.slice(0, 3).flatMap((name) => flaky(name)),
      );
    }
    for (const minute of [5, 6, 7]) {
      await upload(
        minute,
        NAMES.slice(3, 6).flatMap((name) => flaky(name)),
      );
    }
    await upload(8, NAMES.slice(6).flatMap((name) => flaky(name, { file: "other.ts" })));
    for (const minute of [9, 10, 11]) {
      await upload(
        minute,
        NAMES.slice(6).map((name) => (
          { name: `broken ${name}`, conclusion: "failure", message: "connection refused" }
        )),
      );
    }
    return first;
  }

  /** Without what differs between the organizations: ids, and their names. */
  function comparable(text: string, { fixture, web, shop }: Organization): string {
    const prefixes = [web, shop].map(({ idPrefix }) => idPrefix.toString(16).padStart(11, "0"));
    return text.replace(/^[^]*<main/, "").replaceAll(prefixes[0]!, "web-")
      .replaceAll(prefixes[1]!, "shop-").replaceAll(fixture.organization.name, "equal")
      .replaceAll(/\b([0-9a-f]{8})[0-9a-f]{16}\b/g, "$1");
  }

  /** Two empty lists would be equal, too: each names several tests, or what it lists instead. */
  function isNotEmpty(text: string): void {
    const named = NAMES.filter((name) => new RegExp(`\\b${name}\\b`).test(text));
    assert.ok(named.length > 1 || /@web|"fingerprint"|"evidence"|acme\/web/.test(text), text);
  }

  for (const path of PATHS) {
    it(`of ${path} come in an order that users can see`, async () => {
      const texts = await Promise.all(organizations.map(async (one) => {
        const { shop, build } = one;
        const response = await one.fixture.get(
          path.replace("TEST", idOf(shop, { name: "ab" })).replace("BUILD", build),
        );
        assert.equal(response.status, 200);
        return comparable(await response.text(), one);
      }));
      isNotEmpty(texts[0]!);
      assert.equal(texts[1], texts[0]);
    });
  }

  for (const command of COMMANDS) {
    it(`of ${command} come in an order that users can see`, async () => {
      const texts = [];
      for (const one of organizations) {
        const { stdout, stderr } = await cli(`${command} --org ${one.fixture.organization.name}`);
        assert.equal(stderr, "");
        texts.push(comparable(stdout, one));
      }
      isNotEmpty(texts[0]!);
      assert.equal(texts[1], texts[0]);
    });
  }
});
