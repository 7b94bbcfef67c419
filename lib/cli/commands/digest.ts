import { loadMassFailures } from "../../../db/read/job_runs.ts";
import { buildKey } from "../../analysis/build_costs.ts";
import * as v from "valibot";
import type { Origin } from "../../../db/admin/changes.ts";
import { listQuarantined } from "../../../db/admin/quarantine.ts";
import { listQuarantineLog } from "../../../db/read/quarantine_log.ts";
import { applyPolicy, loadPolicy } from "../../../db/admin/quarantine_policy.ts";
import type { Repository } from "../../../db/admin/repositories.ts";
import type { Database } from "../../../db/connection/connect.ts";
import { loadBuildCounts } from "../../../db/read/badges.ts";
import {
  countFailedWithoutTest,
  countRedJobs,
  loadDisruptedTests,
  loadOwnersOfTrackedTests,
} from "../../../db/read/digest.ts";
import { loadTestNames } from "../../../db/read/names_of_tests.ts";
import { loadRerunRepositories } from "../../../db/read/reruns.ts";
import { loadTestStates, type TestInState } from "../../../db/read/test_states.ts";
import { BAD_STATES } from "../../../routes/test_states.ts";
import { loadFlakyFaults } from "../../../db/read/failing_together.ts";
import { loadFlakyTime } from "../../../db/read/flaky_time.ts";
import { ownersOf } from "../../analysis/test_tags.ts";
import { DEFAULT_POLICY } from "../../analysis/quarantine_policy.ts";
import { parseTestId, type TestIdentity } from "../../base/identity.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { formatTimestamp, WINDOW_SECONDS } from "../../base/time.ts";
import {
  composeDigest,
  type DigestEntry,
  type DigestInput,
  type DigestState,
} from "../../digest/digest.ts";
import { digestMarkdown, digestSlack } from "../../digest/format.ts";
import { type AddCommand, command } from "../command.ts";
import { oneOf, option, repositoryName } from "../parameters.ts";
import { duration, MAX_LIFETIME_SECONDS } from "../../base/value_schemas.ts";
import { openOrganization, ORG, selectRepositories } from "../organization.ts";
import { readPublicUrl } from "../settings.ts";
import { testRecord } from "../../analysis/quarantine_json.ts";

export const digestCommand: AddCommand = command({
  name: "digest",
  summary: "Print recent changes in flaky and quarantined tests",
  example: "digest --org acme",
  moreExamples: ["digest --org acme --since 1d --group-by owner --format slack"],
  details: [
    "Compares the 14 days until now with the 14 days until --since. A test became flaky if its first " +
    "disruption ever was since then, and calmed down if it was disruptive in the latter only. To send " +
    "the digest, pipe it to curl.",
  ],
  settings: ["TIME_ZONE"],
  environment: ["PUBLIC_URL"],
  input: {
    org: ORG,
    repo: option("<owner/name>", "repository (default: all)", v.optional(repositoryName)),
    since: option(
      "<duration>",
      "how far back (default: 7d)",
      v.optional(duration({ max: MAX_LIFETIME_SECONDS }), "7d"),
    ),
    groupBy: option("<field>", "group tests by this field: owner", v.optional(oneOf(["owner"]))),
    format: option(
      "<format>",
      "markdown (default), slack (the body for a webhook) or json",
      v.optional(oneOf(["markdown", "slack", "json"]), "markdown"),
    ),
  },
  async run({ org, repo, since, groupBy, format }, context, { TIME_ZONE: zone }) {
    const { now, io } = context;
    const pagesUrl = readPublicUrl(io.environment);
    const { sql, organization } = await openOrganization(context, org);
    const repositories = await selectRepositories(sql, organization, repo);
    const input = await loadInput(sql, repositories, {
      now,
      since,
      organizationId: organization.organizationId,
      origin: context.origin(),
    });
    const digest = composeDigest(input, {
      organization: organization.name,
      since: formatTimestamp(now - since),
      until: formatTimestamp(now),
      group_by: groupBy ?? null,
    });
    if (context.json || format === "json") return await io.stdout(`${JSON.stringify(digest)}\n`);
    await io.stdout(
      format === "slack"
        ? `${digestSlack(digest, pagesUrl, zone)}\n`
        : digestMarkdown(digest, pagesUrl, zone),
    );
  },
});

const MAX_OUTAGES = 10_000;

/** A test by its history, for a digest. */
function stateOf(
  { id, runs, failures, since, ...test }: TestInState,
  { repository, owners }: { repository: string; owners: string[] },
): DigestState {
  return {
    ...testRecord(id, repository, test),
    owners,
    runs,
    failures,
    since: since && {
      from: formatTimestamp(since.from.recordedAt),
      to: formatTimestamp(since.to.recordedAt),
      changes: since.changes,
    },
  };
}

/** What flaky failures cost in the period, and in the one before. */
async function flakyCosts(
  sql: Database["sql"],
  { begin, since, ...query }: { repositoryId: number; now: number; begin: number; since: number },
) {
  const [before = 0, now = 0] = (await loadFlakyTime(sql, {
    repositoryIds: [query.repositoryId],
    now: query.now,
    starts: [begin - since, begin],
  })).get(query.repositoryId) ?? [];
  return { flakyMicroseconds: now, flakyMicrosecondsBefore: before };
}

/** Loads the input that a digest of some repositories of an organization compares. */
async function loadInput(
  sql: Database["sql"],
  repositories: readonly Repository[],
  { now, since, organizationId, origin }: {
    now: number;
    since: number;
    organizationId: number;
    origin: Origin;
  },
): Promise<DigestInput> {
  const begin = now - since;
  const windowStart = now - WINDOW_SECONDS;
  const previous = { windowStart: begin - WINDOW_SECONDS, windowEnd: begin };
  const periods = { windowStart, previousWindowStart: previous.windowStart, since: begin };
  // By id prefix: the log has the names of its time.
  const names = new Map(repositories.map((one) => [one.idPrefix, formatRepositoryName(one)]));
  const nameOf = (id: string) => names.get(parseTestId(id)!.idPrefix);
  const owners = new Map<string, string[]>();
  const entry = (
    id: string,
    test: TestIdentity,
    { at, reason, owner }: { at: number; reason: string | null; owner: string | null },
  ): DigestEntry => ({
    ...testRecord(id, nameOf(id)!, test),
    owners: owners.get(id) ?? [],
    at: formatTimestamp(at),
    reason,
    owner,
  });
  const input: DigestInput = {
    repositories: [],
    tests: [],
    faults: [],
    broken: [],
    flaky_without_reruns: [],
    being_proved: [],
    stopped: [],
    quarantine_began: [],
    quarantine_ends: [],
    quarantine_may_be_released: [],
  };
  for (const repository of repositories) {
    const { repositoryId } = repository;
    const name = formatRepositoryName(repository);
    for (const [id, some] of await loadOwnersOfTrackedTests(sql, repository)) owners.set(id, some);
    const outages = await loadMassFailures(sql, {
      repositoryId,
      since: begin,
      limit: MAX_OUTAGES,
      onlyOutages: true,
    });
    input.repositories.push({
      repository: name,
      now: await loadBuildCounts(sql, { repositoryId, windowStart }),
      before: await loadBuildCounts(sql, { repositoryId, ...previous }),
      outageCount: new Set(outages.map(buildKey)).size,
      failedWithoutTestCount: await countFailedWithoutTest(sql, { repositoryId, since: begin }),
      hasReruns: (await loadRerunRepositories(sql, { repositoryIds: [repositoryId], windowStart }))
        .size > 0,
      ...await flakyCosts(sql, { repositoryId, now, begin, since }),
      redJobs: await countRedJobs(sql, { repositoryId, since: begin }),
    });
    const { tests: states, stopped, proving } = await loadTestStates(sql, {
      ...repository,
      now,
      windowStart,
      states: BAD_STATES,
      withoutReruns: false,
      offset: 0,
      limit: Infinity,
    });
    const named = await loadTestNames(sql, {
      repositoryId,
      now,
      testIds: [states, stopped, proving].flat().map(({ id }) => id),
    });
    const recordOf = (test: TestIdentity & { id: string }) => ({
      ...testRecord(test.id, name, test),
      owners: ownersOf(named.get(test.id)?.ownerTags ?? []),
    });
    for (const test of proving) {
      const { passes, passesNeeded: passes_needed } = test;
      input.being_proved.push({ ...recordOf(test), passes, passes_needed });
    }
    for (const test of stopped) {
      if (test.stoppedAt < begin) continue;
      const last_run_at = formatTimestamp(test.lastRunAt);
      const was_calm = test.passes >= test.passesNeeded;
      input.stopped.push({ ...recordOf(test), last_run_at, was_calm });
    }
    for (const fault of await loadFlakyFaults(sql, { ...repository, since: begin })) {
      input.faults.push({ repository: name, ...fault });
    }
    for (const state of states) {
      if (state.state === "flaky" && state.isDisruptive) continue;
      const list = state.state === "broken" ? input.broken : input.flaky_without_reruns;
      const tags = named.get(state.id)?.ownerTags ?? [];
      list.push(stateOf(state, { repository: name, owners: ownersOf(tags) }));
    }
    for (const test of await loadDisruptedTests(sql, { repositoryId, periods })) {
      input.tests.push({ ...test, repository: name, owners: owners.get(test.id) ?? [] });
    }
    const policy = await loadPolicy(sql, repository) ?? DEFAULT_POLICY;
    const options = { now, windowStart, isDryRun: true, origin };
    for (const { action, test, reason } of await applyPolicy(sql, repository, policy, options)) {
      if (action !== "leave") continue;
      const { quarantinedAt: at, quarantineOwner: owner } = test.history.quarantine!;
      input.quarantine_may_be_released.push(entry(test.id, test, { at, reason, owner }));
    }
  }
  for (const event of await listQuarantineLog(sql, { organizationId, now })) {
    const { action, at, testId, quarantineReason: reason, quarantineOwner: owner } = event;
    if (action !== "added" || at < begin || !nameOf(testId)) continue;
    input.quarantine_began.push(entry(testId, event, { at, reason, owner }));
  }
  for (const test of await listQuarantined(sql, organizationId, now)) {
    const { quarantineExpiresAt: at, quarantineReason: reason, quarantineOwner: owner } = test;
    if (at === null || at > now + since || !nameOf(test.id)) continue;
    input.quarantine_ends.push(entry(test.id, test, { at, reason, owner }));
  }
  return input;
}
