/** Where else the causes of failures were seen lately. */
import * as v from "valibot";
import { createApiClient } from "../../api_client/client.ts";
import type { Environment } from "../../base/config.ts";
import type { RepositoryName } from "../../base/repository_name.ts";
import { localMinute, type TimeZone } from "../../base/time_zone.ts";
import { VERSION } from "../../base/version.ts";
import { readApiAccess } from "../settings.ts";

/** The comment is written without it. */
const TIMEOUT_MS = 5_000;

const FAILURES = v.object({
  failures: v.array(v.object({
    fingerprint: v.string(),
    branches: v.array(v.string()),
    first_recorded_at: v.string(),
  })),
});

/**
 * By fingerprint, on how many other branches a cause was seen in the last 14 days and since when; only
 * causes with such a branch, and none when the service does not answer.
 */
export async function loadElsewhere(
  { environment, repository, branch, zone }: {
    environment: Environment;
    repository: RepositoryName | null;
    /** Branch of the run; `""` when unknown. */
    branch: string;
    /** Time zone of its times. */
    zone: TimeZone;
  },
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  if (repository === null) return found;
  try {
    const api = createApiClient({
      ...readApiAccess(environment),
      userAgent: `test-analytics-gate/${VERSION}`,
      timeoutMs: TIMEOUT_MS,
    });
    const path = ["api", "repos", repository.owner, repository.name, "failures"];
    const { failures } = await api({ path }, FAILURES);
    for (const { fingerprint, branches, first_recorded_at } of failures) {
      const others = branches.filter((one) => one !== branch).length;
      const since = localMinute(first_recorded_at, zone);
      const noun = others === 1 ? "other branch" : "other branches";
      if (others > 0) found.set(fingerprint, `same cause on ${others} ${noun} since ${since}`);
    }
  } catch {
    // The request for the verdicts has said what is wrong.
  }
  return found;
}
