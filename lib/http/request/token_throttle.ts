import { LRUCache } from "lru-cache";
import { pause } from "../../base/delay.ts";
import { createBatches } from "./batches.ts";
import type { Context } from "./context.ts";

/** An address that sends this many wrong tokens within the period is throttled for the period. */
const MAX_WRONG_TOKENS = 20;
const PERIOD_MS = 60_000;

/**
 * An unknown token is looked up again after this time: it may have been imported since.
 * An expired one is always looked up, because a clock may be corrected.
 */
const WRONG_MS = 5_000;

/** Ten statements per second, independent of the number of requests. */
export const BATCH_INTERVAL_MS = 100;

/** Bounds the memory: 100 bytes each. */
const MAX_ADDRESSES = 10_000;
const MAX_TOKENS = 50_000;

/**
 * The size of a cache in entries. lru-cache's `max` reserves memory for all of them: 12 ms and 2.5 MB for
 * the caches of tokens, which are almost always nearly empty.
 */
export function ofEntries(max: number) {
  return { maxSize: max, sizeCalculation: () => 1 };
}

/**
 * Limits the statements that an address causes by sending wrong tokens. A valid token is never
 * refused: while an address is throttled, tokens that were valid before are looked up as usual, and
 * all others are looked up together in batches.
 *
 * @param options.loadExisting returns which of some hashes belong to a token
 * @param options.clock milliseconds since any moment
 */
export function createTokenThrottle(
  { log, loadExisting, clock: perf = performance }: Pick<Context, "log"> & {
    loadExisting(hashes: readonly string[]): Promise<ReadonlySet<string>>;
    clock?: { now(): number };
  },
) {
  /** Wrong tokens by address, since the first one of a period. */
  const counts = new LRUCache<string, number>({
    ...ofEntries(MAX_ADDRESSES),
    ttl: PERIOD_MS,
    ttlResolution: 0,
    perf,
  });
  const wrong = new LRUCache<string, true>({
    ...ofEntries(MAX_TOKENS),
    ttl: WRONG_MS,
    ttlResolution: 0,
    perf,
  });
  const exists = createBatches(async (hashes: readonly string[]) => {
    const existing = await loadExisting(hashes);
    return hashes.map((hash) => existing.has(hash));
  }, { wait: () => pause(BATCH_INTERVAL_MS) });

  /** A token of this address was looked up and is not valid. */
  function recordWrong(address: string): void {
    if (address === "") return;
    const count = (counts.get(address) ?? 0) + 1;
    if (count === MAX_WRONG_TOKENS) {
      log.warn("throttling an address after invalid tokens", {
        client_address: address,
        count,
      });
    }
    counts.set(address, count, { noUpdateTTL: count < MAX_WRONG_TOKENS });
  }

  /** Whether an address sent many wrong tokens. */
  function isThrottled(address: string): boolean {
    return (counts.get(address) ?? 0) >= MAX_WRONG_TOKENS;
  }

  /** False when the address is throttled and the token is not valid. */
  async function mayBeValid(address: string, hash: string): Promise<boolean> {
    if (!isThrottled(address)) return true;
    if (wrong.has(hash)) return false;
    if (await exists(hash, hash)) return true;
    wrong.set(hash, true);
    recordWrong(address);
    return false;
  }

  return { recordWrong, mayBeValid, isThrottled };
}
