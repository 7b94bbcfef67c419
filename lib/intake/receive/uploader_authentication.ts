// Tests: tests/lib/intake/receive/upload_app_test.ts
/** Who sends a request to `receive`: by an upload or quarantine token, or by a job's identity token. */
import { loadUploader, type Uploader, validUploadTokenHashes } from "../../../db/read/caller.ts";
import { trustedIssuers } from "../../../db/read/trusts.ts";
import type { ClaimedRun } from "../../ci/claims.ts";
import { createTokenThrottle } from "../../http/request/token_throttle.ts";
import { createIdentityTokens, issuerOf, readIdentityToken } from "./identity_token.ts";
import type { UploadContext } from "./upload_context.ts";
import { invalidToken, readReceiverToken, type ReceiverTokenType } from "./upload_token.ts";

/** Who sends a request with a valid token. */
export interface AuthenticatedUploader {
  uploader: Uploader;
  /** Of the token, `""` for an identity token. */
  hash: string;
  /** What an identity token says about the run. */
  claims?: ClaimedRun;
  trustId?: number;
}

/** The uploader, or what is wrong with the token, or why it cannot be checked now. */
type Authentication =
  | AuthenticatedUploader
  | { problem: string; isLogged?: boolean }
  | { unavailable: string };

interface AuthenticationOptions {
  type: ReceiverTokenType;
  address: string;
  now: number;
}

/** Creates the check of tokens. It looks up each token and trust, so that a revocation counts immediately. */
export function createUploaderAuthentication(
  context: UploadContext,
): (headers: Headers, options: AuthenticationOptions) => Promise<Authentication> {
  const { sql, log } = context;
  const checkIdentityToken = createIdentityTokens({ ...context, audience: context.publicUrl });
  const throttle = createTokenThrottle({
    log,
    // Identity tokens are throttled by their issuer, whose address is never a hash.
    async loadExisting(keys) {
      const { http: issuers = [], hash: hashes = [] } = Object.groupBy(
        keys,
        (key) => key.startsWith("http") ? "http" : "hash",
      );
      const found = await Promise.all([
        validUploadTokenHashes(sql, { hashes, now: context.now() }),
        trustedIssuers(sql, issuers),
      ]);
      return found[0].union(found[1]);
    },
  });

  return async (headers, options) => {
    const authorization = headers.get("authorization");
    const identityToken = options.type === "upload" ? readIdentityToken(authorization) : null;
    return identityToken === null
      ? await byToken(authorization, options)
      : await byIdentityToken(identityToken, options.address);
  };

  async function byToken(
    authorization: string | null,
    { type, address, now }: AuthenticationOptions,
  ): Promise<Authentication> {
    const token = readReceiverToken(authorization, type);
    if ("problem" in token) return token;
    const { hash } = token;
    const problem = invalidToken(type);
    if (!await throttle.mayBeValid(address, hash)) return { problem };
    const uploader = await loadUploader(sql, type, { hash, now });
    if (uploader) context.onTokenUse?.({ hash, hour: now - now % 3600 });
    else throttle.recordWrong(address);
    return uploader ? { uploader, hash } : { problem };
  }

  async function byIdentityToken(token: string, address: string): Promise<Authentication> {
    const issuer = issuerOf(token);
    const isThrottled = throttle.isThrottled(address);
    const isUnknown = issuer.startsWith("http") && !await throttle.mayBeValid(address, issuer);
    const found = isUnknown
      ? { problem: "the issuer of the identity token is not trusted" }
      : await checkIdentityToken(token, { isThrottled });
    if ("problem" in found) {
      throttle.recordWrong(address);
      return { ...found, isLogged: true };
    }
    if ("unavailable" in found) return found;
    const { uploader, run, trustId } = found;
    return { uploader, hash: "", claims: run, trustId };
  }
}
