// Tests: tests/lib/gate/whole_run_test.ts
/** Files that ran before, are there to run, and are missing from the reports of a run. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { missingPlaces, type ReportedPlaces, type TestPlace } from "../../gate/whole_run.ts";
import type { EarlierRuns } from "../../gate/rule.ts";

/**
 * The expected places that are missing. A file that is not in the checkout was not there to run, as after a
 * deletion; where not even a reported file is, reports do not name files as the checkout does, which says
 * nothing.
 *
 * @param options.folder the root of the checkout, `""` when unknown
 */
export async function findMissingPlaces(
  earlier: Pick<EarlierRuns, "expectedPlaces"> | null,
  { places, folder }: { places: ReportedPlaces; folder: string },
): Promise<TestPlace[]> {
  const missing = missingPlaces(earlier?.expectedPlaces ?? [], places);
  if (folder === "" || missing.length === 0) return missing;
  const isThere = async (file: string) =>
    await stat(join(folder, file)).then((entry) => entry.isFile(), () => false);
  const reported = await Promise.all([...places.files].map(isThere));
  if (!reported.includes(true)) return missing;
  const there = await Promise.all(missing.map(({ file }) => file === "" || isThere(file)));
  return missing.filter((_, index) => there[index]);
}
