/**
 * Identity tokens of OpenID Connect: a CI service signs one for a job, which uploads with it in place of a
 * secret. `jose` checks them.
 */
import { valueOr } from "../../base/error.ts";
import { createLocalJWKSet, decodeJwt, errors, type JSONWebKeySet, jwtVerify } from "jose";
import type { Database } from "../../../db/connection/connect.ts";
import type { Uploader } from "../../../db/read/caller.ts";
import { findRepository } from "../../../db/admin/repositories.ts";
import { loadBase } from "../../../db/read/base_branch.ts";
import { loadTrusts, type Trust } from "../../../db/read/trusts.ts";
import { pause } from "../../base/delay.ts";
import { caseKey } from "../../base/identity.ts";
import type { Log } from "../../base/log.ts";
import { quote } from "../../base/quote.ts";
import { formatRepositoryName, isSameRepository } from "../../base/repository_name.ts";
import { formatTimestamp } from "../../base/time.ts";
import { PROGRAM } from "../../base/version.ts";
import { createBatches } from "../../http/request/batches.ts";
import { BATCH_INTERVAL_MS } from "../../http/request/token_throttle.ts";
import { type ClaimedRun, claimedRun, type Claims, hasClaim } from "../../ci/claims.ts";
import { IssuerKeys, KeysUnavailableError } from "./issuer_keys.ts";

/** Asymmetric ones only: with another, a public key could sign. */
const ALGORITHMS = ["RS256", "ES256"];

/** The clock of an issuer may be ahead of ours. Nothing is added to the time of expiry. */
const MAX_AHEAD_SECONDS = 30;

const MAX_CHARACTERS = 16_384;

/** A job with a valid token, or what is wrong with the token. */
type Identity =
  | { uploader: Uploader; run: ClaimedRun; trustId: number }
  | { problem: string }
  | { unavailable: string };

/** The identity token in a header `Authorization`, `null` when it has none. */
export function readIdentityToken(authorization: string | null): string | null {
  const [, token = null] =
    /^[ \t]*bearer[ \t]+([\w-]+\.[\w-]+\.[\w-]*)[ \t]*$/i.exec(authorization ?? "") ?? [];
  return token;
}

/** The issuer that a token names, without a slash at its end; `""` when it names none. Nothing is checked. */
export function issuerOf(token: string): string {
  const issuer = claimsOf(token)?.iss;
  return typeof issuer === "string" ? issuer.replace(/\/$/, "") : "";
}

/** Creates the function that checks identity tokens, with few statements if their sender is throttled. */
export function createIdentityTokens(
  { sql, log, now, audience }: {
    sql: Database["sql"];
    log: Log;
    /** Whole seconds since 1970. */
    now(): number;
    /** Whom tokens are for: the public address of this door, without a slash at its end. */
    audience: string;
  },
): (token: string, options: { isThrottled: boolean }) => Promise<Identity> {
  const issuerKeys = new IssuerKeys({ log });
  const loadThrottled = createBatches(
    (issuers: readonly string[]) => Promise.all(issuers.map((one) => loadTrusts(sql, one))),
    { wait: () => pause(BATCH_INTERVAL_MS) },
  );

  return async (token, { isThrottled }) => {
    if (audience === "") return { problem: "identity tokens need PUBLIC_UPLOAD_URL on the server" };
    const claims = claimsOf(token);
    if (!claims) return { problem: "malformed identity token" };
    const issuer = issuerOf(token);
    // A flood of wrong tokens of a trusted issuer shares its statements, with the valid ones in it.
    const trusts = isThrottled
      ? await loadThrottled(issuer, issuer)
      : await loadTrusts(sql, issuer);
    if (trusts.length === 0) {
      return {
        problem: `the issuer ${quote(issuer)} is not trusted: \`${PROGRAM} trust add\` trusts it`,
      };
    }
    // What fits by claims that are not checked yet is checked with the keys that it is trusted by.
    const fitting = fittingTrust(trusts, claims);
    if ("problem" in fitting) return fitting;
    const { trust, run } = fitting;
    try {
      const keys = trust.keys === null
        ? issuerKeys.of(issuer)
        : createLocalJWKSet(trust.keys as JSONWebKeySet);
      const { payload } = await jwtVerify(token, keys, {
        issuer: [issuer, `${issuer}/`],
        audience: [audience, `${audience}/`],
        algorithms: ALGORITHMS,
        requiredClaims: ["exp"],
        currentDate: new Date(now() * 1000),
        clockTolerance: MAX_AHEAD_SECONDS,
      });
      if (payload.exp! <= now()) throw new errors.JWTExpired("expired", payload, "exp");
    } catch (error) {
      if (error instanceof KeysUnavailableError) return { unavailable: error.message };
      return { problem: problemOf(error, claims, audience) };
    }
    const { organizationId, organizationName, trustedIssuerId } = trust;
    const name = formatRepositoryName(run.repository);
    const baseBranches = await baseBranchesOf(sql, { run, organizationId, now: now() });
    const uploader = {
      id: `trust ${trustedIssuerId} of ${caseKey(name)}`,
      organizationId,
      organizationName,
      tokenId: null,
      label: null,
      repository: run.repository,
    };
    return { uploader, run: { ...run, baseBranches }, trustId: trustedIssuerId };
  };
}

/** The branches that a run is never stored at, where only the client says which branch it is of. */
async function baseBranchesOf(
  sql: Database["sql"],
  { run: { baseBranches, repository }, organizationId, now }: {
    run: ClaimedRun;
    organizationId: number;
    now: number;
  },
): Promise<string[]> {
  if (baseBranches.length === 0) return [];
  const found = await findRepository(sql, { organizationId, ...repository });
  if (!found) return baseBranches;
  // It may differ from the default branch in the claims. A guessed one may be the branch of the change itself.
  const { base, isBaseGuessed } = await loadBase(sql, { repositoryId: found.repositoryId, now });
  return isBaseGuessed ? baseBranches : [...baseBranches, base];
}

function claimsOf(token: string): Claims | null {
  return token.length > MAX_CHARACTERS ? null : valueOr(() => decodeJwt(token), null);
}

/** What the claims of a token fit: the narrowest trust, of equal ones the oldest. */
function fittingTrust(
  trusts: readonly Trust[],
  claims: Claims,
): { trust: Trust; run: ClaimedRun } | { problem: string } {
  const byNarrowness = trusts.toSorted((a, b) =>
    Number(b.repository !== null) - Number(a.repository !== null) ||
    Object.keys(b.claims).length - Object.keys(a.claims).length
  );
  let isNameless = false;
  for (const trust of byNarrowness) {
    if (!Object.entries(trust.claims).every(([name, value]) => hasClaim(claims, name, value))) {
      continue;
    }
    const run = claimedRun(claims, trust);
    isNameless ||= run === null;
    if (run && (trust.repository === null || isSameRepository(run.repository, trust.repository))) {
      return { trust, run };
    }
  }
  if (isNameless) {
    return {
      problem: "the identity token names no repository: expected --repo or --repository-claim of " +
        `\`${PROGRAM} trust add\``,
    };
  }
  const run = claimedRun(claims, { repositoryClaim: null, repository: null });
  const of = run ? ` of ${quote(formatRepositoryName(run.repository))}` : "";
  return { problem: `the identity token${of} does not have the claims that are trusted` };
}

/** What is wrong with a token. It is never quoted, only what it says. */
function problemOf(error: unknown, claims: Claims, audience: string): string {
  if (error instanceof errors.JWTExpired) {
    return `the identity token expired at ${timeOf(claims.exp)}`;
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim } = error;
    if (claim === "aud") {
      const aud = [claims.aud].flat().filter((text) => typeof text === "string");
      return `the identity token is for ${aud.map(quote).join(", ") || "nothing"}: expected the ` +
        `audience ${quote(audience)}`;
    }
    if (claim === "nbf") return `the identity token is not valid before ${timeOf(claims.nbf)}`;
    return `the identity token has no valid claim ${quote(claim)}`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return `the identity token is not signed with ${ALGORITHMS.join(" or ")}`;
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return "the identity token is signed with a key that its issuer does not have";
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return "the identity token does not say which key of its issuer it is signed with";
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return "the signature of the identity token is wrong";
  }
  // As of keys that cannot be used.
  return "the identity token cannot be checked";
}

function timeOf(seconds: unknown): string {
  return typeof seconds === "number" && seconds >= 0 && seconds < 1e11
    ? formatTimestamp(Math.floor(seconds))
    : "an unknown time";
}
