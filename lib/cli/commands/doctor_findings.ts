/** The findings of `doctor`, computed from what was measured. */
import type { SchemaStatus } from "../../../db/schema/migrate.ts";
import type {
  Freshness,
  ServerState,
  StuckArchives,
  TokenCounts,
} from "../../../db/admin/diagnostics.ts";
import { formatTimestamp, WINDOW_SECONDS } from "../../base/time.ts";

/** `fail`: something does not work. `warn`: it needs attention. */
export type FindingStatus = "ok" | "warn" | "fail";

/** One line of the report. */
export interface Finding {
  check: string;
  status: FindingStatus;
  finding: string;
  /** What to do; `""` for nothing. */
  hint: string;
}

// Timestamps have a precision of one second.
const CLOCK_WARN_SECONDS = 2;
const CLOCK_FAIL_SECONDS = 60;
// Uploads fail when the disk is full; a week of uploads is far less than the warning level.
const DISK_FAIL_BYTES = 200e6;
const DISK_WARN_BYTES = 2e9;
// An acceptable delay of results.
const LAG_WARN_SECONDS = 60;
const DAY_SECONDS = 86_400;
// A weekend, and a holiday before it.
const QUIET_WARN_SECONDS = 4 * DAY_SECONDS;
/** Tokens that expire sooner get a warning. */
export const TOKEN_SOON_SECONDS = 7 * DAY_SECONDS;

/** Compares the clock of the database with ours, which was read half a round trip earlier. */
export function assessClock(
  { theirs, ours, roundTripSeconds }: { theirs: number; ours: number; roundTripSeconds: number },
): Finding {
  const apart = Math.abs(theirs - ours);
  // The uncertainty is half the round trip.
  const seconds = Math.max(0, apart - roundTripSeconds / 2);
  const status = seconds < CLOCK_WARN_SECONDS
    ? "ok"
    : seconds < CLOCK_FAIL_SECONDS
    ? "warn"
    : "fail";
  return {
    check: "clock",
    status,
    finding: status === "ok"
      ? `the clocks of database and machine differ by less than ${CLOCK_WARN_SECONDS} s`
      : `the database clock is ${Math.round(seconds)} s ${theirs > ours ? "ahead of" : "behind"} ` +
        "the clock of this machine",
    hint: status === "ok"
      ? ""
      : "synchronize both machines by NTP: window and token expiry use the clock of serve, the " +
        "claims of watchers that of the database",
  };
}

/** Compares the schema with that of this program. */
export function assessSchema(
  { state, version, expected, problem }: SchemaStatus & { expected: number },
): Finding {
  const check = "schema";
  switch (state) {
    case "current":
      return { check, status: "ok", finding: `version ${version}`, hint: "" };
    case "newer":
      return {
        check,
        status: "fail",
        finding: `version ${version}, this program supports ${expected}`,
        hint: "use the version of this program that migrated it",
      };
    case "incompatible":
      return {
        check,
        status: "fail",
        finding: problem ?? "",
        hint: "keep a backup until the reports are uploaded again",
      };
    default:
      return {
        check,
        status: "fail",
        finding: state === "missing"
          ? "missing"
          : `version ${version}, this program needs ${expected}`,
        hint: "run `test-analytics migrate` as a user that can create tables",
      };
  }
}

/** The user, and the role of the server. */
export function assessRole(
  { user, isSuperuser, canWrite, canMigrate, isReplica, isStreaming, lagSeconds }: ServerState,
): Finding {
  const check = "role";
  if (isReplica) {
    const isLate = !isStreaming || lagSeconds !== null && lagSeconds > LAG_WARN_SECONDS;
    const lag = lagSeconds === null
      ? "lag unknown"
      : lagSeconds === 0
      ? "0 s behind"
      : isStreaming
      ? `at most ${Math.ceil(lagSeconds)} s behind`
      : `last change ${Math.round(lagSeconds)} s ago`;
    return {
      check,
      status: isLate ? "warn" : "ok",
      finding: `a replica, ${isStreaming ? "" : "disconnected from its primary, "}${lag}`,
      hint: isLate ? "check the log of the replica and pg_stat_replication on the primary" : "",
    };
  }
  const rights = isSuperuser
    ? "is a superuser"
    : canMigrate
    ? "can write and migrate"
    : canWrite
    ? "can write, not migrate"
    : "can only read";
  return {
    check,
    status: isSuperuser ? "warn" : "ok",
    finding: `user ${user} ${rights}`,
    hint: isSuperuser ? "a read-only role is enough for serve: see deploy/read_only_role.sql" : "",
  };
}

/** Free space of the data folder. */
export function assessDisk(
  { path, freeBytes, databaseBytes }: {
    path: string;
    freeBytes: number;
    databaseBytes: number | null;
  },
): Finding {
  const status = freeBytes < DISK_FAIL_BYTES ? "fail" : freeBytes < DISK_WARN_BYTES ? "warn" : "ok";
  return {
    check: "disk",
    status,
    finding: `${formatBytes(freeBytes)} free in ${path}` +
      (databaseBytes === null ? "" : `, database size ${formatBytes(databaseBytes)}`),
    hint: status === "ok" ? "" : "free space or move the folder: uploads fail on a full disk",
  };
}

/** Size of the database on a server, whose free space is unknown. */
export function assessSize({ databaseBytes }: ServerState): Finding {
  return {
    check: "disk",
    status: "ok",
    finding: `database size ${formatBytes(databaseBytes)}; free space of the server unknown`,
    hint: "",
  };
}

/** How recent the results are. */
export function assessFreshness(
  { organizationCount, repositoryCount, activeRepositoryCount, newestRecordedAt }: Freshness,
  { now }: { now: number },
): Finding {
  const check = "uploads";
  if (organizationCount === 0) {
    return {
      check,
      status: "warn",
      finding: "no organization",
      hint: "run `test-analytics org create NAME`",
    };
  }
  if (newestRecordedAt === null) {
    return {
      check,
      status: "warn",
      finding: "no upload yet",
      hint: "see `test-analytics ingest --help`, or `test-analytics watch --help`",
    };
  }
  const age = now - newestRecordedAt;
  const isQuiet = age > QUIET_WARN_SECONDS;
  return {
    check,
    status: isQuiet ? "warn" : "ok",
    finding: `newest result ${formatTimestamp(newestRecordedAt)}; ` +
      `${activeRepositoryCount} of ${repositoryCount} repositories have results in the last ` +
      `${WINDOW_SECONDS / DAY_SECONDS} days`,
    hint: isQuiet ? "check that CI uploads and that a watcher is running" : "",
  };
}

/** The valid tokens. */
export function assessTokens({ validCount, expiringCount }: TokenCounts): Finding {
  const check = "tokens";
  if (validCount === 0) {
    return {
      check,
      status: "warn",
      finding: "no valid token",
      hint: "run `test-analytics token create --org NAME`",
    };
  }
  const expiring = `${expiringCount} expire${expiringCount === 1 ? "s" : ""} within 7 days`;
  return {
    check,
    status: expiringCount > 0 ? "warn" : "ok",
    finding: `${validCount} valid` + (expiringCount > 0 ? `, ${expiring}` : ""),
    hint: expiringCount > 0
      ? "see `test-analytics token list --org NAME`, and create new ones in time"
      : "",
  };
}

/** Failed and abandoned archives, one finding per source. */
export function assessArchives(troubles: readonly StuckArchives[]): Finding[] {
  const check = "archives";
  if (troubles.length === 0) {
    return [{ check, status: "ok", finding: "none failed or abandoned", hint: "" }];
  }
  return troubles.map(({ source, failedCount, abandonedCount }) => ({
    check,
    status: "warn",
    finding: `${source}: ${failedCount} failed, ${abandonedCount} abandoned`,
    hint: failedCount > 0
      ? `see \`test-analytics watch --list ${source}\`; --retry-failed retries them`
      : `no watcher is running: start \`test-analytics watch ${source}\``,
  }));
}

const UNITS = ["B", "kB", "MB", "GB", "TB"];

function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1000 && unit < UNITS.length - 1; unit++) value /= 1000;
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}
