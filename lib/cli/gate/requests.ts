/** API requests of the gate: the quarantined tests of a repository, and verdicts on failed tests. */
import * as v from "valibot";
import { type ApiClient, ApiError } from "../../api_client/client.ts";
import { shortTestId, type TestIdentity } from "../../base/identity.ts";
import { formatRepositoryName, type RepositoryName } from "../../base/repository_name.ts";
import { identityKey, type QuarantinedTest } from "../../gate/rule.ts";
import type { ServiceVerdict } from "../../gate/summary.ts";
import { VERDICTS } from "../../analysis/verdict.ts";

const PAGE_SIZE = 100;

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

const identity = { suite: v.string(), class: v.string(), name: v.string(), file: v.string() };

const quarantinePage = v.object({
  count: v.number(),
  tests: v.array(v.object({
    ...identity,
    quarantine_expires_at: v.nullable(v.pipe(v.string(), v.regex(TIMESTAMP))),
    quarantine_owner: v.nullable(v.string()),
  })),
  metadata: v.object({ after: v.nullable(v.string()) }),
});

/**
 * All quarantined tests of a repository, by {@linkcode identityKey}.
 *
 * @throws {ApiError} also when the list changed while its pages were read
 */
export async function loadQuarantined(
  api: ApiClient,
  repository: RepositoryName,
  signal: AbortSignal,
): Promise<Map<string, QuarantinedTest>> {
  const found = new Map<string, QuarantinedTest>();
  let after: string | null = null;
  for (;;) {
    const { count, tests, metadata }: v.InferOutput<typeof quarantinePage> = await api(
      {
        path: ["api", "v1", "flaky", "tests"],
        query: {
          repository: formatRepositoryName(repository),
          quarantine: true,
          include: "quarantine_expires_at,quarantine_owner",
          limit: PAGE_SIZE,
          after: after ?? undefined,
        },
        notFound: unknownRepository(repository),
      },
      quarantinePage,
      signal,
    );
    for (const test of tests) found.set(identityKey(test), test);
    if (metadata.after === null && found.size === count) return found;
    if (metadata.after === null || tests.length === 0) {
      throw new ApiError("The list of quarantined tests changed while it was read.");
    }
    after = metadata.after;
  }
}

const result = v.object({ recorded_at: v.string(), build_url: v.string() });

const verdicts = v.object({
  tests: v.array(v.object({
    ...identity,
    verdict: v.picklist(VERDICTS),
    disruptiveness_ratio: v.number(),
    recent_nondeterministic_negative_result: v.nullable(result),
    recent_base_negative_result: v.nullable(result),
  })),
});

/** The verdicts on tests, by {@linkcode identityKey}; tests unknown to the service are missing. */
export async function loadVerdicts(
  api: ApiClient,
  { repository, tests, base }: {
    repository: RepositoryName;
    tests: readonly TestIdentity[];
    base: string;
  },
  signal: AbortSignal,
): Promise<Map<string, ServiceVerdict>> {
  const found = new Map<string, ServiceVerdict>();
  for (let start = 0; start < tests.length; start += PAGE_SIZE) {
    const page = await api(
      {
        path: ["api", "repos", repository.owner, repository.name, "verdicts"],
        query: {
          tests: tests.slice(start, start + PAGE_SIZE).map(shortTestId).join(","),
          base,
        },
        notFound: unknownRepository(repository),
      },
      verdicts,
      signal,
    );
    for (const test of page.tests) found.set(identityKey(test), test);
  }
  return found;
}

function unknownRepository(repository: RepositoryName): string {
  return `Repository ${
    formatRepositoryName(repository)
  } is unknown to the service: check --repo, or upload a report of it.`;
}
