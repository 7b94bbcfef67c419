import * as v from "valibot";
import { listQuarantined } from "../../../db/admin/quarantine.ts";
import { listQuarantineLog, type Origin } from "../../../db/admin/quarantine.ts";
import { applyPolicy, loadPolicy, type TestDecision } from "../../../db/admin/quarantine_policy.ts";
import type { Repository } from "../../../db/admin/repositories.ts";
import type { Database } from "../../../db/connection/connect.ts";
import { loadBuildCounts } from "../../../db/read/badges.ts";
import { loadDisruptedTests, loadOwners } from "../../../db/read/digest.ts";
import { DEFAULT_POLICY } from "../../analysis/quarantine_policy.ts";
import { parseTestId, type TestIdentity } from "../../base/identity.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { formatTimestamp, WINDOW_SECONDS } from "../../base/time.ts";
import {
  composeDigest,
  type DigestEntry,
  type DigestFacts,
  type DisruptedTest,
} from "../../digest/digest.ts";
import { digestMarkdown, digestSlack } from "../../digest/format.ts";
import { type AddCommand, command } from "../command.ts";
import { option } from "../parameters.ts";
import { openOrganization, ORG, selectRepositories, testRecord } from "../resources.ts";
import { duration, MAX_LIFETIME_SECONDS, oneOf, repositoryName } from "../values.ts";

/** `digest`: changes in flaky and quarantined tests. */
export const digestCommand: AddCommand = command({
  name: "digest",
  summary: "Print recent changes in flaky and quarantined tests",
  example: "digest --org acme",
  moreExamples: ["digest --org acme --since 1d --group-by owner --format slack"],
  details: [
    "Compares the 14 days until now with the 14 days until --since. A test became flaky if it was " +
    "disruptive in the former only, and calmed down if in the latter only. Sends nothing: pipe it " +
    "to curl.",
  ],
  input: {
    org: ORG,
    repo: option("<owner/name>", "repository (default: all)", v.optional(repositoryName)),
    since: option(
      "<duration>",
      "how far back (default: 7d)",
      v.optional(duration({ max: MAX_LIFETIME_SECONDS }), "7d"),
    ),
    groupBy: option("<field>", "owner: group tests by their owners", v.optional(oneOf(["owner"]))),
    format: option(
      "<format>",
      "markdown (default), slack: the body for a webhook, or json",
      v.optional(oneOf(["markdown", "slack", "json"]), "markdown"),
    ),
  },
  async run({ org, repo, since, groupBy, format }, context) {
    const { now, io } = context;
    const { sql, organization } = await openOrganization(context, org);
    const repositories = await selectRepositories(sql, organization, repo);
    const facts = await loadFacts(sql, repositories, {
      now,
      since,
      organizationId: organization.organizationId,
      origin: await context.origin(),
    });
    const digest = composeDigest(facts, {
      organization: organization.name,
      since: formatTimestamp(now - since),
      until: formatTimestamp(now),
      group_by: groupBy ?? null,
    });
    if (context.json || format === "json") return await io.stdout(`${JSON.stringify(digest)}\n`);
    await io.stdout(format === "slack" ? `${digestSlack(digest)}\n` : digestMarkdown(digest));
  },
});

/** Loads what a digest of some repositories of an organization compares. */
async function loadFacts(
  sql: Database["sql"],
  repositories: readonly Repository[],
  { now, since, organizationId, origin }: {
    now: number;
    since: number;
    organizationId: number;
    origin: Origin;
  },
): Promise<DigestFacts> {
  const begin = now - since;
  const windowStart = now - WINDOW_SECONDS;
  const previous = { windowStart: begin - WINDOW_SECONDS, windowEnd: begin };
  const periods = { windowStart, previousWindowStart: previous.windowStart, since: begin };
  // By id prefix: the log has the names of its time.
  const names = new Map(repositories.map((one) => [one.idPrefix, formatRepositoryName(one)]));
  const owners = new Map<string, string[]>();
  const builds: DigestFacts["repositories"][number][] = [];
  const tests: DisruptedTest[] = [];
  const decisions: TestDecision[] = [];
  for (const repository of repositories) {
    const { repositoryId } = repository;
    const name = formatRepositoryName(repository);
    for (const [id, some] of await loadOwners(sql, repository)) owners.set(id, some);
    builds.push({
      repository: name,
      now: await loadBuildCounts(sql, { repositoryId, windowStart }),
      before: await loadBuildCounts(sql, { repositoryId, ...previous }),
    });
    for (const test of await loadDisruptedTests(sql, { repositoryId, periods })) {
      tests.push({ ...test, repository: name, owners: owners.get(test.id) ?? [] });
    }
    const policy = await loadPolicy(sql, repository) ?? DEFAULT_POLICY;
    const options = { now, windowStart, isDryRun: true, origin };
    decisions.push(...await applyPolicy(sql, repository, policy, options));
  }
  const entryOf = (
    id: string,
    test: TestIdentity,
    { at, reason, owner }: { at: number; reason: string | null; owner: string | null },
  ): DigestEntry => ({
    ...testRecord(id, names.get(parseTestId(id)!.idPrefix)!, test),
    owners: owners.get(id) ?? [],
    at: formatTimestamp(at),
    reason,
    owner,
  });
  const isSelected = (id: string) => names.has(parseTestId(id)!.idPrefix);
  const log = await listQuarantineLog(sql, { organizationId, now });
  const quarantined = await listQuarantined(sql, organizationId, now);
  return {
    repositories: builds,
    tests,
    began: log
      .filter(({ action, at, testId }) => action === "added" && at >= begin && isSelected(testId))
      .map((event) =>
        entryOf(event.testId, event, {
          at: event.at,
          reason: event.quarantineReason,
          owner: event.quarantineOwner,
        })
      ),
    ending: quarantined.filter(({ id }) => isSelected(id)).flatMap((test) => {
      const { quarantineExpiresAt: at, quarantineReason: reason, quarantineOwner: owner } = test;
      return at === null || at > now + since ? [] : [entryOf(test.id, test, { at, reason, owner })];
    }),
    releasable: decisions.filter(({ action }) => action === "leave").map(({ test, reason }) => {
      const { quarantinedAt: at, quarantineOwner: owner } = test.history.quarantine!;
      return entryOf(test.id, test, { at, reason, owner });
    }),
  };
}
