/** An issuer of identity tokens on this machine, for tests. */
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { NOON } from "../../cli/run_in_process.ts";

type Algorithm = "RS256" | "ES256" | "PS256";

/** A key of an issuer. */
export interface Key {
  kid: string;
  alg: Algorithm;
  privateKey: CryptoKey;
  jwk: object;
}

/** Makes a key. */
export async function makeKey(kid: string, alg: Algorithm = "RS256"): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...await exportJWK(publicKey), kid, alg, use: "sig" } };
}

/** Signs claims with a key. */
export async function sign(claims: JWTPayload, { kid, alg, privateKey }: Key): Promise<string> {
  return await new SignJWT(claims).setProtectedHeader({ alg, kid, typ: "JWT" }).sign(privateKey);
}

/** An issuer. */
export interface Issuer {
  url: string;
  /** What it publishes. */
  keys: Key[];
  /** Paths of the requests that it received. */
  requests: string[];
  /** Replaces its responses. */
  respond: ((request: Request) => Response | Promise<Response> | null) | null;
  /** A token that is valid for five minutes, signed with the first key. */
  token(claims: JWTPayload, key?: Key): Promise<string>;
  close(): Promise<void>;
}

/** The address for which tokens are. */
export const AUDIENCE = "https://reports.example";

/** Starts an issuer below a path of an address of this machine. */
export async function startIssuer(path = ""): Promise<Issuer> {
  const issuer: Issuer = {
    url: "",
    keys: [await makeKey("first")],
    requests: [],
    respond: null,
    token: (claims, key = issuer.keys[0]!) =>
      sign({
        iss: issuer.url,
        aud: AUDIENCE,
        iat: NOON,
        nbf: NOON,
        exp: NOON + 300,
        ...claims,
      }, key),
    close: () => server.shutdown(),
  };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      issuer.requests.push(pathname);
      const other = await issuer.respond?.(request);
      if (other) return other;
      if (pathname === `${path}/.well-known/openid-configuration`) {
        return Response.json({ issuer: issuer.url, jwks_uri: `${issuer.url}/keys` });
      }
      if (pathname !== `${path}/keys`) return new Response(null, { status: 404 });
      return Response.json({ keys: issuer.keys.map(({ jwk }) => jwk) });
    },
  );
  issuer.url = `http://127.0.0.1:${server.addr.port}${path}`;
  return issuer;
}

/** The claims of a job of GitHub Actions. */
export const GITHUB_CLAIMS = {
  sub: "repo:acme/shop:ref:refs/heads/feature",
  repository: "acme/shop",
  repository_owner: "acme",
  sha: "0123456789abcdef0123456789abcdef01234567",
  ref: "refs/heads/feature",
  ref_type: "branch",
  event_name: "push",
  base_ref: "",
  head_ref: "",
  run_id: "4711",
  run_number: "5",
  run_attempt: "2",
};
