import { LRUCache } from "lru-cache";
import type { RepositoryVersion } from "../../../db/read/caller.ts";
import type { Queryable } from "../../../db/connection/sql.ts";
import {
  type DisruptionCounts,
  loadTrackedChanges,
  loadTrackedTests,
} from "../../../db/read/tracked_tests.ts";
import type { TestsState } from "../../analysis/tests_state.ts";
import {
  ALL_SUBMISSIONS,
  isUnfiltered,
  type SubmissionFilter,
} from "../../query/submission_filter.ts";
import type { WindowVersion } from "../../base/data_version.ts";
import type { Moment } from "../request/queries.ts";
import { TestCollection } from "./collection.ts";

/** Memory of a test: about 1 kB, and as much again once it is searched and shown. */
const TEST_BYTES = 2048;

/** Repositories that are loaded with the same statements. */
const BATCH_SIZE = 100;

// Share of the memory for collections of several repositories, which refer to cached tests.
const MERGED_SHARE = 0.25;

export interface LoadTestsOptions {
  /** Whether to load `timeConsumed`, which takes longer. */
  withTime?: boolean;
  /** The submissions that count; all unless given. */
  filter?: SubmissionFilter;
  /** Disruptions of the window, of a caller that loads them anyway: they take as long as all the rest. */
  disruptionCounts?: Promise<DisruptionCounts>;
}

/** What is loaded of a repository. */
type Variant = Required<Pick<LoadTestsOptions, "withTime" | "filter">>;

/** A request is over before everything was loaded. Its client has had a response. */
export class RequestOverError extends Error {
  override name = "RequestOverError";
  override message = "the request is over";
}

interface Loaded {
  state: TestsState;
  collection: TestCollection;
}

/** The tests of several repositories. */
interface Merged {
  parts: readonly TestCollection[];
  collection: TestCollection;
}

/** A load that has not finished. */
interface RunningLoad {
  /** The latest of the requests that share it, as `performance.now()`: from then on it stops. */
  deadline: number;
  done: Promise<Map<number, Loaded>>;
}

export type TestsRequest = LoadTestsOptions & Moment & {
  repositories: readonly RepositoryVersion[];
  /** When the request is over, as `performance.now()`: from then on nothing is loaded for it. */
  deadline: number;
};

/**
 * The tests that lists can show, of the newest version of each repository. A newer version is made from the
 * cached one and what changed since, where that is possible.
 *
 * Concurrent requests for the same versions share their load (single-flight). What is shared is always of
 * these versions: a load reads the snapshot that had them. Loads of more than a batch run one at a time:
 * each may need as much memory as the cache.
 */
export class TestCache {
  readonly #loaded: LRUCache<string, Loaded>;
  readonly #merged: LRUCache<string, Merged>;
  /** By what they load. */
  readonly #running = new Map<string, RunningLoad>();
  #lastLargeLoad: Promise<unknown> = Promise.resolve();

  constructor(maxBytes: number) {
    this.#loaded = new LRUCache({
      maxSize: Math.ceil(maxBytes * (1 - MERGED_SHARE)),
      sizeCalculation: ({ state: { tests, runs, recordedAts } }) =>
        (1 + tests.size) * TEST_BYTES + runs.byteLength + 8 * recordedAts.length,
    });
    this.#merged = new LRUCache({
      maxSize: Math.ceil(maxBytes * MERGED_SHARE),
      sizeCalculation: ({ collection: { tests } }, key) =>
        (1 + tests.length / 2) * TEST_BYTES + key.length,
    });
  }

  /** Returns tests that are cached or being loaded; `null` if some have to be loaded. */
  async find(request: TestsRequest): Promise<TestCollection | null> {
    const { found, missing } = this.#lookUp(request);
    if (missing.length === 0) return this.#merge(request, found);
    const running = this.#running.get(loadKey(missing, request));
    const loaded = running && await join(running, request.deadline);
    return loaded ? this.#merge(request, new Map([...found, ...loaded])) : null;
  }

  /**
   * Returns tests, and loads those that are not cached.
   *
   * @param tx the snapshot that has the versions of the repositories
   * @throws {RequestOverError}
   */
  async load(tx: Queryable, request: TestsRequest): Promise<TestCollection> {
    for (;;) {
      const { found, missing } = this.#lookUp(request);
      if (missing.length === 0) return this.#merge(request, found);
      const key = loadKey(missing, request);
      const running = this.#running.get(key);
      const loaded = running
        ? await join(running, request.deadline)
        : await this.#start(tx, key, { ...request, repositories: missing });
      // Otherwise the load of another request failed.
      if (loaded) return this.#merge(request, new Map([...found, ...loaded]));
    }
  }

  #lookUp({ repositories, ...options }: TestsRequest) {
    const found = new Map<number, Loaded>();
    const missing: RepositoryVersion[] = [];
    for (const repository of repositories) {
      const one = this.#loaded.get(cacheKey(repository.repositoryId, options));
      if (one && isSame(repository, one.state.version)) found.set(repository.repositoryId, one);
      else missing.push(repository);
    }
    return { found, missing };
  }

  async #start(
    tx: Queryable,
    key: string,
    request: TestsRequest,
  ): Promise<Map<number, Loaded>> {
    if (performance.now() > request.deadline) throw new RequestOverError();
    const isOver = () => performance.now() > running.deadline;
    const running = {
      deadline: request.deadline,
      done: this.#loadBatches(tx, request, isOver).finally(() => this.#running.delete(key)),
    };
    this.#running.set(key, running);
    return await running.done;
  }

  async #loadBatches(
    tx: Queryable,
    { repositories, ...options }: TestsRequest,
    isOver: () => boolean,
  ): Promise<Map<number, Loaded>> {
    if (repositories.length <= BATCH_SIZE) return await this.#loadBatch(tx, repositories, options);
    const loadAll = async () => {
      const loaded = new Map<number, Loaded>();
      for (let first = 0; first < repositories.length; first += BATCH_SIZE) {
        if (isOver()) throw new RequestOverError();
        const batch = repositories.slice(first, first + BATCH_SIZE);
        for (const [id, one] of await this.#loadBatch(tx, batch, options)) loaded.set(id, one);
      }
      return loaded;
    };
    const load = this.#lastLargeLoad.then(loadAll);
    this.#lastLargeLoad = load.catch(() => {});
    return await load;
  }

  /** Loads several repositories with the same few statements as one. */
  async #loadBatch(
    tx: Queryable,
    repositories: readonly RepositoryVersion[],
    options: Moment & LoadTestsOptions,
  ): Promise<Map<number, Loaded>> {
    const variant = variantOf(options);
    const repositoryIds = repositories.map(({ repositoryId }) => repositoryId);
    const [repositoryId = 0] = repositoryIds;
    // A selection of submissions, which few requests have, is always loaded whole.
    const since = repositories.length === 1 && isUnfiltered(variant.filter)
      ? this.#loaded.get(cacheKey(repositoryId, variant))?.state
      : undefined;
    const query = { ...options, ...variant };
    const changed = since && await loadTrackedChanges(tx, { ...query, repositoryId, since });
    const states = changed
      ? new Map([[repositoryId, changed]])
      : await loadTrackedTests(tx, { ...query, repositoryIds });
    const loaded = new Map<number, Loaded>();
    for (const [id, state] of states) {
      const one = { state, collection: new TestCollection([...state.tests.values()], state.runs) };
      loaded.set(id, one);
      this.#loaded.set(cacheKey(id, variant), one);
    }
    return loaded;
  }

  #merge(
    { repositories, filter = ALL_SUBMISSIONS }: TestsRequest,
    loaded: ReadonlyMap<number, Loaded>,
  ): TestCollection {
    const ids = repositories.map(({ repositoryId }) => repositoryId);
    const parts = ids.map((id) => loaded.get(id)!.collection);
    if (parts.length === 1) return parts[0]!;
    const key = JSON.stringify([filter, ids]);
    let merged = this.#merged.get(key);
    if (!merged || merged.parts.some((part, index) => part !== parts[index])) {
      const collection = new TestCollection(parts.flatMap(({ tests }) => tests));
      this.#merged.set(key, merged = { parts, collection });
    }
    return merged.collection;
  }
}

/** Waits for the load of another request; `null` if it fails. */
async function join(running: RunningLoad, deadline: number): Promise<Map<number, Loaded> | null> {
  running.deadline = Math.max(running.deadline, deadline);
  try {
    return await running.done;
  } catch {
    return null;
  }
}

function variantOf({ withTime = false, filter = ALL_SUBMISSIONS }: LoadTestsOptions): Variant {
  return { withTime, filter };
}

/** What a load of these versions is known by. */
function loadKey(repositories: readonly RepositoryVersion[], options: LoadTestsOptions): string {
  const { withTime, filter } = variantOf(options);
  const versions = repositories.map((
    { repositoryId, dataVersion, oldestSubmissionId, nextQuarantineEnd },
  ) => [repositoryId, dataVersion, oldestSubmissionId, nextQuarantineEnd]);
  return JSON.stringify([withTime, filter, versions]);
}

function cacheKey(repositoryId: number, options: LoadTestsOptions): string {
  const { withTime, filter } = variantOf(options);
  return JSON.stringify([repositoryId, withTime, filter]);
}

function isSame(one: WindowVersion, other: WindowVersion): boolean {
  return one.dataVersion === other.dataVersion &&
    one.oldestSubmissionId === other.oldestSubmissionId &&
    one.nextQuarantineEnd === other.nextQuarantineEnd;
}
