import { setImmediate } from "node:timers";

/** A run that takes this long is late: whatever it waits for, the next one may be luckier. */
const LATE_MS = 1;

/** Runs for one key at the same time at most. */
const MAX_RUNS = 3;

/** Keys in memory, unless more are in use: then as many again. */
const MANY_LINES = 256;

/** A run that has not begun, and the promise of its outcome. */
interface NextRun<T> extends PromiseWithResolvers<T> {
  run: () => Promise<T>;
}

/** Those who ask the same. */
interface Line<T> {
  /** Runs under way. */
  runCount: number;
  /** When the latest run began, as `performance.now()` tells. */
  latestBeganAt: number;
  /** `null` when nobody waits. */
  next: NextRun<T> | null;
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
  /** So many are looked through for those that are idle. */
  #manyLines = MANY_LINES;

  constructor({ lateMs = LATE_MS } = {}) {
    this.#lateMs = lateMs;
  }

  /** Keys in memory. */
  get size(): number {
    return this.#lines.size;
  }

  /**
   * The outcome of a run that begins later: when all who come in this turn of the event loop have
   * asked, if none is under way.
   *
   * @param key names everything that the outcome depends on, except the time
   */
  get(key: string, run: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(key) ?? this.#open(key);
    const isFirst = line.next === null;
    const { promise } = line.next ??= { ...Promise.withResolvers<T>(), run };
    if (this.#isLate(line)) begin(line);
    else if (isFirst && line.runCount === 0) beginSoon(line);
    return promise;
  }

  #isLate({ runCount, latestBeganAt }: Line<T>): boolean {
    return runCount > 0 && runCount < MAX_RUNS &&
      performance.now() - latestBeganAt > this.#lateMs;
  }

  #open(key: string): Line<T> {
    if (this.#lines.size >= this.#manyLines) this.#sweep();
    const line = { runCount: 0, latestBeganAt: 0, next: null };
    this.#lines.set(key, line);
    return line;
  }

  #sweep(): void {
    for (const [key, { runCount, next }] of this.#lines) {
      if (runCount === 0 && next === null) this.#lines.delete(key);
    }
    this.#manyLines = Math.max(MANY_LINES, 2 * this.#lines.size);
  }
}

function beginSoon<T>(line: Line<T>): void {
  setImmediate(() => begin(line));
}

/** Begins the next run, if somebody still waits for it. */
function begin<T>(line: Line<T>): void {
  const { next } = line;
  if (!next) return;
  line.next = null;
  line.runCount++;
  line.latestBeganAt = performance.now();
  const running = Promise.try(next.run);
  const end = () => {
    line.runCount--;
    if (line.runCount === 0 && line.next) beginSoon(line);
  };
  running.then(end, end);
  running.then(next.resolve, next.reject);
}
