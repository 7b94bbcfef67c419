/** What `doctor` tells of one subject. Judged here, without a database, a clock or a disk. */
import type { SchemaStatus } from "../../../db/schema/migrate.ts";
import type {
  Freshness,
  ServerState,
  StuckArchives,
  TokenCounts,
} from "../../../db/admin/diagnostics.ts";
import { formatTimestamp, WINDOW_SECONDS } from "../../base/time.ts";

/** `fail`: something does not work; `warn`: it will not for long, or not as well as it could. */
export type FindingStatus = "ok" | "warn" | "fail";

/** One line of the report. */
export interface Finding {
  check: string;
  status: FindingStatus;
  finding: string;
  /** What to do about it; `""` when there is nothing to do. */
  hint: string;
}

// Time stamps have seconds; a token's expiry and a watcher's claim are judged by different clocks.
const CLOCK_WARN_SECONDS = 2;
const CLOCK_FAIL_SECONDS = 60;
// A database that cannot grow stops at the next upload; a week of uploads is well below this.
const DISK_FAIL_BYTES = 200e6;
const DISK_WARN_BYTES = 2e9;
// Further behind than anybody waits for a result to appear.
const LAG_WARN_SECONDS = 60;
const DAY_SECONDS = 86_400;
// A weekend, and a holiday before it.
const QUIET_WARN_SECONDS = 4 * DAY_SECONDS;
/** Tokens that expire sooner are told of. */
export const TOKEN_SOON_SECONDS = 7 * DAY_SECONDS;

/** The server's clock against ours, of which the answer took `roundTripSeconds`. */
export function judgeClock(
  { theirs, ours, roundTripSeconds }: { theirs: number; ours: number; roundTripSeconds: number },
): Finding {
  const apart = Math.abs(theirs - ours);
  // Half the way is the best guess of when it looked; the other half is the doubt.
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
      ? `the database's and this machine's agree to within ${CLOCK_WARN_SECONDS} s`
      : `the database's is ${Math.round(seconds)} s ${theirs > ours ? "ahead of" : "behind"} ` +
        "this machine's",
    hint: status === "ok"
      ? ""
      : "let both machines follow a time server: the window and the expiry of tokens go by the " +
        "clock of serve, the claims of watchers by the database's",
  };
}

/** The schema against this program's. */
export function judgeSchema(
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
        finding: `version ${version}, and this program knows ${expected}`,
        hint: "use the later version of this program that migrated it",
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
          ? "there is none yet"
          : `version ${version}, and this program needs ${expected}`,
        hint: "run `test-analytics migrate` as a user who may create tables",
      };
  }
}

/** Who connects, and to what kind of server. */
export function judgeRole(
  { user, isSuperuser, canMigrate, isReplica, isStreaming, lagSeconds }: ServerState,
): Finding {
  const check = "role";
  if (isReplica) {
    const isLate = !isStreaming || lagSeconds !== null && lagSeconds > LAG_WARN_SECONDS;
    const lag = lagSeconds === null
      ? "how far behind is not known"
      : lagSeconds === 0
      ? "0 s behind"
      : isStreaming
      ? `at most ${Math.ceil(lagSeconds)} s behind`
      : `its last change is ${Math.round(lagSeconds)} s old`;
    return {
      check,
      status: isLate ? "warn" : "ok",
      finding: `a replica, ${isStreaming ? "" : "without a connection to its primary, "}${lag}`,
      hint: isLate ? "look at the replica's log, and at pg_stat_replication of the primary" : "",
    };
  }
  return {
    check,
    status: isSuperuser ? "warn" : "ok",
    finding: `user ${user}` +
      (isSuperuser ? " is a superuser" : canMigrate ? " may write" : " may only read"),
    hint: isSuperuser
      ? "serve needs to read only: deploy/read_only_role.sql makes a role for it"
      : "",
  };
}

/** Room where the data is. */
export function judgeDisk(
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
      (databaseBytes === null ? "" : `, the database has ${formatBytes(databaseBytes)}`),
    hint: status === "ok" ? "" : "make room or move the folder: uploads fail when it is full",
  };
}

/** How big the database of a server is; only its own machine knows what is free. */
export function judgeSize({ databaseBytes }: ServerState): Finding {
  return {
    check: "disk",
    status: "ok",
    finding: `the database has ${formatBytes(databaseBytes)}; what is free, its machine knows`,
    hint: "",
  };
}

/** Whether results arrive. */
export function judgeFreshness(
  { organizationCount, repositoryCount, activeRepositoryCount, newestRecordedAt }: Freshness,
  { now }: { now: number },
): Finding {
  const check = "uploads";
  if (organizationCount === 0) {
    return {
      check,
      status: "warn",
      finding: "there is no organization",
      hint: "run `test-analytics org create NAME`",
    };
  }
  if (newestRecordedAt === null) {
    return {
      check,
      status: "warn",
      finding: "nothing was ever uploaded",
      hint: "see `test-analytics ingest --help`, or `test-analytics watch --help`",
    };
  }
  const age = now - newestRecordedAt;
  const isQuiet = age > QUIET_WARN_SECONDS;
  return {
    check,
    status: isQuiet ? "warn" : "ok",
    finding: `the newest result is of ${formatTimestamp(newestRecordedAt)}; ` +
      `${activeRepositoryCount} of ${repositoryCount} repositories have results in the last ` +
      `${WINDOW_SECONDS / DAY_SECONDS} days`,
    hint: isQuiet ? "look whether CI still uploads, and whether a watcher runs" : "",
  };
}

/** Whether anybody can ask. */
export function judgeTokens({ validCount, expiringCount }: TokenCounts): Finding {
  const check = "tokens";
  if (validCount === 0) {
    return {
      check,
      status: "warn",
      finding: "none is valid, so nobody can ask",
      hint: "run `test-analytics token create --org NAME`",
    };
  }
  const expiring = `${expiringCount} expire${expiringCount === 1 ? "s" : ""} within 7 days`;
  return {
    check,
    status: expiringCount > 0 ? "warn" : "ok",
    finding: `${validCount} valid` + (expiringCount > 0 ? `, ${expiring}` : ""),
    hint: expiringCount > 0
      ? "`test-analytics token list --org NAME` shows them; create others in time"
      : "",
  };
}

/** Archives that wait for somebody: a line for each source. */
export function judgeArchives(troubles: readonly StuckArchives[]): Finding[] {
  const check = "archives";
  if (troubles.length === 0) {
    return [{ check, status: "ok", finding: "none failed, none is left behind", hint: "" }];
  }
  return troubles.map(({ source, failedCount, abandonedCount }) => ({
    check,
    status: "warn",
    finding: `${source}: ${failedCount} failed, ${abandonedCount} left behind`,
    hint: failedCount > 0
      ? `\`test-analytics watch --list ${source}\` tells why, --retry-failed tries again`
      : `no watcher runs there: start \`test-analytics watch ${source}\``,
  }));
}

const UNITS = ["B", "kB", "MB", "GB", "TB"];

function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1000 && unit < UNITS.length - 1; unit++) value /= 1000;
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}
