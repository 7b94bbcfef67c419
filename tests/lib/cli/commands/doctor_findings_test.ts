/** The findings of `doctor.ts`, each provoked. */
import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import * as doctor from "../../../../lib/cli/commands/doctor.ts";

const SERVER = {
  version: "15.8",
  clock: 0,
  isReplica: false,
  lagSeconds: null,
  isStreaming: false,
  user: "ada",
  isSuperuser: false,
  canWrite: true,
  canMigrate: true,
  canReadTokens: true,
  canLookUpUploadTokens: true,
  databaseBytes: 12_345_678,
};
const FRESH = {
  repositoryCount: 3,
  activeRepositoryCount: 2,
  newestRecordedAt: 1_790_000_000,
};
const NOW = 1_790_000_000 + 3_600;

function worker(name: string, bytes: number) {
  return { name, bytes, shardCount: 16, isReachable: true };
}

describe("the findings of doctor", () => {
  const cases: [string, doctor.Finding, doctor.Finding["status"], RegExp][] = [
    [
      "clocks that agree",
      doctor.assessClock({ theirs: 100.5, ours: 100, roundTripSeconds: 0.01 }),
      "ok",
      /differ by less than 2 s/,
    ],
    [
      "a slow response is not a wrong clock",
      doctor.assessClock({ theirs: 103, ours: 100, roundTripSeconds: 4 }),
      "ok",
      /differ by less/,
    ],
    [
      "a clock that is ahead",
      doctor.assessClock({ theirs: 110, ours: 100, roundTripSeconds: 0.01 }),
      "warn",
      /10 s ahead of/,
    ],
    [
      "a clock that is far behind",
      doctor.assessClock({ theirs: 0, ours: 100, roundTripSeconds: 0.01 }),
      "fail",
      /100 s behind/,
    ],
    [
      "workers with as much each",
      doctor.assessWorkers([worker("a:1", 9e9), worker("b:1", 6e9)])[0]!,
      "ok",
      /^a:1 has 16 shards, 9\.0 GB; b:1 has 16 shards, 6\.0 GB$/,
    ],
    [
      "a worker with most of the data",
      doctor.assessWorkers([worker("a:1", 9e9), worker("b:1", 1e9)])[0]!,
      "warn",
      /a:1 has/,
    ],
    [
      "a worker that is away",
      doctor.assessWorkers([worker("a:1", 0), { ...worker("b:1", 0), isReachable: false }])[0]!,
      "fail",
      /^not reachable: b:1$/,
    ],
    [
      "the right schema",
      doctor.assessSchema({ state: "current", version: 2, problem: null }),
      "ok",
      /^version 2$/,
    ],
    [
      "no schema",
      doctor.assessSchema({ state: "missing", version: 0, problem: null }),
      "fail",
      /missing/,
    ],
    [
      "an old schema",
      doctor.assessSchema({ state: "older", version: 1, problem: null }),
      "fail",
      /version 1, this program needs \d+/,
    ],
    [
      "a later schema",
      doctor.assessSchema({ state: "newer", version: 3, problem: "it is newer" }),
      "fail",
      /^it is newer$/,
    ],
    ["a role that writes", doctor.assessRole(SERVER), "ok", /user ada can write and migrate/],
    [
      "a role that reads",
      doctor.assessRole({ ...SERVER, canWrite: false, canMigrate: false }),
      "ok",
      /user ada can only read/,
    ],
    [
      "a superuser",
      doctor.assessRole({ ...SERVER, isSuperuser: true }),
      "warn",
      /user ada is a superuser/,
    ],
    [
      "a replica that has everything",
      doctor.assessRole({ ...SERVER, isReplica: true, isStreaming: true, lagSeconds: 0 }),
      "ok",
      /^a replica, 0 s behind$/,
    ],
    [
      "a replica that is a little behind",
      doctor.assessRole({ ...SERVER, isReplica: true, isStreaming: true, lagSeconds: 3.2 }),
      "ok",
      /^a replica, at most 4 s behind$/,
    ],
    [
      "a replica that is far behind",
      doctor.assessRole({ ...SERVER, isReplica: true, isStreaming: true, lagSeconds: 600 }),
      "warn",
      /at most 600 s behind/,
    ],
    [
      "a replica that has lost its primary",
      doctor.assessRole({ ...SERVER, isReplica: true, lagSeconds: 3.2 }),
      "warn",
      /^a replica, disconnected from its primary$/,
    ],
    [
      "room",
      doctor.assessDisk("d", 50e9),
      "ok",
      /50\.0 GB free in d/,
    ],
    [
      "little room",
      doctor.assessDisk("d", 1.5e9),
      "warn",
      /1\.5 GB free in d/,
    ],
    [
      "no room",
      doctor.assessDisk("d", 12e6),
      "fail",
      /12 MB free/,
    ],
    ["the size of a server", doctor.assessSize(SERVER), "ok", /12 MB/],
    [
      "fresh results",
      doctor.assessFreshness(FRESH, { now: NOW }),
      "ok",
      /newest result 2026-09-21T14:13:20Z; repositories with .* last 14 days: 2 of 3/,
    ],
    [
      "a quiet week",
      doctor.assessFreshness(FRESH, { now: NOW + 7 * 86_400 }),
      "warn",
      /newest result/,
    ],
    [
      "nothing ever",
      doctor.assessFreshness({ ...FRESH, newestRecordedAt: null }, { now: NOW }),
      "warn",
      /no upload yet/,
    ],
  ];
  for (const [name, finding, status, text] of cases) {
    it(`${name}: ${status}`, () => {
      assert.equal(finding.status, status);
      assert.match(finding.finding, text);
      // Every problem has a hint.
      assert.equal(finding.hint !== "", status !== "ok");
    });
  }
});
