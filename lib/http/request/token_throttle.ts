/**
 * Limits the statements that an address causes by sending wrong tokens. A valid token is never
 * refused: while an address is throttled, tokens that were valid before are looked up as usual, and
 * all others are looked up together in batches.
 */
import { LRUCache } from "lru-cache";
import { existingTokenHashes } from "../../../db/read/caller.ts";
import { pause } from "../../base/delay.ts";
import { Batches } from "./batches.ts";
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
const BATCH_INTERVAL_MS = 100;

/** Bounds the memory: 100 bytes each. */
const MAX_ADDRESSES = 10_000;
const MAX_TOKENS = 50_000;

interface Sender {
  count: number;
  /** `performance.now()` of the first of these wrong tokens. */
  since: number;
  throttledUntil: number;
}

/** Counts wrong tokens by address. */
export class TokenThrottle {
  readonly #context: Pick<Context, "sql" | "log">;
  readonly #senders = new LRUCache<string, Sender>({ max: MAX_ADDRESSES });
  /** Until when a token is known to be wrong, by hash. */
  readonly #wrong = new LRUCache<string, number>({ max: MAX_TOKENS });
  readonly #lookUps: Batches<string, boolean>;

  constructor(context: Pick<Context, "sql" | "log">) {
    this.#context = context;
    this.#lookUps = new Batches(async (hashes) => {
      const existing = await existingTokenHashes(context.sql, hashes);
      return hashes.map((hash) => existing.has(hash));
    }, { wait: () => pause(BATCH_INTERVAL_MS) });
  }

  /** False when the address is throttled and the token is not valid. */
  async mayBeValid(address: string, hash: string): Promise<boolean> {
    const now = performance.now();
    if (now >= (this.#senders.get(address)?.throttledUntil ?? 0)) return true;
    if (now < (this.#wrong.get(hash) ?? 0)) return false;
    if (await this.#lookUps.load(hash, hash)) return true;
    this.#wrong.set(hash, performance.now() + WRONG_MS);
    this.recordWrong(address);
    return false;
  }

  /** A token of this address was looked up and is not valid. */
  recordWrong(address: string): void {
    const now = performance.now();
    const known = this.#senders.get(address);
    const sender = known && now < Math.max(known.since + PERIOD_MS, known.throttledUntil)
      ? known
      : { count: 0, since: now, throttledUntil: 0 };
    sender.count++;
    if (sender.count >= MAX_WRONG_TOKENS) {
      if (sender.throttledUntil === 0) {
        this.#context.log.warn("wrong tokens: look-ups for this address are limited", {
          client_address: address,
          count: sender.count,
        });
      }
      sender.throttledUntil = now + PERIOD_MS;
    }
    this.#senders.set(address, sender);
  }
}
