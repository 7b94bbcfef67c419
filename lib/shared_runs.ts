/** A run that takes this long is late: whatever it waits for, the next one may be luckier. */
const LATE_MS = 1;

/** Runs for one key at the same time at most. */
const MAX_RUNS = 3;

/** Keys in memory beside those that are in use. */
const MAX_IDLE_LINES = 256;

/** Those who ask the same. */
interface Line<T> {
  runCount: number;
  /** When the latest run began, as `performance.now()` tells. */
  latestBeganAt: number;
  /** The run that begins when the others have ended, or are late, if somebody waits for it. */
  next: PromiseWithResolvers<T> & { run: () => Promise<T> } | null;
}

/**
 * Work whose outcome everybody shares who asked before it began. Nobody gets an outcome from before
 * the own question, so it is as fresh as if everybody had worked alone; and those who ask while the
 * same work runs wait together for the next run, so that a crowd costs hardly more than one.
 */
export class SharedRuns<T> {
  /** Idle ones stay for a while: a table that entries come to and leave all the time is dear. */
  readonly #lines = new Map<string, Line<T>>();
  readonly #lateMs: number;

  constructor({ lateMs = LATE_MS } = {}) {
    this.#lateMs = lateMs;
  }

  /**
   * The outcome of a run that begins now or later.
   *
   * @param key names everything that the outcome depends on, except the time
   */
  get(key: string, run: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(key) ?? this.#open(key);
    if (line.runCount === 0) return begin(line, run);
    const next = line.next ??= { ...Promise.withResolvers<T>(), run };
    if (line.runCount < MAX_RUNS && performance.now() - line.latestBeganAt > this.#lateMs) {
      beginNext(line);
    }
    return next.promise;
  }

  #open(key: string): Line<T> {
    if (this.#lines.size >= MAX_IDLE_LINES) {
      for (const [other, { runCount }] of this.#lines) {
        if (runCount === 0) this.#lines.delete(other);
      }
    }
    const line = { runCount: 0, latestBeganAt: 0, next: null };
    this.#lines.set(key, line);
    return line;
  }
}

function begin<T>(line: Line<T>, run: () => Promise<T>): Promise<T> {
  line.runCount++;
  line.latestBeganAt = performance.now();
  const running = run();
  const end = () => {
    line.runCount--;
    if (line.runCount === 0) beginNext(line);
  };
  running.then(end, end);
  return running;
}

function beginNext<T>(line: Line<T>): void {
  const { next } = line;
  if (!next) return;
  line.next = null;
  begin(line, next.run).then(next.resolve, next.reject);
}
