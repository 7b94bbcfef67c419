import * as v from "valibot";
import { listOrganizations } from "../../../db/admin/organizations.ts";
import type { Repository } from "../../../db/admin/repositories.ts";
import { planPrune, type Pruned, pruneRepository, reclaimSpace } from "../../../db/write/prune.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { formatTimestamp, SECONDS_PER_DAY, WINDOW_SECONDS } from "../../base/time.ts";
import { jsonRecord } from "../../base/json_record.ts";
import { type AddCommand, command } from "../command.ts";
import { flag, option, repositoryName } from "../parameters.ts";
import { duration, lineOfText } from "../../base/value_schemas.ts";
import { Failure, UsageError } from "../../base/failure.ts";
import { progressLine } from "../output.ts";
import { requireOrganization, selectRepositories } from "../organization.ts";

const WINDOW_DAYS = WINDOW_SECONDS / SECONDS_PER_DAY;

export const pruneCommand: AddCommand = command({
  name: "prune",
  summary: "Delete old submissions; list organization, OWNER/NAME, and the number of deleted " +
    "submissions and results",
  example: "prune --keep 90d",
  moreExamples: ["prune --keep 26w --org acme --repo acme/shop --dry-run"],
  details: [
    "Deletes what was recorded before now minus --keep, in batches, so that requests and uploads " +
    "continue; after an interruption, run it again. Lists and badges of the window do not change: first " +
    "disruptions, quarantined tests and the latest coverage of each repository are kept. Evidence and " +
    "histories look at the submissions that are left. A submission is kept while the same code has newer " +
    "ones. Lists the repositories with deletions.",
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
    dryRun: flag("list what would be deleted without deleting it"),
  },
  async run({ keep, org, repo, dryRun }, context) {
    const { io } = context;
    if (repo !== undefined && org === undefined) {
      throw new UsageError("--org: missing: --repo requires it");
    }
    const database = await context.openDatabase();
    const { sql } = database;
    const { stop } = io;
    const cutoff = context.now - keep;
    const organizations = org === undefined
      ? await listOrganizations(sql)
      : [await requireOrganization(sql, org)];
    const progress = progressLine(io);
    const onRepository = async (repository: Repository): Promise<Pruned> => {
      const { repositoryId } = repository;
      if (dryRun) return await planPrune(sql, { repositoryId, cutoff });
      const subject = formatRepositoryName(repository);
      // Written first: an interrupted run has deleted something too.
      const detail = { before: formatTimestamp(cutoff) };
      await context.logChange(sql, { ...repository, subject, detail });
      const onBatch = ({ submissionCount, testResultCount }: Pruned) =>
        progress.show(
          `${subject}: ${submissionCount} submissions, ${testResultCount} results deleted`,
        );
      return await pruneRepository(sql, { repositoryId, cutoff, stop, onBatch });
    };
    const rows = [];
    try {
      for (const organization of organizations) {
        for (const repository of await selectRepositories(sql, organization, repo)) {
          if (!dryRun && stop.aborted) break;
          const pruned = await onRepository(repository);
          if (pruned.submissionCount === 0) continue;
          rows.push(jsonRecord({
            organization: organization.name,
            repository: formatRepositoryName(repository),
            ...pruned,
          }));
        }
      }
      // Also after a first signal: there may be no later run.
      if (!dryRun && rows.length > 0) await reclaimSpace(database, io.stopAtOnce);
    } finally {
      progress.clear();
    }
    await context.printList(rows);
    if (!dryRun && stop.aborted) {
      throw new Failure("stopped before the end: run it again to continue");
    }
  },
});
