/** Files and classes that ran before and are missing from a run. */
import type { TestIdentity } from "../base/identity.ts";
import { formatCount } from "../base/text.ts";

/** A file with tests and the class of one of them, or a class of tests without a file. */
export interface TestPlace {
  /** `""` for a class of tests without a file. */
  file: string;
  class: string;
}

/** What is in the reports of a run. */
export interface ReportedPlaces {
  files: ReadonlySet<string>;
  classes: ReadonlySet<string>;
  /** Classes of tests without a file. */
  classesWithoutFile: ReadonlySet<string>;
}

/** The places of some tests. */
export function placesOf(tests: Iterable<TestIdentity>): ReportedPlaces {
  const files = new Set<string>();
  const classes = new Set<string>();
  const classesWithoutFile = new Set<string>();
  for (const { file, class: className } of tests) {
    classes.add(className);
    if (file === "") classesWithoutFile.add(className);
    else files.add(file);
  }
  return { files, classes, classesWithoutFile };
}

/**
 * The expected places of which no test is in the reports. Some reports name a test with its file and others
 * without one, which is found by its class.
 */
export function missingPlaces(
  expected: readonly TestPlace[],
  { files, classes, classesWithoutFile }: ReportedPlaces,
): TestPlace[] {
  return expected.filter(({ file, class: className }) =>
    file === "" ? !classes.has(className) : !files.has(file) && !classesWithoutFile.has(className)
  );
}

/** Named at most. */
const MAX_NAMED = 3;

/**
 * What says that a run is not whole, such as `212 of about 482 tests ran; 3 test processes ended without a
 * report`; `null` when nothing does.
 *
 * @param run.missing the tests that are missing by their number
 * @param run.cutOffCount reports that are empty or cut off
 */
export function sayNotWhole(
  { missing, places, cutOffCount }: {
    missing: string | null;
    places: readonly TestPlace[];
    cutOffCount: number;
  },
): string | null {
  const parts = missing === null ? [] : [missing];
  const ended = places.length + cutOffCount;
  if (ended > 0) {
    const names = places.slice(0, MAX_NAMED).map(({ file, class: className }) => file || className);
    const more = places.length > MAX_NAMED ? ", ..." : "";
    const which = places.length === 0
      ? ""
      : `, unlike the last 3 runs on the base branch: ${names.join(", ")}${more}`;
    const processes = `${formatCount(ended)} test ${ended === 1 ? "process" : "processes"}`;
    parts.push(`${processes} ended without a report${which}`);
  }
  return parts.length === 0 ? null : parts.join("; ");
}
