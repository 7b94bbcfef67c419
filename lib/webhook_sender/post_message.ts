/** Posts a message to a receiver, which is hostile: where it leads, how long it takes, what it answers. */
import { lookup } from "node:dns/promises";
import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import { errorMessage } from "../base/error.ts";
import { oneLine } from "../base/text.ts";
import { VERSION } from "../base/version.ts";
import { hostOf, isPublicAddress } from "../webhook/address.ts";

/** For an attempt in all: address, connection, TLS, response. */
export const ATTEMPT_TIMEOUT_MS = 10_000;

/** What is read of the body of a response, so that the receiver sees no reset; its content is ignored. */
const MAX_BODY_BYTES = 16_384;
const BODY_TIMEOUT_MS = 1_000;

const MAX_OUTCOME_CHARACTERS = 300;

export interface PostRequest {
  url: string;
  allowsPrivate: boolean;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** From 1 on. Attempts take the addresses of a host in turn. */
  attemptCount: number;
}

export interface PostResult {
  isDelivered: boolean;
  /** Such as `HTTP 200`, or why there was no response. Never the URL. */
  outcome: string;
  /** Seconds that the receiver asks to wait; 0 unless it does. */
  retryAfter: number;
}

interface PostOptions {
  timeoutMs?: number;
  /** Resolves a name to all of its addresses. */
  resolve?: (host: string) => Promise<string[]>;
}

/**
 * Posts a message once. The address that was checked is the one that is connected to: a name is resolved
 * once. Redirects are not followed, and proxies are not used.
 */
export async function postMessage(
  request: PostRequest,
  { timeoutMs = ATTEMPT_TIMEOUT_MS, resolve = resolveHost }: PostOptions = {},
): Promise<PostResult> {
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    const timeout = new Promise<never>((_, reject) =>
      deadline.addEventListener("abort", () => reject(new Error(`no response in ${timeoutMs} ms`)))
    );
    return await Promise.race([attempt(request, { deadline, resolve }), timeout]);
  } catch (error) {
    const outcome = oneLine(errorMessage(error)).slice(0, MAX_OUTCOME_CHARACTERS);
    return { isDelivered: false, outcome, retryAfter: 0 };
  }
}

async function resolveHost(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

async function attempt(
  { url: text, allowsPrivate, headers, body, attemptCount }: PostRequest,
  { deadline, resolve }: { deadline: AbortSignal; resolve(host: string): Promise<string[]> },
): Promise<PostResult> {
  const url = new URL(text);
  const host = hostOf(url);
  const found = isIP(host) === 0 ? await resolve(host) : [host];
  const allowed = allowsPrivate ? found : found.filter(isPublicAddress);
  const address = allowed[(attemptCount - 1) % allowed.length];
  if (address === undefined) {
    throw new Error(
      found.length === 0
        ? `${host} has no address`
        : `${host} is ${found[0]}, which is not an address of the public internet`,
    );
  }
  const isSecure = url.protocol === "https:";
  return await new Promise((resolve, reject) => {
    const request = (isSecure ? https : http).request({
      method: "POST",
      host: address,
      port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
      path: url.pathname + url.search,
      headers: {
        ...headers,
        host: url.host,
        "content-type": "application/json",
        "content-length": String(new TextEncoder().encode(body).length),
        "user-agent": `test-analytics/${VERSION}`,
      },
      // The name that the certificate is checked for.
      ...isSecure && isIP(host) === 0 && { servername: host },
      agent: false,
      signal: deadline,
    }, (response) => {
      const { statusCode = 0, headers } = response;
      const finish = () => {
        clearTimeout(timer);
        request.destroy();
        resolve({
          isDelivered: statusCode >= 200 && statusCode < 300,
          outcome: `HTTP ${statusCode}` +
            (statusCode >= 300 && statusCode < 400 ? ", and redirects are not followed" : ""),
          retryAfter: /^\d{1,9}$/.test(headers["retry-after"] ?? "")
            ? Number(headers["retry-after"])
            : 0,
        });
      };
      const timer = setTimeout(finish, BODY_TIMEOUT_MS);
      let bytes = 0;
      response.on("data", (chunk: Uint8Array) => {
        bytes += chunk.length;
        if (bytes > MAX_BODY_BYTES) finish();
      });
      response.on("end", finish);
      response.on("error", finish);
    });
    request.on("error", reject);
    request.end(body);
  });
}
