import * as v from "valibot";
import { listOrganizations } from "../../../db/admin/organizations.ts";
import type { Repository } from "../../../db/admin/repositories.ts";
import type { Database } from "../../../db/connection/connect.ts";
import { planPrune, type Pruned, pruneRepository, reclaimSpace } from "../../../db/write/prune.ts";
import { formatRepositoryName, type RepositoryName } from "../../base/repository_name.ts";
import { formatTimestamp, SECONDS_PER_DAY, WINDOW_SECONDS } from "../../base/time.ts";
import { type AddCommand, command } from "../command.ts";
import { duration, flag, lineOfText, option, repositoryName } from "../parameters.ts";
import { Failure, UsageError } from "../errors.ts";
import { progressLine } from "../output.ts";
import { requireOrganization, selectRepositories } from "../resources.ts";

const WINDOW_DAYS = WINDOW_SECONDS / SECONDS_PER_DAY;

export const pruneCommand: AddCommand = command({
  name: "prune",
  summary: "Delete old submissions; lists organization, OWNER/NAME, and the deleted " +
    "submissions and results",
  example: "prune --keep 90d",
  moreExamples: ["prune --keep 26w --org acme --repo acme/shop --dry-run"],
  details: [
    "Deletes what was recorded before now minus --keep, in batches, so that requests and uploads go " +
    "on; after an interruption, run it again. The API's responses do not change: first disruptions, " +
    "quarantined tests and the latest coverage of each repository are kept. A submission is kept " +
    "while the same code has newer ones. Lists the repositories with deletions.",
  ],
  input: {
    keep: option(
      "<duration>",
      `history to keep, such as 90d; at least ${WINDOW_DAYS}d`,
      duration({ min: WINDOW_SECONDS }),
    ),
    // An unset shell variable must not delete more.
    org: option("<name>", "only this organization (default: all)", v.undefinedable(lineOfText)),
    repo: option(
      "<owner/name>",
      "only this repository; needs --org",
      v.undefinedable(repositoryName),
    ),
    dryRun: flag("delete nothing, only list what would be deleted"),
  },
  async run({ keep, org, repo, dryRun }, context) {
    const { io } = context;
    if (repo !== undefined && org === undefined) {
      throw new UsageError("--org: missing: --repo needs it");
    }
    const database = await context.openDatabase();
    const cutoff = context.now - keep;
    const progress = progressLine(io);
    const total: Pruned = { submissionCount: 0, testResultCount: 0 };
    const rows: Record<string, string | number>[] = [];
    try {
      for (const { organization, repository } of await findTargets(database, { org, repo })) {
        if (!dryRun && io.stop.aborted) break;
        const { repositoryId } = repository;
        const name = formatRepositoryName(repository);
        const onBatch = (batch: Pruned) =>
          progress.show(
            `${name}: ${total.submissionCount + batch.submissionCount} submissions, ` +
              `${total.testResultCount + batch.testResultCount} results deleted`,
          );
        const options = { repositoryId, cutoff, stop: io.stop, onBatch };
        if (!dryRun) {
          // Written first: an interrupted run has deleted something too.
          const detail = { before: formatTimestamp(cutoff) };
          await context.logChange(database.sql, { ...repository, subject: name, detail });
        }
        const pruned = dryRun
          ? await planPrune(database.sql, options)
          : await pruneRepository(database.sql, options);
        const { submissionCount, testResultCount } = pruned;
        total.submissionCount += submissionCount;
        total.testResultCount += testResultCount;
        if (submissionCount === 0) continue;
        rows.push({
          organization,
          repository: name,
          submission_count: submissionCount,
          test_result_count: testResultCount,
        });
      }
      // Also after a first signal: there may be no later run.
      if (!dryRun && rows.length > 0) await reclaimSpace(database, io.stopAtOnce);
    } finally {
      progress.clear();
    }
    await context.printList(rows);
    if (!dryRun && io.stop.aborted) {
      throw new Failure("stopped before the end: run it again to continue");
    }
  },
});

async function findTargets(
  { sql }: Database,
  { org, repo }: { org: string | undefined; repo: RepositoryName | undefined },
): Promise<{ organization: string; repository: Repository }[]> {
  const organizations = org === undefined
    ? await listOrganizations(sql)
    : [await requireOrganization(sql, org)];
  const targets = await Promise.all(organizations.map(async (organization) => {
    const repositories = await selectRepositories(sql, organization, repo);
    return repositories.map((repository) => ({ organization: organization.name, repository }));
  }));
  return targets.flat();
}
