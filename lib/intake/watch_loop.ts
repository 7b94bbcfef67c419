/** The loop of `watch` and `up`: sweeps an inbox, and processes what it finds. */
import { findArchives, recordVersions } from "../../db/admin/archives.ts";
import { requireSchemaVersion } from "../../db/schema/migrate.ts";
import { aborted, pause } from "../base/delay.ts";
import { errorMessage } from "../base/error.ts";
import type { Metrics } from "../base/metrics.ts";
import { StorageError, type StoredArchive } from "../storage/storage.ts";
import type { AcceptedUploads } from "./accepted_uploads.ts";
import { ArchiveReader } from "./archive_reader.ts";
import {
  type ArchiveOutcome,
  completeArchive,
  finishRunning,
  processArchive,
  type WatcherContext,
} from "./process_archive.ts";
import { isSystemFault } from "./system_fault.ts";

// Longer than a file has to be unchanged.
const SETTLE_PAUSE_MS = 2_100;
// Limit of the backoff during an outage, unless the interval is longer.
const MAX_OUTAGE_PAUSE_MS = 5_000;

interface WatchOptions {
  /** Seconds between sweeps. */
  interval: number;
  /** How many archives are processed at a time. */
  workers: number;
  /** Sweeps once; outcomes are not logged. */
  once: boolean;
  metrics: Metrics | undefined;
  stop: AbortSignal;
  /** Uploads that are stored without reading them again. */
  accepted?: Pick<AcceptedUploads, "has">;
  /** Called with the outcome of each archive, unless another watcher has it. */
  onOutcome?: (outcome: ArchiveOutcome) => Promise<void>;
  /** Waits between sweeps; tests pass their own. */
  sleep?: typeof pause;
  /** How long running archives may take after `stop`. */
  shutdownTimeoutMs?: number;
}

/** Sweeps until `stop`, or once. Returns the number of archives that failed. */
export async function watchArchives(
  watcher: WatcherContext,
  options: WatchOptions,
): Promise<number> {
  const workers = new Workers(watcher, options);
  const sweeps = new Sweeps(watcher, options, workers);
  try {
    await sweepUntilStopped(watcher, options, { workers, sweeps });
  } finally {
    await workers.close();
  }
  workers.throwProblem();
  return workers.failed;
}

async function sweepUntilStopped(
  { storage, log }: WatcherContext,
  { interval, once, stop, sleep = pause }: WatchOptions,
  { workers, sweeps }: { workers: Workers; sweeps: Sweeps },
): Promise<void> {
  // An outage is logged when it starts, when its error changes, and when it ends.
  let outage = "";
  let pauseMs = interval * 1000;
  while (!stop.aborted) {
    let isIncomplete = false;
    workers.seen = { outage: false, finished: false };
    try {
      isIncomplete = await sweeps.sweep();
      if (outage !== "") log.info("sweep recovered", { source: storage.name });
      outage = "";
    } catch (error) {
      if (stop.aborted && error instanceof StorageError) break;
      if (once || !isSystemFault(error)) throw error;
      const message = errorMessage(error);
      if (message !== outage) log.warn("sweep failed", { source: storage.name, error: message });
      outage = message;
    }
    if (once && !isIncomplete) break;
    // Exponential backoff: archives that cannot be stored are read again by every sweep.
    if (pauseMs > interval * 1000) await workers.finished();
    const isOut = workers.seen.outage && !workers.seen.finished;
    const nextMs = isOut ? Math.min(2 * pauseMs, MAX_OUTAGE_PAUSE_MS) : 0;
    pauseMs = Math.max(nextMs, interval * 1000);
    await sleep(once || isIncomplete && !isOut ? SETTLE_PAUSE_MS : pauseMs, stop);
  }
}

/** Processes archives, as many at a time as there are readers. */
class Workers {
  readonly #idle: ArchiveReader[];
  readonly #running = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  /** Resolves at the end: archives that wait for a lock do not delay it. */
  readonly #stopped: Promise<void>;
  #closing: Promise<void> | null = null;
  /** The first error that is not the fault of an archive. */
  #problem: { error: unknown } | null = null;
  failed = 0;
  /** Since the last sweep began: whether an outage has left an archive, and whether one was finished. */
  seen = { outage: false, finished: false };

  constructor(
    private readonly watcher: WatcherContext,
    private readonly options: WatchOptions,
  ) {
    const { workers, stop } = options;
    this.#idle = Array.from({ length: workers }, () => new ArchiveReader({ stop }));
    this.#stopped = aborted(stop);
    // Not after the sweep: its statements wait for what is being stored, if the database has one session.
    void this.#stopped.then(() => this.close());
  }

  /** Waits for a reader, or `stop`. */
  async free(): Promise<void> {
    while (this.#idle.length === 0 && !this.options.stop.aborted) {
      await Promise.race([...this.#running, this.#stopped]);
    }
    this.throwProblem();
  }

  start(archive: StoredArchive): void {
    const reader = this.#idle.pop()!;
    const { metrics } = this.options;
    const stop = this.#stop.signal;
    const task = processArchive({ ...this.watcher, metrics, stop }, archive, reader)
      // `null`: another watcher has it.
      .then((outcome) => outcome && this.#finish(archive, outcome))
      .catch((error) => void (this.#problem ??= { error }))
      .then(() => {
        this.#idle.push(reader);
        this.#running.delete(task);
      });
    this.#running.add(task);
  }

  async #finish(archive: StoredArchive, outcome: ArchiveOutcome): Promise<void> {
    const { storage, log } = this.watcher;
    const { once, metrics, onOutcome } = this.options;
    const { status } = outcome;
    // With --once the outcomes are printed alone, and there is no retry.
    const isLogged = !once || status === "left";
    await completeArchive({ storage, log: isLogged ? log : undefined, metrics }, archive, outcome);
    if (status === "failed" || status === "left" && once) this.failed++;
    if (status !== "left") this.seen.finished = true;
    else if (outcome.isSystemFault) this.seen.outage = true;
    await onOutcome?.(outcome);
  }

  throwProblem(): void {
    const found = this.#problem;
    this.#problem = null;
    if (found) throw found.error;
  }

  /** Waits for all that were started, or `stop`. */
  async finished(): Promise<void> {
    await Promise.race([Promise.all(this.#running), this.#stopped]);
  }

  /** Waits for what is being stored, unless that takes too long. */
  async close(): Promise<void> {
    await (this.#closing ??= this.#finishRunning());
  }

  async #finishRunning(): Promise<void> {
    const { shutdownTimeoutMs: timeoutMs } = this.options;
    await finishRunning(this.#running, { log: this.watcher.log, stop: this.#stop, timeoutMs });
    for (const reader of this.#idle) reader.close();
  }
}

/** Finds the archives that wait, and starts them. */
class Sweeps {
  readonly #notRemoved = new Set<string>();

  constructor(
    private readonly watcher: WatcherContext,
    private readonly options: WatchOptions,
    private readonly workers: Workers,
  ) {}

  /**
   * Starts all waiting archives without awaiting them: a slow archive delays no later sweep. Returns whether
   * some are still being written.
   */
  async sweep(): Promise<boolean> {
    const { sql, storage, now } = this.watcher;
    const { once, metrics, stop } = this.options;
    await requireSchemaVersion(sql);
    let isIncomplete = false;
    for await (const batch of storage.list()) {
      isIncomplete ||= batch.some((archive) => !archive.isComplete);
      await this.#startUnclaimed(
        batch.filter((archive) => archive.isComplete && !this.#isAccepted(archive)),
      );
      if (stop.aborted) return false;
    }
    if (once) await this.workers.finished();
    this.workers.throwProblem();
    metrics?.set("archives_waiting", 0);
    metrics?.set("archives_oldest_seconds", 0);
    metrics?.set("last_sweep_timestamp_seconds", now());
    return isIncomplete;
  }

  #isAccepted({ key }: StoredArchive): boolean {
    return this.options.accepted?.has(key) ?? false;
  }

  async #startUnclaimed(archives: StoredArchive[]): Promise<void> {
    const { sql, storage, log, now } = this.watcher;
    const { once, metrics, stop } = this.options;
    const source = storage.name;
    if (archives.length === 0) return;
    if (storage.remove) {
      // Uploaded again, or left by a watcher that was killed.
      const processed = await findArchives(sql, { source, archives, state: "processed" });
      for (const archive of processed) await this.#remove(archive);
    }
    await recordVersions(sql, { source, archives });
    const unclaimed = await findArchives(sql, { source, archives, state: "unclaimed" });
    if (unclaimed.length === 0) return;
    const oldest = Math.min(...unclaimed.map(({ uploadedAt }) => uploadedAt));
    const oldestSeconds = Math.max(0, now() - oldest);
    if (!once) {
      log.info("archives waiting", { count: unclaimed.length, oldest_seconds: oldestSeconds });
    }
    metrics?.set("archives_oldest_seconds", oldestSeconds);
    for (const [index, archive] of unclaimed.entries()) {
      metrics?.set("archives_waiting", unclaimed.length - index);
      await this.workers.free();
      if (stop.aborted) return;
      if (!this.#isAccepted(archive)) this.workers.start(archive);
    }
  }

  /** An archive that cannot be removed delays no other; the next sweep tries again. */
  async #remove(archive: StoredArchive): Promise<void> {
    const { storage, log } = this.watcher;
    const { key } = archive;
    try {
      await storage.remove?.(archive);
      this.#notRemoved.delete(key);
    } catch (error) {
      if (this.#notRemoved.has(key)) return;
      this.#notRemoved.add(key);
      log.warn("archive not removed", { key, error: errorMessage(error) });
    }
  }
}
