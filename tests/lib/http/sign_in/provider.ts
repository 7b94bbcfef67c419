/** A certified provider of OpenID Connect on this machine, and a browser that signs in with it. */
import { createServer } from "node:http";
import Provider from "oidc-provider";
import assert from "node:assert/strict";

/** A provider whose accounts have any name and password. All but `guest` are in the group `qa`. */
export interface TestProvider {
  issuer: string;
  close(): Promise<void>;
}

export const CLIENT_ID = "test-analytics";
export const CLIENT_SECRET = "s3cr3t-of-the-client-with-32-characters";

/**
 * Starts a provider.
 * @param options.isThin its ID tokens have the subject alone; the other claims are at its userinfo endpoint
 */
export async function startProvider(
  redirectUri: string,
  { isThin = false } = {},
): Promise<TestProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, {
    clients: [{
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      redirect_uris: [redirectUri],
      response_types: ["code"],
      grant_types: ["authorization_code"],
    }],
    claims: { openid: ["sub", "preferred_username", "organization", "groups"] },
    conformIdTokenClaims: isThin,
    cookies: { keys: ["x"] },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        preferred_username: `${id}@acme.example`,
        organization: "Acme",
        groups: id === "guest" ? ["guests"] : ["staff", "qa"],
      }),
    }),
  });
  server.on("request", provider.callback());
  return {
    issuer,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Cookies by name, as a browser keeps them for one host. */
export class Cookies {
  readonly #values = new Map<string, string>();

  take(response: Response): void {
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") this.#values.delete(name);
      else this.#values.set(name, value);
    }
  }

  get header(): string {
    return [...this.#values].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  get(name: string): string | undefined {
    return this.#values.get(name);
  }
}

/** Signs an account in at the provider; returns the address that it sends the browser to. */
export async function passThrough(address: string, account: string): Promise<string> {
  const cookies = new Cookies();
  const { origin } = new URL(address);
  let next = address;
  let body: URLSearchParams | null = null;
  for (let step = 0; step < 12; step++) {
    const response: Response = await fetch(next, {
      method: body ? "POST" : "GET",
      headers: { cookie: cookies.header },
      redirect: "manual",
      ...body && { body },
    });
    cookies.take(response);
    const text = await response.text();
    const location = response.headers.get("location");
    body = null;
    if (location !== null) {
      next = new URL(location, next).href;
      if (!next.startsWith(origin)) return next;
      continue;
    }
    assert.equal(response.status, 200, text);
    const [, prompt = ""] = /name="prompt" value="(\w+)"/.exec(text) ?? [];
    assert.notEqual(prompt, "", text);
    const [, action = next] = /<form[^>]* action="([^"]+)"/.exec(text) ?? [];
    next = new URL(action, next).href;
    body = new URLSearchParams({ prompt, login: account, password: "any" });
  }
  throw new Error("the provider does not send the browser back");
}
