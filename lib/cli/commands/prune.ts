import type { Command } from "commander";
import * as v from "valibot";
import type { Database } from "../../../db/connection/connect.ts";
import { listOrganizations } from "../../../db/admin/organizations.ts";
import { addPruned, nothingPruned, type Pruned, pruneRepository } from "../../../db/write/prune.ts";
import { planPrune, reclaimSpace } from "../../../db/write/prune_plan.ts";
import { listRepositories, type Repository } from "../../../db/admin/repositories.ts";
import { formatRepositoryName, type RepositoryName } from "../../base/repository_name.ts";
import { WINDOW_SECONDS } from "../../base/time.ts";
import { addCommand, type CliIo, type CommandContext } from "../command.ts";
import { Failure } from "../errors.ts";
import { requireOrganization, requireRepository } from "../lookup.ts";
import { progressLine } from "../intake/progress.ts";
import { durationOfDays, lineOfText, repositoryName } from "../values.ts";

const WINDOW_DAYS = WINDOW_SECONDS / 86_400;

const input = v.pipe(
  v.object({
    keep: durationOfDays({ min: WINDOW_DAYS, what: "the window that the API shows" }),
    org: v.optional(lineOfText),
    repo: v.optional(repositoryName),
    dryRun: v.optional(v.boolean(), false),
  }),
  v.forward(
    v.partialCheck(
      [["org"], ["repo"]],
      ({ org, repo }) => repo === undefined || org !== undefined,
      "missing: a repository is found by its organization",
    ),
    ["org"],
  ),
);

/** `prune`: deletes what is old. */
export function addPruneCommand(program: Command, io: CliIo): void {
  addCommand(program, io, {
    name: "prune",
    summary: "Delete old submissions for good: organization, OWNER/NAME, submissions, results, " +
      "coverage reports, tests",
    example: "prune --keep 90d",
    moreExamples: ["prune --keep 26w --org acme --repo acme/shop --dry-run"],
    details: [
      "What was recorded before now minus --keep goes, in batches: the database answers others " +
      "between, and whatever interrupts it, running it again goes on. Nothing that the API shows " +
      "changes: first disruptions, quarantined tests and each repository's latest coverage stay. " +
      "Submissions of code that ran since as well stay until all of them are old. Lists the " +
      "repositories that something was deleted of.",
    ],
    options: [
      {
        flags: "--keep <duration>",
        meaning: `how much history stays, such as 90d; at least ${WINDOW_DAYS}d`,
        required: true,
      },
      { flags: "--org <name>", meaning: "only of this organization (default: of all)" },
      { flags: "--repo <owner/name>", meaning: "only of this repository of the organization" },
      { flags: "--dry-run", meaning: "delete nothing, list what would be deleted" },
    ],
    input,
    async run({ keep, org, repo, dryRun }, context) {
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
        throw new Failure("stopped before all was pruned: run it again to go on");
      }
    },
  });
}

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
  return rows.filter(isSomething);
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
        onBatch(so) {
          progress.show(
            `${name}: ${before.submissionCount + so.submissionCount} submissions, ` +
              `${before.testResultCount + so.testResultCount} results, ` +
              `${before.testCount + so.testCount} tests deleted`,
          );
        },
      });
      addPruned(before, pruned);
      rows.push({ ...target, pruned });
    }
    // Also when it was stopped: nobody else does it, and the next run may not come. A second signal
    // ends the process.
    if (rows.some(isSomething)) await reclaimSpace(database, io.stopAtOnce);
  } finally {
    progress.clear();
  }
  return rows.filter(isSomething);
}

function isSomething({ pruned }: Row): boolean {
  return Object.values(pruned).some((count) => count > 0);
}

/** What was pruned of a repository, as `--json` shows it. */
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
