import * as v from "valibot";
import { applyPolicy } from "../../../db/admin/apply_policy.ts";
import { listQuarantined } from "../../../db/admin/quarantine.ts";
import { listQuarantineLog } from "../../../db/admin/quarantine_log.ts";
import { loadPolicy } from "../../../db/admin/quarantine_policy.ts";
import { listRepositories } from "../../../db/admin/repositories.ts";
import { loadBuildCounts } from "../../../db/read/badges.ts";
import { loadDisruptedTests, loadOwners } from "../../../db/read/digest.ts";
import { DEFAULT_POLICY } from "../../analysis/quarantine_policy.ts";
import { parseTestId, type TestIdentity } from "../../base/identity.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { formatTimestamp, WINDOW_SECONDS } from "../../base/time.ts";
import { composeDigest, type DigestEntry, type DigestFacts } from "../../digest/digest.ts";
import { digestMarkdown, digestSlack } from "../../digest/format.ts";
import { type AddCommand, command } from "../command.ts";
import { option } from "../parameters.ts";
import { openOrganization, ORG, requireRepository } from "../resources.ts";
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
    const { organizationId } = organization;
    const repositories = repo
      ? [await requireRepository(sql, organization, repo)]
      : await listRepositories(sql, organizationId);
    const begin = now - since;
    const windowStart = now - WINDOW_SECONDS;
    const previousWindowStart = begin - WINDOW_SECONDS;
    const periods = { windowStart, previousWindowStart, since: begin };
    const log = await listQuarantineLog(sql, { organizationId, now });
    const quarantined = await listQuarantined(sql, organizationId, now);
    const origin = await context.origin();
    const facts: { [Name in keyof DigestFacts]: DigestFacts[Name][number][] } = {
      repositories: [],
      tests: [],
      began: [],
      ending: [],
      releasable: [],
    };
    for (const one of repositories) {
      const { repositoryId } = one;
      const repository = formatRepositoryName(one);
      const owners = await loadOwners(sql, one);
      const entryOf = (
        { suite, class: className, name, file }: TestIdentity,
        { id, at, reason, owner }: Pick<DigestEntry, "id" | "reason" | "owner"> & { at: number },
      ): DigestEntry => ({
        id,
        repository,
        suite,
        class: className,
        name,
        file,
        owners: owners.get(id) ?? [],
        at: formatTimestamp(at),
        reason,
        owner,
      });
      facts.repositories.push({
        repository,
        now: await loadBuildCounts(sql, { repositoryId, windowStart }),
        before: await loadBuildCounts(sql, {
          repositoryId,
          windowStart: previousWindowStart,
          windowEnd: begin,
        }),
      });
      const tests = await loadDisruptedTests(sql, { repositoryId, periods });
      facts.tests.push(
        ...tests.map((test) => ({ ...test, repository, owners: owners.get(test.id) ?? [] })),
      );
      for (const event of log) {
        if (event.action !== "added" || event.at < begin) continue;
        // Not by name: the repository may have been renamed since.
        if (parseTestId(event.testId)!.idPrefix !== one.idPrefix) continue;
        const { testId: id, at, quarantineReason: reason, quarantineOwner: owner } = event;
        facts.began.push(entryOf(event, { id, at, reason, owner }));
      }
      for (const test of quarantined) {
        const { quarantineExpiresAt: at, quarantineReason: reason, quarantineOwner: owner } = test;
        if (test.repository.repositoryId !== repositoryId || at === null || at > now + since) {
          continue;
        }
        const { id } = test;
        facts.ending.push(entryOf(test, { id, at, reason, owner }));
      }
      const decisions = await applyPolicy(
        sql,
        one,
        await loadPolicy(sql, { organizationId, repositoryId }) ?? DEFAULT_POLICY,
        { now, windowStart, isDryRun: true, origin },
      );
      for (const { test, action, reason } of decisions) {
        if (action !== "leave") continue;
        const { quarantinedAt: at, quarantineOwner: owner } = test.history.quarantine!;
        facts.releasable.push(entryOf(test, { id: test.id, at, reason, owner }));
      }
    }
    const digest = composeDigest(facts, {
      organization: organization.name,
      since: formatTimestamp(begin),
      until: formatTimestamp(now),
      group_by: groupBy ?? null,
    });
    if (context.json || format === "json") return await io.stdout(`${JSON.stringify(digest)}\n`);
    await io.stdout(format === "slack" ? `${digestSlack(digest)}\n` : digestMarkdown(digest));
  },
});
