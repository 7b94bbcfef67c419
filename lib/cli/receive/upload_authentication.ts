import { LRUCache } from "lru-cache";
import { isTransient } from "../../../db/connection/errors.ts";
import { loadUploader, type Uploader } from "../../../db/read/caller.ts";
import { readToken } from "../../http/request/authentication.ts";
import type { Context } from "../../http/request/context.ts";
import { createTokenThrottle } from "../../http/request/token_throttle.ts";

// While the database is unavailable, a token stays valid for this time after its last look-up.
const OUTAGE_SECONDS = 300;
const MAX_TOKENS = 10_000;

/**
 * Authenticates by the `Authorization` header; `null` without a valid upload token. The token is looked
 * up for every upload, so that a revoked one is rejected immediately.
 */
export function createAuthenticator(
  { sql, log, onTokenUse }: Pick<Context, "sql" | "log" | "onTokenUse">,
) {
  const throttle = createTokenThrottle({ sql, log });
  const valid = new LRUCache<string, { uploader: Uploader; seenAt: number }>({
    max: MAX_TOKENS,
  });
  return async (
    authorization: string | null,
    { address, now }: { address: string; now: number },
  ): Promise<Uploader | null> => {
    const token = readToken(authorization, "token", ["upload"]);
    if (!token) return null;
    const { hash } = token;
    const known = valid.get(hash);
    try {
      if (!known && !await throttle.mayBeValid(address, hash)) return null;
      const uploader = await loadUploader(sql, { hash, now });
      if (!uploader) {
        valid.delete(hash);
        throttle.recordWrong(address);
        return null;
      }
      if (!known || now - now % 3600 > known.seenAt) onTokenUse?.(uploader, now - now % 3600);
      valid.set(hash, { uploader, seenAt: now });
      return uploader;
    } catch (error) {
      if (!known || !isTransient(error) || now - known.seenAt > OUTAGE_SECONDS) throw error;
      log.warn("database unavailable: accepting a token that was valid recently", {
        token_id: known.uploader.tokenId,
      });
      return known.uploader;
    }
  };
}
