// Tests: tests/lib/http/sign_in/sign_in_test.ts tests/lib/http/sign_in/hostile_provider_test.ts
/**
 * The provider of OpenID Connect: the authorization code flow with PKCE, state and nonce, by
 * `oauth4webapi`.
 */
import * as oauth from "oauth4webapi";
import { errorMessage } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { readBody } from "../../base/read_body.ts";
import { cutText, oneLine } from "../../base/text.ts";
import { lacksClaims } from "./person.ts";
import type { SignInSettings } from "./settings.ts";

/** For a request to the provider, and how long what its discovery document says is used. */
const TIMEOUT_MS = 10_000;
const FRESH_MS = 10 * 60_000;
const MAX_BODY_BYTES = 256 * 1024;
/** The clock of the provider may differ from ours. An ID token is issued while we wait for it. */
export const MAX_CLOCK_DIFFERENCE_SECONDS = 30;
/** As OpenID Connect limits the subject. */
const MAX_SUBJECT_CHARACTERS = 255;

/** What is secret to one sign-in. */
interface SignInSecrets {
  verifier: string;
  state: string;
  nonce: string;
}

/** The provider of the settings. */
interface Provider {
  /** The page of the provider that signs a person in. */
  signInPage(secrets: SignInSecrets): Promise<URL>;
  /** What the provider says about the person that it sent back to an address. */
  claimsOf(callback: URL, secrets: SignInSecrets): Promise<oauth.IDToken>;
}

export function makeSecrets(): SignInSecrets {
  return {
    verifier: oauth.generateRandomCodeVerifier(),
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
  };
}

/** Whether an error is about the request of the person; the others are about the provider. */
export function isRefusal(error: unknown): boolean {
  return error instanceof oauth.AuthorizationResponseError ||
    error instanceof oauth.ResponseBodyError && error.error === "invalid_grant";
}

/** Creates the provider, which is first contacted at the first sign-in. */
export function createProvider(
  settings: SignInSettings,
  { redirectUri, log, now }: { redirectUri: string; log: Log; now(): number },
): Provider {
  const { clientId, clientSecret } = settings;
  const issuer = new URL(settings.issuer);
  const http = {
    [oauth.customFetch]: boundedFetch,
    [oauth.allowInsecureRequests]: issuer.protocol === "http:",
  };
  const connectionTo = (server: oauth.AuthorizationServer): Connection => ({
    server,
    http,
    client: {
      client_id: clientId,
      [oauth.clockSkew]: now() - Math.floor(Date.now() / 1000),
      [oauth.clockTolerance]: MAX_CLOCK_DIFFERENCE_SECONDS,
    },
  });

  let cached: { metadata: Promise<oauth.AuthorizationServer>; askedAt: number } | null = null;
  /** Single-flight: concurrent callers share one request. A failure is not kept. */
  async function discover(): Promise<oauth.AuthorizationServer> {
    const at = performance.now();
    if (!cached || at - cached.askedAt > FRESH_MS) {
      const metadata = oauth.discoveryRequest(issuer, http)
        .then((response) => oauth.processDiscoveryResponse(issuer, response));
      cached = { metadata, askedAt: at };
    }
    try {
      return await cached.metadata;
    } catch (error) {
      cached = null;
      throw error;
    }
  }

  return {
    async signInPage({ verifier, state, nonce }) {
      const { authorization_endpoint: endpoint, scopes_supported: scopes = [] } = await discover();
      const target = URL.parse(endpoint ?? "");
      if (!target || target.protocol !== issuer.protocol && target.protocol !== "https:") {
        throw new Error("the provider has no address for sign-in");
      }
      const parameters = {
        client_id: clientId,
        redirect_uri: redirectUri,
        response_type: "code",
        // Some providers name groups only if they are asked to; others refuse a scope that they do not know.
        scope: ["openid profile email", ...scopes.filter((scope) => scope === "groups")].join(" "),
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
        nonce,
      };
      for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value);
      return target;
    },
    async claimsOf(callback, secrets) {
      const connection = connectionTo(await discover());
      const grant = { callback, redirectUri, clientSecret };
      const result = await exchangeCode(connection, grant, secrets);
      const claims = oauth.getValidatedIdTokenClaims(result)!;
      if (claims.sub.length > MAX_SUBJECT_CHARACTERS) throw new Error("the subject is too long");
      if (!lacksClaims(claims, settings)) return claims;
      // GitLab and Authelia have the groups there only.
      const subject = { subject: claims.sub, accessToken: result.access_token };
      const more = await userInfo(connection, subject, log);
      return { ...more, ...claims };
    },
  };
}

/** What requests to the provider need. */
interface Connection {
  server: oauth.AuthorizationServer;
  client: oauth.Client;
  http: {
    [oauth.customFetch]: typeof boundedFetch;
    [oauth.allowInsecureRequests]: boolean;
  };
}

/** The response with the ID token, which is checked, to the code in an address. */
async function exchangeCode(
  { server, client, http }: Connection,
  { callback, redirectUri, clientSecret }: {
    callback: URL;
    redirectUri: string;
    clientSecret: string;
  },
  { verifier, state, nonce }: SignInSecrets,
): Promise<oauth.TokenEndpointResponse> {
  const answer = oauth.validateAuthResponse(server, client, callback, state);
  const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  const authentication = methods.includes("client_secret_basic")
    ? oauth.ClientSecretBasic(clientSecret)
    : oauth.ClientSecretPost(clientSecret);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    authentication,
    answer,
    redirectUri,
    verifier,
    http,
  );
  const result = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  });
  await checkSignature({ server, http }, response);
  return result;
}

/** Checks the signature of the ID token in a response. */
async function checkSignature(
  { server, http }: Pick<Connection, "server" | "http">,
  response: Response,
): Promise<void> {
  try {
    await oauth.validateApplicationLevelSignature(server, response, http);
  } catch (error) {
    if (!(error instanceof oauth.OperationProcessingError)) throw error;
    // The provider may have another key by now. The library keeps keys for a minute or more, by this object.
    await oauth.validateApplicationLevelSignature({ ...server }, response, http);
  }
}

/** What the provider says at its userinfo endpoint. Without it a person has fewer rights, never more. */
async function userInfo(
  { server, client, http }: Connection,
  { subject, accessToken }: { subject: string; accessToken: string },
  log: Log,
): Promise<Partial<oauth.UserInfoResponse>> {
  if (server.userinfo_endpoint === undefined) return {};
  try {
    const response = await oauth.userInfoRequest(server, client, accessToken, http);
    return await oauth.processUserInfoResponse(server, client, subject, response);
  } catch (error) {
    log.warn("userinfo of the provider cannot be used", {
      error: cutText(oneLine(errorMessage(error)), 300),
    });
    return {};
  }
}

/** A request to the provider, bounded in time and size. Redirects are not followed. */
async function boundedFetch(url: string, options: RequestInit): Promise<Response> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), TIMEOUT_MS);
  try {
    const response = await fetch(url, { ...options, redirect: "manual", signal: timeout.signal });
    const { status, headers } = response;
    const bytes = await readBody(response.body, { maxBytes: MAX_BODY_BYTES });
    if (typeof bytes === "string") throw new Error(`the response of the provider is ${bytes}`);
    return new Response(bytes.length === 0 ? null : bytes, { status, headers });
  } finally {
    clearTimeout(timer);
  }
}
