import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import * as judge from "../../../../lib/cli/commands/doctor_findings.ts";

const SERVER = {
  version: "15.8",
  clock: 0,
  isReplica: false,
  lagSeconds: null,
  isStreaming: false,
  user: "ada",
  isSuperuser: false,
  canMigrate: true,
  databaseBytes: 12_345_678,
};
const FRESH = {
  organizationCount: 1,
  repositoryCount: 3,
  activeRepositoryCount: 2,
  newestRecordedAt: 1_790_000_000,
};
const NOW = 1_790_000_000 + 3_600;

describe("what the doctor finds", () => {
  const cases: [string, judge.Finding, judge.FindingStatus, RegExp][] = [
    [
      "clocks that agree",
      judge.judgeClock({ theirs: 100.5, ours: 100, roundTripSeconds: 0.01 }),
      "ok",
      /agree to within 2 s/,
    ],
    [
      "a slow answer is no wrong clock",
      judge.judgeClock({ theirs: 103, ours: 100, roundTripSeconds: 4 }),
      "ok",
      /agree/,
    ],
    [
      "a clock that is ahead",
      judge.judgeClock({ theirs: 110, ours: 100, roundTripSeconds: 0.01 }),
      "warn",
      /10 s ahead of/,
    ],
    [
      "a clock that is far behind",
      judge.judgeClock({ theirs: 0, ours: 100, roundTripSeconds: 0.01 }),
      "fail",
      /100 s behind/,
    ],
    [
      "the right schema",
      judge.judgeSchema({ state: "current", version: 2, expected: 2, problem: null }),
      "ok",
      /^version 2$/,
    ],
    [
      "no schema",
      judge.judgeSchema({ state: "missing", version: 0, expected: 2, problem: null }),
      "fail",
      /none/,
    ],
    [
      "an old schema",
      judge.judgeSchema({ state: "older", version: 1, expected: 2, problem: null }),
      "fail",
      /version 1, and this program needs 2/,
    ],
    [
      "a later schema",
      judge.judgeSchema({ state: "newer", version: 3, expected: 2, problem: null }),
      "fail",
      /version 3, and this program knows 2/,
    ],
    ["a role that writes", judge.judgeRole(SERVER), "ok", /user ada may write/],
    [
      "a role that reads",
      judge.judgeRole({ ...SERVER, canMigrate: false }),
      "ok",
      /user ada may only read/,
    ],
    [
      "a superuser",
      judge.judgeRole({ ...SERVER, isSuperuser: true }),
      "warn",
      /user ada is a superuser/,
    ],
    [
      "a replica that has everything",
      judge.judgeRole({ ...SERVER, isReplica: true, isStreaming: true, lagSeconds: 0 }),
      "ok",
      /^a replica, 0 s behind$/,
    ],
    [
      "a replica that is a little behind",
      judge.judgeRole({ ...SERVER, isReplica: true, isStreaming: true, lagSeconds: 3.2 }),
      "ok",
      /^a replica, at most 4 s behind$/,
    ],
    [
      "a replica that is far behind",
      judge.judgeRole({ ...SERVER, isReplica: true, isStreaming: true, lagSeconds: 600 }),
      "warn",
      /at most 600 s behind/,
    ],
    [
      "a replica that has lost its primary",
      judge.judgeRole({ ...SERVER, isReplica: true, lagSeconds: 3.2 }),
      "warn",
      /^a replica, without a connection to its primary, its last change is 3 s old$/,
    ],
    [
      "room",
      judge.judgeDisk({ path: "d", freeBytes: 50e9, databaseBytes: null }),
      "ok",
      /50\.0 GB free in d/,
    ],
    [
      "little room",
      judge.judgeDisk({ path: "d", freeBytes: 1.5e9, databaseBytes: 2e6 }),
      "warn",
      /1\.5 GB free in d, the database has 2\.0 MB/,
    ],
    [
      "no room",
      judge.judgeDisk({ path: "d", freeBytes: 512, databaseBytes: null }),
      "fail",
      /512 B free/,
    ],
    ["the size of a server", judge.judgeSize(SERVER), "ok", /12\.3 MB/],
    [
      "fresh results",
      judge.judgeFreshness(FRESH, { now: NOW }),
      "ok",
      /newest result is of 2026-09-21T14:13:20Z; 2 of 3 repositories .* last 14 days/,
    ],
    [
      "a quiet week",
      judge.judgeFreshness(FRESH, { now: NOW + 7 * 86_400 }),
      "warn",
      /newest result/,
    ],
    [
      "nothing ever",
      judge.judgeFreshness({ ...FRESH, newestRecordedAt: null }, { now: NOW }),
      "warn",
      /nothing was ever uploaded/,
    ],
    [
      "nobody",
      judge.judgeFreshness({ ...FRESH, organizationCount: 0 }, { now: NOW }),
      "warn",
      /no organization/,
    ],
    ["no token", judge.judgeTokens({ validCount: 0, expiringCount: 0 }), "warn", /none is valid/],
    [
      "a token that expires",
      judge.judgeTokens({ validCount: 3, expiringCount: 1 }),
      "warn",
      /3 valid, 1 expires within 7 days/,
    ],
    ["tokens", judge.judgeTokens({ validCount: 3, expiringCount: 0 }), "ok", /^3 valid$/],
    ["archives", judge.judgeArchives([])[0]!, "ok", /none failed/],
    [
      "failed archives",
      judge.judgeArchives([{ source: "in", failedCount: 2, abandonedCount: 1 }])[0]!,
      "warn",
      /in: 2 failed, 1 left behind/,
    ],
    [
      "archives that were left behind",
      judge.judgeArchives([{ source: "in", failedCount: 0, abandonedCount: 1 }])[0]!,
      "warn",
      /0 failed, 1 left behind/,
    ],
  ];
  for (const [name, finding, status, text] of cases) {
    it(`${name}: ${status}`, () => {
      assert.equal(finding.status, status);
      assert.match(finding.finding, text);
      // Whoever is told of a trouble is told what to do, and nobody else is.
      assert.equal(finding.hint !== "", status !== "ok");
    });
  }
});
