/** The public keys of trusted issuers, from their discovery documents. */
import { createLocalJWKSet, errors, type JWTVerifyGetKey } from "jose";
import { errorMessage, valueOr } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { readBody } from "../../base/read_body.ts";
import { VERSION } from "../../base/version.ts";

/** Issuers change their keys within days and publish new ones before. Older ones are looked up again. */
const FRESH_MS = 10 * 60_000;
/** Keys that an issuer may have withdrawn are used while it is slow or away, but not for longer. */
const USABLE_MS = 60 * 60_000;
/** Between two look-ups of an issuer that failed. */
const RETRY_MS = 5_000;
/** For a look-up in all: the discovery document and the keys. */
const TIMEOUT_MS = 5_000;
/** GitHub's keys have 6 kB. */
const MAX_BODY_BYTES = 256 * 1024;
/**
 * A token with an unknown key may be signed with a new one. This many look-ups at once, then one in
 * 30 seconds: tokens that are made up cause no more.
 */
const MAX_RELOADS = 5;
const RELOAD_MS = 30_000;

/** The keys of an issuer cannot be had now. */
export class KeysUnavailableError extends Error {
  override name = "KeysUnavailableError";
}

interface Options {
  log: Log;
  timeoutMs?: number;
  /** Milliseconds since any moment. */
  clock?: { now(): number };
}

/** The keys of issuers, cached. One look-up of an issuer at a time. */
export class IssuerKeys {
  readonly #issuers = new Map<string, CachedKeys>();

  constructor(private readonly options: Options) {}

  /** The function that finds the key of a token of an issuer. @throws {KeysUnavailableError} */
  of(issuer: string): JWTVerifyGetKey {
    const cached = this.#issuers.get(issuer) ?? new CachedKeys(issuer, this.options);
    this.#issuers.set(issuer, cached);
    return async (header, token) => {
      const known = await cached.load();
      try {
        return await known(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || !cached.mayReload(known)) throw error;
      }
      return await (await cached.reload(known))(header, token);
    };
  }
}

class CachedKeys {
  #keys: JWTVerifyGetKey | null = null;
  #loadedAt = 0;
  #failedAt = -Infinity;
  #reloads = MAX_RELOADS;
  #reloadedAt = 0;
  #pending: Promise<JWTVerifyGetKey> | null = null;

  readonly #clock: { now(): number };

  constructor(private readonly issuer: string, private readonly options: Options) {
    this.#clock = options.clock ?? performance;
  }

  /** The keys, no older than necessary. @throws {KeysUnavailableError} */
  async load(): Promise<JWTVerifyGetKey> {
    const age = this.#clock.now() - this.#loadedAt;
    if (!this.#keys || age >= USABLE_MS) return await this.#lookUp();
    // No upload waits for it, and its failure is logged.
    if (age >= FRESH_MS) this.#lookUp().catch(() => {});
    return this.#keys;
  }

  /** Whether other keys than the given ones are known, or may be looked up. */
  mayReload(known: JWTVerifyGetKey): boolean {
    if (this.#pending !== null || this.#keys !== known) return true;
    const now = this.#clock.now();
    const regained = Math.floor((now - this.#reloadedAt) / RELOAD_MS);
    if (regained > 0) {
      this.#reloads = Math.min(MAX_RELOADS, this.#reloads + regained);
      this.#reloadedAt = now;
    }
    if (this.#reloads === 0) return false;
    this.#reloads--;
    return true;
  }

  /** Other keys than the given ones, if there are any. @throws {KeysUnavailableError} */
  async reload(known: JWTVerifyGetKey): Promise<JWTVerifyGetKey> {
    return this.#keys !== null && this.#keys !== known ? this.#keys : await this.#lookUp();
  }

  /** Single-flight: concurrent callers share one look-up. */
  async #lookUp(): Promise<JWTVerifyGetKey> {
    if (this.#clock.now() - this.#failedAt < RETRY_MS) throw this.#unavailable();
    this.#pending ??= this.#fetch().finally(() => this.#pending = null);
    return await this.#pending;
  }

  async #fetch(): Promise<JWTVerifyGetKey> {
    const { log, timeoutMs = TIMEOUT_MS } = this.options;
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), timeoutMs);
    try {
      const keys = createLocalJWKSet(await fetchKeys(this.issuer, timeout.signal));
      this.#keys = keys;
      this.#loadedAt = this.#clock.now();
      this.#failedAt = -Infinity;
      return keys;
    } catch (error) {
      this.#failedAt = this.#clock.now();
      const reason = timeout.signal.aborted
        ? `no response within ${timeoutMs} ms`
        : errorMessage(error);
      log.warn("keys of an issuer cannot be loaded", { issuer: this.issuer, error: reason });
      throw this.#unavailable();
    } finally {
      clearTimeout(timer);
    }
  }

  #unavailable(): KeysUnavailableError {
    return new KeysUnavailableError(`the keys of ${this.issuer} cannot be loaded now`);
  }
}

/** The key set that the discovery document of an issuer names. It is of the same origin: no other is asked. */
async function fetchKeys(issuer: string, signal: AbortSignal) {
  const discovery = await fetchJson(`${issuer}/.well-known/openid-configuration`, signal);
  const { issuer: named, jwks_uri: address } = discovery;
  if (typeof named !== "string" || named.replace(/\/$/, "") !== issuer) {
    throw new Error("its discovery document is of another issuer");
  }
  const url = typeof address === "string" ? URL.parse(address) : null;
  if (url?.origin !== new URL(issuer).origin) {
    throw new Error("its discovery document names no keys on its own host");
  }
  const set = await fetchJson(url.href, signal);
  if (!Array.isArray(set.keys)) throw new Error("what it has as keys is no JSON Web Key Set");
  return { keys: set.keys };
}

/** Redirects are not followed: they could lead anywhere. */
async function fetchJson(url: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const headers = { accept: "application/json", "user-agent": `test-analytics/${VERSION}` };
  const response = await fetch(url, { headers, redirect: "manual", signal });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`status ${response.status}, expected 200`);
  }
  const bytes = await readBody(response.body, { maxBytes: MAX_BODY_BYTES });
  if (typeof bytes === "string") throw new Error(`more than ${MAX_BODY_BYTES} bytes`);
  // The error of the runtime would quote the text.
  const value: unknown = valueOr(() => JSON.parse(new TextDecoder().decode(bytes)), null);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error("expected a JSON object");
  }
  return value as Record<string, unknown>;
}
