/** Files and classes that ran before and are missing from a run. */
import type { TestIdentity } from "../base/identity.ts";

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

/** A file or class, as it is named to people. */
export function placeName({ file, class: className }: TestPlace): string {
  return file || className;
}
