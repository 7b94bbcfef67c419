// Tests: tests/lib/cli/commands/split_test.ts
/** Requests what the service knows about durations. */
import * as v from "valibot";
import type { DurationUnit } from "../analysis/durations.ts";
import { type ApiClient, createApiClient, repositoryNotFound } from "../api_client/client.ts";
import type { Environment } from "../base/config.ts";
import { Failure } from "../base/failure.ts";
import { formatRepositoryName, type RepositoryName } from "../base/repository_name.ts";
import { VERSION } from "../base/version.ts";
import {
  durationsOfClasses,
  durationsOfFiles,
  durationsOfTests,
  type ItemDurations,
  type KnownDuration,
} from "../split/item_durations.ts";
import { readApiAccess } from "./settings.ts";

/** A job waits for it; a plan by size is made after that. */
const TIMEOUT_MS = 10_000;

/** The largest page. */
const PAGE_SIZE = 10_000;

const PAGE = v.object({
  durations: v.array(v.object({
    key: v.string(),
    median_us: v.number(),
    overhead_us: v.number(),
    test: v.nullable(
      v.object({ name: v.string(), suite: v.string(), class: v.string(), file: v.string() }),
    ),
  })),
  metadata: v.object({ after: v.nullable(v.string()) }),
});

/** Whose durations count. */
interface DurationsRequest {
  repository: RepositoryName;
  by: DurationUnit;
  /** As the API takes it. */
  asOf: string;
  branch: string | undefined;
  environment: string | undefined;
  job: string | undefined;
}

/**
 * The durations of items by name; unknown ones are missing.
 *
 * @throws {ApiError} when the service cannot be asked
 * @throws {Failure} when it knows no duration above 0 of any of the items
 */
export async function requestDurations(
  names: readonly string[],
  request: DurationsRequest,
  environment: Environment,
): Promise<ItemDurations> {
  const api = createApiClient({
    ...readApiAccess(environment),
    userAgent: `test-analytics-split/${VERSION}`,
    timeoutMs: TIMEOUT_MS,
  });
  const list = (by: DurationUnit) => listDurations(api, { ...request, by });
  const found = await find(names, request.by, list);
  if ([...found.values()].some((duration) => duration > 0)) return found;
  const repository = formatRepositoryName(request.repository);
  const which = names.length === 1 ? "this name" : `these ${names.length} names`;
  throw new Failure(`${repository} has no durations of ${which} until ${request.asOf}`);
}

async function find(
  names: readonly string[],
  by: DurationUnit,
  list: (by: DurationUnit) => Promise<KnownDuration[]>,
): Promise<ItemDurations> {
  if (by === "class") return durationsOfClasses(names, await list("class"));
  if (by === "test") return durationsOfTests(names, await list("test"));
  const files = await list("file");
  const found = durationsOfFiles(names, { files, classes: [] });
  // Many reporters write no file.
  if (found.size === names.length) return found;
  return durationsOfFiles(names, { files, classes: await list("class") });
}

async function listDurations(
  api: ApiClient,
  { repository, by, asOf, branch, environment, job }: DurationsRequest,
): Promise<KnownDuration[]> {
  const all: KnownDuration[] = [];
  let after: string | null = null;
  do {
    const page: v.InferOutput<typeof PAGE> = await api({
      path: ["api", "repos", repository.owner, repository.name, "durations"],
      query: {
        by,
        as_of: asOf,
        branch,
        environment,
        job,
        limit: PAGE_SIZE,
        after: after ?? undefined,
      },
      notFound: repositoryNotFound(repository),
    }, PAGE);
    for (const { key, median_us, overhead_us, test } of page.durations) {
      all.push({ key, microseconds: median_us + overhead_us, test });
    }
    after = page.metadata.after;
  } while (after !== null);
  return all;
}
