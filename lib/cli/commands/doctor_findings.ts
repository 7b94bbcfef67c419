/** The findings of `doctor`, computed from what was measured. */
import type { Freshness, ServerState } from "../../../db/admin/diagnostics.ts";
import type { Worker } from "../../../db/schema/distribute.ts";
import { SCHEMA_VERSION, type SchemaStatus } from "../../../db/schema/migrate.ts";
import { formatTimestamp, SECONDS_PER_DAY, WINDOW_SECONDS } from "../../base/time.ts";
import { PROGRAM } from "../../base/version.ts";

/** One line of the report. */
export interface Finding {
  /** `fail`: something does not work. `warn`: it needs attention. */
  status: "ok" | "warn" | "fail";
  check: string;
  finding: string;
  /** The next step; `""` for none. */
  hint: string;
}

// Timestamps have a precision of one second.
const CLOCK_WARN_SECONDS = 2;
const CLOCK_FAIL_SECONDS = 60;
// Uploads fail when the disk is full; a week of uploads is far less than the warning level.
const DISK_FAIL_BYTES = 200e6;
const DISK_WARN_BYTES = 2e9;
// Below it, moving data brings nothing.
const SKEW_WARN_BYTES = 1e9;
// An acceptable delay of results.
const LAG_WARN_SECONDS = 60;
// A weekend, and a holiday before it.
const QUIET_WARN_SECONDS = 4 * SECONDS_PER_DAY;

const maker = (status: Finding["status"]) => (check: string, finding: string, hint = "") => ({
  status,
  check,
  finding,
  hint,
});
export const ok = maker("ok");
export const warn = maker("warn");
export const fail = maker("fail");

/** Compares the clock of the database with ours, which was read half a round trip earlier. */
export function assessClock(
  { theirs, ours, roundTripSeconds }: { theirs: number; ours: number; roundTripSeconds: number },
): Finding {
  // The uncertainty is half the round trip.
  const seconds = Math.max(0, Math.abs(theirs - ours) - roundTripSeconds / 2);
  if (seconds < CLOCK_WARN_SECONDS) {
    return ok(
      "clock",
      `clocks of database and machine differ by less than ${CLOCK_WARN_SECONDS} s`,
    );
  }
  return (seconds < CLOCK_FAIL_SECONDS ? warn : fail)(
    "clock",
    `the database clock is ${Math.round(seconds)} s ${theirs > ours ? "ahead of" : "behind"} ` +
      "the clock of this machine",
    "synchronize both machines by NTP: window and token expiry use the clock of serve, the " +
      "claims of watchers that of the database",
  );
}

/** Compares the schema with that of this program. */
export function assessSchema({ state, version, problem }: SchemaStatus): Finding {
  if (state === "current") return ok("schema", `version ${version}`);
  // The problem says what to do about it.
  if (problem !== null) return fail("schema", problem, "keep a backup until it works again");
  const found = state === "missing" ? "missing" : `version ${version}`;
  return fail(
    "schema",
    `${found}, this program needs ${SCHEMA_VERSION}`,
    `run \`${PROGRAM} migrate\` as a user that can create tables`,
  );
}

/** The user, and the role of the server. */
export function assessRole(
  { user, isSuperuser, canWrite, canMigrate, isReplica, isStreaming, lagSeconds }: ServerState,
): Finding {
  if (isReplica) {
    const lag = lagSeconds === null
      ? "lag unknown"
      : `${lagSeconds === 0 ? "" : "at most "}${Math.ceil(lagSeconds)} s behind`;
    const finding = `a replica, ${isStreaming ? lag : "disconnected from its primary"}`;
    if (isStreaming && (lagSeconds ?? 0) <= LAG_WARN_SECONDS) return ok("role", finding);
    const hint = "check the log of the replica and pg_stat_replication on the primary";
    return warn("role", finding, hint);
  }
  if (isSuperuser) {
    const hint = "a read-only role is enough for serve: see deploy/read_only_role.sql";
    return warn("role", `user ${user} is a superuser`, hint);
  }
  const rights = canMigrate
    ? "can write and migrate"
    : canWrite
    ? "can write, not migrate"
    : "can only read";
  return ok("role", `user ${user} ${rights}`);
}

/** Free space of the data folder. */
export function assessDisk(path: string, freeBytes: number): Finding {
  const finding = `${formatBytes(freeBytes)} free in ${path}`;
  if (freeBytes >= DISK_WARN_BYTES) return ok("disk", finding);
  const hint = "free space or move the folder: uploads fail on a full disk";
  return (freeBytes < DISK_FAIL_BYTES ? fail : warn)("disk", finding, hint);
}

/** Size of the database on a server, whose free space is unknown. */
export function assessSize({ databaseBytes }: ServerState): Finding {
  const size = formatBytes(databaseBytes);
  return ok("disk", `database size ${size}; free space of the server unknown`);
}

/** The workers of a cluster. */
export function assessWorkers(workers: readonly Worker[]): Finding[] {
  if (workers.length === 0) return [];
  const away = workers.filter(({ isReachable }) => !isReachable).map(({ name }) => name);
  if (away.length > 0) {
    const hint = "start it; until then its repositories answer with 500, and uploads to them fail";
    return [fail("workers", `not reachable: ${away.join(", ")}`, hint)];
  }
  const listed = workers.map(({ name, shardCount, bytes }) =>
    `${name} has ${shardCount} shards, ${formatBytes(bytes)}`
  );
  const sizes = workers.map(({ bytes }) => bytes);
  const isSkewed = Math.max(...sizes) > SKEW_WARN_BYTES + 2 * Math.min(...sizes);
  return [
    isSkewed
      ? warn("workers", listed.join("; "), "move data with `select citus_rebalance_start()`")
      : ok("workers", listed.join("; ")),
  ];
}

/** How recent the results are. */
export function assessFreshness(
  { repositoryCount, activeRepositoryCount, newestRecordedAt }: Freshness,
  { now }: { now: number },
): Finding {
  if (newestRecordedAt === null) {
    return warn("uploads", "no upload yet", `see \`${PROGRAM} ingest --help\``);
  }
  const finding = `newest result ${formatTimestamp(newestRecordedAt)}; ` +
    `repositories with results in the last ${WINDOW_SECONDS / SECONDS_PER_DAY} days: ` +
    `${activeRepositoryCount} of ${repositoryCount}`;
  return now - newestRecordedAt > QUIET_WARN_SECONDS
    ? warn("uploads", finding, "check that CI uploads and that a watcher is running")
    : ok("uploads", finding);
}

function formatBytes(bytes: number): string {
  return bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
