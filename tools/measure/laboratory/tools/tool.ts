/** How a tool of the laboratory is installed and run, and what is true of the planted tests. */
import { PLANTED, type Run, type Truth } from "../verdicts.ts";

export interface Tool {
  /** Folder of the project in `projects/`; the tool's own name if missing. */
  project?: string;
  /** Packages of npm; their commands are first in the path. */
  npm?: string[];
  /** Packages of Debian. */
  debian?: string[];
  /** Packages of Python newer than Debian's, whose sources were brought by hand: `LABORATORY_PYTHONPATH`. */
  python?: string[];
  /** Shell commands that prepare a fresh copy of the project. */
  prepare?: string;
  runs: Record<string, ToolRun>;
}

interface ToolRun extends Omit<Run, "truth" | "files"> {
  /** Reports that the command writes; a pattern of the shell. */
  files?: string;
  /** What is true of the planted tests of the project. */
  truth: Record<string, Truth>;
}

/** Some of the planted tests. */
export function planted(...names: (keyof typeof PLANTED)[]): Record<string, Truth> {
  return Object.fromEntries(names.map((name) => [name, PLANTED[name]]));
}

export const HOOKS = planted("errors in set up", "errors in tear down");
export const BASIC = planted("passes", "always fails", "is skipped");
export const WITH_RETRIES = {
  ...BASIC,
  ...planted("fails then passes", "passes then fails"),
};
export const WITHOUT_RETRIES = { ...BASIC, ...planted("passes then fails") };
/** Two tests of one name, of which one fails: the second, the first. */
export const SAME_NAME = planted("same name", "same name fails first");
export const TWO_FILES = { "same name in two files": "failing" } as const;

export const SECOND_REPORT =
  "turn retries off and run failed tests again with a report of their own";
export const LAST_ATTEMPT_ONLY = `only the last attempt is reported: ${SECOND_REPORT}`;
export const CTRF = `only the last attempt is reported: upload CTRF, or ${SECOND_REPORT}`;
/** Reports of two tools, which a merger makes one. */
export const TO_BE_MERGED = "$FIXTURES/vitest/retries.xml $FIXTURES/pytest_flaky_3_8/max_runs.xml";
export const MERGED: Record<string, Truth> = {
  "test cart test always fails": "failing",
  "test cart test fails then passes": "flaky",
  "cart same name": "failing",
  "cart same name fails first": "failing",
};
/** Of pytest-rerunfailures. */
export const BEFORE_16_7 = "versions before 16.7 keep the last attempt only: update, or run " +
  "`pytest --last-failed` with a second report";
