import * as v from "valibot";
import type { Database } from "../../../db/connection/connect.ts";
import { listOrganizations } from "../../../db/admin/organizations.ts";
import {
  addPruned,
  nothingPruned,
  planPrune,
  type Pruned,
  pruneRepository,
  reclaimSpace,
} from "../../../db/write/prune.ts";
import { listRepositories, type Repository } from "../../../db/admin/repositories.ts";
import { formatRepositoryName, type RepositoryName } from "../../base/repository_name.ts";
import { WINDOW_SECONDS } from "../../base/time.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { Failure } from "../errors.ts";
import { requireOrganization, requireRepository } from "../resources.ts";
import { progressLine } from "../intake/progress.ts";
import { durationOfDays, lineOfText, repositoryName } from "../values.ts";

const WINDOW_DAYS = WINDOW_SECONDS / 86_400;

const input = v.pipe(
  v.object({
    keep: durationOfDays({ min: WINDOW_DAYS, what: "the window of the API" }),
    org: v.optional(lineOfText),
    repo: v.optional(repositoryName),
    dryRun: v.optional(v.boolean(), false),
  }),
  v.forward(
    v.partialCheck(
      [["org"], ["repo"]],
      ({ org, repo }) => repo === undefined || org !== undefined,
      "missing: --repo needs it",
    ),
    ["org"],
  ),
);

/** `prune`. */
export const pruneCommand: AddCommand = command({
  name: "prune",
  summary: "Delete old submissions; lists organization, OWNER/NAME, and the deleted " +
    "submissions, results, coverage reports, tests",
  example: "prune --keep 90d",
  moreExamples: ["prune --keep 26w --org acme --repo acme/shop --dry-run"],
  details: [
    "Deletes what was recorded before now minus --keep, in batches, so that requests and uploads go " +
    "on; after an interruption, run it again. The API's responses do not change: first disruptions, " +
    "quarantined tests and the latest coverage of each repository are kept. A submission is kept " +
    "while the same code has newer ones. Lists the repositories with deletions.",
  ],
  options: {
    "--keep <duration>": `history to keep, such as 90d; at least ${WINDOW_DAYS}d`,
    "--org <name>": "only this organization (default: all)",
    "--repo <owner/name>": "only this repository; needs --org",
    "--dry-run": "delete nothing, only list what would be deleted",
  },
  input,
  async run({ keep, org, repo, dryRun }, context) {
    const { io } = context;
    const database = await context.openDatabase();
    const targets = await findTargets(database, { org, repo });
    const cutoff = context.now - keep;
    const rows = dryRun
      ? await planAll(database, { targets, cutoff })
      : await pruneAll(database, { targets, cutoff, context });
    await context.printList(rows.map(record), (row) => [
      row.organization,
      row.repository,
      row.submission_count,
      row.test_result_count,
      row.coverage_report_count,
      row.test_count,
    ]);
    if (!dryRun && io.stop.aborted) {
      throw new Failure("stopped before the end: run it again to continue");
    }
  },
});

interface Target {
  organization: string;
  repository: Repository;
}

type Row = Target & { pruned: Pruned };

async function findTargets(
  { sql }: Database,
  { org, repo }: { org: string | undefined; repo: RepositoryName | undefined },
): Promise<Target[]> {
  const organizations = org === undefined
    ? await listOrganizations(sql)
    : [await requireOrganization(sql, org)];
  const targets: Target[] = [];
  for (const organization of organizations) {
    const repositories = repo === undefined
      ? await listRepositories(sql, organization.organizationId)
      : [await requireRepository(sql, organization, repo)];
    for (const repository of repositories) {
      targets.push({ organization: organization.name, repository });
    }
  }
  return targets;
}

async function planAll(
  { sql }: Database,
  { targets, cutoff }: { targets: Target[]; cutoff: number },
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const target of targets) {
    const { repositoryId } = target.repository;
    rows.push({ ...target, pruned: await planPrune(sql, { repositoryId, cutoff }) });
  }
  return rows.filter(hasDeletions);
}

async function pruneAll(
  database: Database,
  { targets, cutoff, context }: { targets: Target[]; cutoff: number; context: CommandContext },
): Promise<Row[]> {
  const { io } = context;
  const progress = progressLine(io);
  const rows: Row[] = [];
  const before = nothingPruned();
  try {
    for (const target of targets) {
      if (io.stop.aborted) break;
      const name = formatRepositoryName(target.repository);
      const pruned = await pruneRepository(database.sql, {
        repositoryId: target.repository.repositoryId,
        cutoff,
        stop: io.stop,
        onBatch(batch) {
          progress.show(
            `${name}: ${before.submissionCount + batch.submissionCount} submissions, ` +
              `${before.testResultCount + batch.testResultCount} results, ` +
              `${before.testCount + batch.testCount} tests deleted`,
          );
        },
      });
      addPruned(before, pruned);
      rows.push({ ...target, pruned });
    }
    // Also after a first signal: there may be no later run.
    if (rows.some(hasDeletions)) await reclaimSpace(database, io.stopAtOnce);
  } finally {
    progress.clear();
  }
  return rows.filter(hasDeletions);
}

function hasDeletions({ pruned }: Row): boolean {
  return Object.values(pruned).some((count) => count > 0);
}

/** JSON of the deletions in a repository. */
function record({ organization, repository, pruned }: Row) {
  return {
    organization,
    repository: formatRepositoryName(repository),
    submission_count: pruned.submissionCount,
    test_result_count: pruned.testResultCount,
    coverage_report_count: pruned.coverageReportCount,
    test_list_count: pruned.testListCount,
    test_count: pruned.testCount,
  };
}
